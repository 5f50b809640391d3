//! One history in every format.

use std::sync::Arc;

use hermes_llm::wire::{
    ApiMode, CacheLayout, CacheMarkers, Echo, Form, Mend, OutputCapField, ReasoningStyle,
    SessionHint, encode,
};
use hermes_llm::{Effort, Request, RequestLimits};
use hermes_types::{Content, Message, Part, ToolCall, ToolSpec};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use ApiMode::{AnthropicMessages, ChatCompletions, Gemini, Responses};

/// Five messages with one call and one picture.
fn request() -> Request {
    let call = ToolCall {
        id: "call:1".to_owned(),
        name: "read_file".to_owned(),
        arguments: r#"{"path": "a.txt", "limit": 3}"#.to_owned(),
        extra: Some(json!({"google": {"thought_signature": "c2ln"}})),
    };
    let mut answer = Message::assistant("Reading. ");
    answer.tool_calls = vec![call.clone()];
    answer.reasoning = Some("hm".to_owned());
    answer.reasoning_details = Some(json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "reasoning.text", "text": "hm", "index": 0},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j", "_issuer": "me"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "ZW5j", "_issuer": "other"},
    ]));
    let picture = Message::user(Content::Parts(vec![
        Part::Text {
            text: "and this?".to_owned(),
        },
        Part::Image {
            url: "data:image/png;base64,AAAA".to_owned(),
        },
    ]));
    let messages = vec![
        Message::user("what is in a.txt? "),
        answer,
        Message::tool_result(&call, "  alpha\n"),
        Message::assistant("It says alpha."),
        picture,
    ];
    Request {
        retelling: None,
        tools: Arc::from([ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {
                "path": {"type": "string", "pattern": "^/"}, "limit": {"type": "integer"}},
                "required": ["path"]}),
        }]),
        session: Some(Arc::from("session-1")),
        retries: None,
        ..Request::new(
            "You are helpful.\n",
            messages.into_iter().map(Arc::new).collect(),
        )
    }
}

fn form(model: &str) -> Form {
    Form {
        issuer: "me".to_owned(),
        ..Form::plain(model)
    }
}

#[test]
fn one_history_in_every_format() {
    let mut form = form("m");
    form.call_extra = true;
    form.first_party = true;
    form.session = SessionHint::CacheKey;
    for (name, mode) in [
        ("chat", ChatCompletions),
        ("anthropic", AnthropicMessages),
        ("responses", Responses),
        ("gemini", Gemini),
    ] {
        insta::assert_json_snapshot!(name, encode(mode, &request(), &form));
    }
}

#[test]
fn the_same_history_yields_the_same_bytes_and_a_longer_one_the_same_prefix() {
    for mode in [ChatCompletions, AnthropicMessages, Responses, Gemini] {
        let form = form("m");
        let first = request();
        assert_eq!(
            encode(mode, &first, &form).to_string(),
            encode(mode, &first.clone(), &form).to_string()
        );
        let key = match mode {
            Responses => "input",
            Gemini => "contents",
            _ => "messages",
        };
        let short = encode(mode, &first, &form)[key].as_array().unwrap().clone();
        let mut longer = first;
        longer.messages.push(Arc::new(Message::assistant("A dot.")));
        let long = encode(mode, &longer, &form)[key]
            .as_array()
            .unwrap()
            .clone();
        assert_eq!(long[..short.len()], short, "{mode:?}");
    }
}

#[test]
fn a_plain_chat_request_has_only_the_keys_that_are_needed() {
    let body = encode(ChatCompletions, &request(), &form("m"));
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["model", "messages", "tools", "stream", "stream_options"]
    );
}

fn limited(limits: RequestLimits) -> Request {
    Request {
        retelling: None,
        limits,
        ..Request::new("s", vec![Arc::new(Message::user("u"))])
    }
}

