use std::io::{Read, Write};
use std::net::TcpStream;

use hermes_testkit::model::{Gate, ModelServer, Reply, Tokens};
use serde_json::{Value, json};

/// A connection with a request under way.
fn send(server: &ModelServer, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = body.to_string();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

/// Reads up to and including `needle`.
fn read_until(stream: &mut TcpStream, needle: &str) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&text).contains(needle) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "closed too early");
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

fn ask(model: &str, stream: bool) -> Value {
    json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]})
}

#[test]
fn a_stream_has_the_events_of_the_script_in_order() {
    let server = ModelServer::start();
    server.push(
        Reply::reasoning("hm")
            .then_text("hello")
            .in_pieces(3)
            .usage(Tokens {
                prompt: 7,
                completion: 2,
                cached: 3,
                ..Tokens::default()
            }),
    );
    let answer = read_until(&mut send(&server, &ask("m", true)), "[DONE]");
    let contents: Vec<String> = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"))
        .map(|rest| serde_json::from_str::<Value>(&format!("{{{rest}")).unwrap())
        .map(|event| event["choices"][0]["delta"].to_string() + &event["usage"].to_string())
        .collect();
    assert_eq!(
        contents,
        [
            r#"{"role":"assistant","content":""}null"#,
            r#"{"reasoning_content":"hm"}null"#,
            r#"{"content":"hel"}null"#,
            r#"{"content":"lo"}null"#,
            r"{}null",
            r#"null{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":0}}"#,
        ]
    );
}

#[test]
fn scripts_are_kept_apart_by_model_and_the_fallback_answers_the_rest() {
    let server = ModelServer::start();
    server.push_for("small", Reply::text("from small"));
    server.push(Reply::text("from any"));
    server.fallback(|request| Reply::text(format!("fallback for {}", request.model())));
    for (model, expected) in [
        ("big", "from any"),
        ("small", "from small"),
        ("small", "fallback for small"),
    ] {
        read_until(&mut send(&server, &ask(model, false)), expected);
    }
    assert_eq!(server.requests().len(), 3);
    assert_eq!(server.replies_left(), 0);
}

#[test]
fn a_gate_holds_the_rest_of_an_answer() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(Reply::text("first").then_stall(&gate).then_text("second"));
    let mut stream = send(&server, &ask("m", true));
    read_until(&mut stream, "first");
    gate.wait_reached();
    gate.release();
    read_until(&mut stream, "second");
}

#[test]
fn a_client_that_leaves_while_an_answer_is_held_is_noticed() {
    let server = ModelServer::start();
    let gate = Gate::new();
    server.push(Reply::text("never").held_by(&gate));
    let stream = send(&server, &ask("m", true));
    gate.wait_reached();
    drop(stream);
    server.wait_for_abandoned(1);
    assert_eq!(server.abandoned_requests(), [0]);
}

#[test]
fn cuts_end_the_body_without_its_last_chunk() {
    let server = ModelServer::start();
    server.push(Reply::text("half").then_cut().then_text("never"));
    let mut all = String::new();
    send(&server, &ask("m", true))
        .read_to_string(&mut all)
        .unwrap();
    assert!(all.contains("half") && !all.contains("never") && !all.ends_with("0\r\n\r\n"));

    server.push(Reply::text("half").then_reset());
    let mut all = Vec::new();
    let error = send(&server, &ask("m", true))
        .read_to_end(&mut all)
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn failures_carry_status_headers_and_body() {
    let server = ModelServer::start();
    server.push(Reply::error(429, "slow down").header("Retry-After", 3));
    let answer = read_until(&mut send(&server, &ask("m", true)), "slow down\"}}");
    assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n"));
}

#[test]
fn an_exhausted_script_says_so() {
    let server = ModelServer::start();
    let answer = read_until(&mut send(&server, &ask("m", true)), "}}");
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("no scripted reply is left"));
}