#[test]
fn quirks_of_chat_endpoints() {
    let all = limited(RequestLimits {
        max_output_tokens: Some(100),
        temperature: Some(0.7),
        effort: Some(Effort::XHigh),
    });
    let body = encode(
        ChatCompletions,
        &all,
        &Form {
            developer_role: true,
            output_cap_field: OutputCapField::MaxCompletionTokens,
            ..form("gpt-5")
        },
    );
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!(body["temperature"], 0.7);
    for (style, model, effort, expected) in [
        (
            ReasoningStyle::Router,
            "anthropic/claude-opus-4.6",
            None,
            json!({"reasoning": {"enabled": true, "effort": "medium"}}),
        ),
        (
            ReasoningStyle::Router,
            "anthropic/claude-opus-4.6",
            Some(Effort::None),
            json!({"reasoning": {"enabled": false}}),
        ),
        (
            ReasoningStyle::Router,
            "meta-llama/llama-4",
            Some(Effort::High),
            json!({}),
        ),
        (
            ReasoningStyle::RouterAlways,
            "meta-llama/llama-4",
            Some(Effort::High),
            json!({"reasoning": {"enabled": true, "effort": "high"}}),
        ),
        (
            ReasoningStyle::RouterAlways,
            "x",
            Some(Effort::None),
            json!({}),
        ),
        (
            ReasoningStyle::Thinking,
            "kimi-k2.5",
            Some(Effort::XHigh),
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ),
        (
            ReasoningStyle::Thinking,
            "kimi-k2.5",
            None,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "medium"}),
        ),
        (
            ReasoningStyle::Thinking,
            "kimi-k2.5",
            Some(Effort::None),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            ReasoningStyle::ThinkingMax,
            "deepseek-v4",
            Some(Effort::XHigh),
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ),
        (
            ReasoningStyle::ThinkOff,
            "qwen3",
            Some(Effort::None),
            json!({"think": false}),
        ),
        (
            ReasoningStyle::ThinkOff,
            "qwen3",
            Some(Effort::High),
            json!({}),
        ),
        (
            ReasoningStyle::EffortHigh,
            "hy3",
            None,
            json!({"reasoning_effort": "high"}),
        ),
        (ReasoningStyle::Effort, "m", None, json!({})),
    ] {
        let request = limited(RequestLimits {
            effort,
            ..RequestLimits::default()
        });
        let body = encode(
            ChatCompletions,
            &request,
            &Form {
                reasoning: style,
                ..form(model)
            },
        );
        let mut rest = body.as_object().unwrap().clone();
        for known in ["model", "messages", "stream", "stream_options"] {
            rest.remove(known);
        }
        assert_eq!(
            Value::Object(rest),
            expected,
            "{style:?} {model} {effort:?}"
        );
    }
}

#[test]
fn reasoning_goes_back_only_where_it_is_wanted() {
    let echoed = |echo: Echo| {
        let body = encode(ChatCompletions, &request(), &Form { echo, ..form("m") });
        [2, 4].map(|at| body["messages"][at]["reasoning_content"].clone())
    };
    assert_eq!(echoed(Echo::Never), [json!(null), json!(null)]);
    assert_eq!(echoed(Echo::Stored), [json!("hm"), json!(null)]);
    // What another provider thought does not stand beside a call.
    assert_eq!(echoed(Echo::Always), [json!(" "), json!(" ")]);
    let mut own = request();
    let mut answer = Message::clone(&own.messages[1]);
    answer.reasoning_details = None;
    own.messages[1] = Arc::new(answer);
    let always = Form {
        echo: Echo::Always,
        ..form("m")
    };
    assert_eq!(
        encode(ChatCompletions, &own, &always)["messages"][2]["reasoning_content"],
        "hm"
    );
    let routed = Form {
        reasoning: ReasoningStyle::Router,
        ..form("m")
    };
    let body = encode(ChatCompletions, &request(), &routed);
    assert_eq!(
        body["messages"][2]["reasoning_details"],
        json!([{"type": "reasoning.text", "text": "hm", "index": 0}])
    );
}

#[test]
fn signed_thinking_goes_back_on_the_last_answer_to_the_vendor_only() {
    let mut request = request();
    request.messages.truncate(3);
    let thinking = |request: &Request, form: &Form| {
        encode(AnthropicMessages, request, form)["messages"][1]["content"][0]["type"].clone()
    };
    let vendor = Form {
        first_party: true,
        ..form("claude-opus-4-6")
    };
    assert_eq!(thinking(&request, &vendor), "thinking");
    assert_eq!(thinking(&request, &form("minimax-m2")), "text");
    let mended = Form {
        mend: Mend {
            no_reasoning_details: true,
            ..Mend::default()
        },
        ..vendor.clone()
    };
    assert_eq!(thinking(&request, &mended), "text");
    // An older answer loses its thinking, and so does one that had to be mended.
    request.messages.push(Arc::new(Message::assistant("later")));
    assert_eq!(thinking(&request, &vendor), "text");
    request.messages.truncate(2);
    let call = request.messages[1].tool_calls[0].clone();
    let mut doubled = Message::clone(&request.messages[1]);
    doubled.tool_calls.push(call);
    request.messages[1] = Arc::new(doubled);
    assert_eq!(thinking(&request, &vendor), "text");
}

#[test]
fn anthropic_limits_follow_the_model() {
    for (model, effort, cap, expected) in [
        (
            "claude-opus-4-6",
            Some(Effort::Minimal),
            None,
            json!({"max_tokens": 128_000, "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}, "temperature": 0.5}),
        ),
        (
            "claude-opus-4-6",
            Some(Effort::XHigh),
            None,
            json!({"max_tokens": 128_000, "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}, "temperature": 0.5}),
        ),
        (
            "claude-opus-4-7",
            Some(Effort::XHigh),
            None,
            json!({"max_tokens": 128_000, "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}}),
        ),
        (
            "claude-sonnet-4-5",
            Some(Effort::High),
            Some(1000),
            json!({"max_tokens": 20_096, "thinking": {"type": "enabled", "budget_tokens": 16_000}, "temperature": 1.0}),
        ),
        (
            "claude-haiku-4-5",
            Some(Effort::High),
            None,
            json!({"max_tokens": 64_000, "temperature": 0.5}),
        ),
        (
            "claude-sonnet-4-5",
            Some(Effort::None),
            Some(10),
            json!({"max_tokens": 10, "temperature": 0.5}),
        ),
    ] {
        let request = limited(RequestLimits {
            max_output_tokens: cap,
            temperature: Some(0.5),
            effort,
        });
        let mut body = encode(AnthropicMessages, &request, &form(model));
        let body = body.as_object_mut().unwrap();
        for known in ["model", "system", "messages", "stream"] {
            body.remove(known);
        }
        assert_eq!(Value::Object(body.clone()), expected, "{model} {effort:?}");
    }
}

#[test]
fn old_pictures_of_tool_results_are_left_out() {
    let call = |n: usize| ToolCall {
        id: format!("c{n}"),
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        extra: None,
    };
    let mut messages = vec![Message::user("look")];
    for n in 0..5 {
        let mut answer = Message::assistant("");
        answer.tool_calls = vec![call(n)];
        messages.push(answer);
        let picture = Part::Image {
            url: format!("data:image/png;base64,{n}"),
        };
        messages.push(Message::tool_result(
            &call(n),
            Content::Parts(vec![picture]),
        ));
    }
    let request = Request::new("", messages.into_iter().map(Arc::new).collect());
    let body = encode(AnthropicMessages, &request, &form("m")).to_string();
    assert_eq!(body.matches("\"type\":\"image\"").count(), 3);
    assert!(!body.contains("\"data\":\"1\"") && body.contains("\"data\":\"2\""));
}

#[test]
fn refused_forms_are_not_sent_again() {
    let mend = |mend: Mend| Form { mend, ..form("m") };
    let all = [ChatCompletions, AnthropicMessages, Responses, Gemini];
    for mode in all {
        let body = encode(
            mode,
            &request(),
            &mend(Mend {
                no_images: true,
                ..Mend::default()
            }),
        );
        assert!(!body.to_string().contains("AAAA"), "{mode:?}");
        let body = encode(
            mode,
            &request(),
            &mend(Mend {
                no_schema_patterns: true,
                ..Mend::default()
            }),
        );
        assert!(!body.to_string().contains("pattern"), "{mode:?}");
        let body = encode(
            mode,
            &request(),
            &mend(Mend {
                no_stream: true,
                ..Mend::default()
            }),
        );
        assert_eq!(body["stream"], json!(null), "{mode:?}");
    }
    let body = encode(
        Responses,
        &request(),
        &mend(Mend {
            no_reasoning_details: true,
            ..Mend::default()
        }),
    );
    assert!(!body.to_string().contains("encrypted_content\":"));
}

#[test]
fn cache_markers_count_four() {
    let markers = |layout| {
        Some(CacheMarkers {
            layout,
            long: false,
        })
    };
    let count = |body: Value| body.to_string().matches("cache_control").count();
    let native = Form {
        cache: markers(CacheLayout::Native),
        ..form("m")
    };
    assert_eq!(count(encode(AnthropicMessages, &request(), &native)), 4);
    // The tool result and the empty-handed are skipped in an envelope.
    let envelope = Form {
        cache: markers(CacheLayout::Envelope),
        ..form("m")
    };
    assert_eq!(count(encode(ChatCompletions, &request(), &envelope)), 3);
}

#[test]
fn extra_body_wins() {
    let mut form = form("m");
    form.extra_body.insert("stream".to_owned(), json!(false));
    form.extra_body.insert("top_k".to_owned(), json!(5));
    let body = encode(ChatCompletions, &request(), &form);
    assert_eq!(
        (body["stream"].clone(), body["top_k"].clone()),
        (json!(false), json!(5))
    );
}
