//! Recorded bytes in, deltas out; however the network cuts the bytes.

use hermes_llm::error::Fault;
use hermes_llm::wire::{ApiMode, Form, decoder};
use hermes_llm::{Answer, Delta, FinishReason, SseDecoder};
use hermes_types::Usage;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use ApiMode::{AnthropicMessages, ChatCompletions, Gemini, Responses};

fn form() -> Form {
    Form {
        issuer: "issuer".to_owned(),
        ..Form::plain("m")
    }
}

fn decode_pieces(mode: ApiMode, pieces: &[&[u8]]) -> Result<Vec<Delta>, Fault> {
    let mut sse = SseDecoder::new();
    let mut decoder = decoder(mode, &form());
    let mut events = Vec::new();
    for piece in pieces {
        sse.push(piece, &mut events).unwrap();
    }
    events.extend(sse.finish());
    let mut out = Vec::new();
    for event in &events {
        decoder.event(event, &mut out)?;
    }
    decoder.end(&mut out)?;
    Ok(out)
}

fn decode(mode: ApiMode, text: &str) -> Result<Vec<Delta>, Fault> {
    decode_pieces(mode, &[text.as_bytes()])
}

fn chat(events: &[Value]) -> Result<Vec<Delta>, Fault> {
    let text: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
    decode(ChatCompletions, &text)
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn reasoning(text: &str) -> Delta {
    Delta::Reasoning(text.to_owned())
}

fn call(slot: u32, id: &str, name: &str) -> Delta {
    Delta::ToolCall {
        slot,
        id: id.to_owned(),
        name: name.to_owned(),
        extra: None,
    }
}

fn arguments(slot: u32, text: &str) -> Delta {
    Delta::Arguments {
        slot,
        text: text.to_owned(),
    }
}

const ANTHROPIC: &[u8] = include_bytes!("../fixtures/wire/anthropic-thinking-and-tool.sse");
const RESPONSES: &[u8] = include_bytes!("../fixtures/wire/responses-reasoning-and-tool.sse");
const GEMINI: &[u8] = include_bytes!("../fixtures/wire/gemini-thought-and-tools.sse");
const CHAT: &[u8] = include_bytes!("../fixtures/wire/03-parallel-tool-calls.12.sse");

#[test]
fn a_recorded_chat_stream_with_parallel_calls() {
    assert_eq!(
        decode_pieces(ChatCompletions, &[CHAT]).unwrap(),
        [
            text("Reading both."),
            call(0, "call_220aa7b56f5a12b6", "read_file"),
            arguments(0, r#"{"path": "a.txt", "offset": 1, ""#),
            arguments(0, r#"limit": 10}"#),
            call(1, "call_1a631c575ae2eeb1", "read_file"),
            arguments(1, r#"{"path": "b.txt"}"#),
            call(2, "call_f6478a6712eef038", "search_files"),
            arguments(2, r#"{"pattern": "alp", "path": "."}"#),
            Delta::Usage(Usage {
                input: 12162,
                output: 26,
                ..Usage::default()
            }),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn every_recorded_stream_is_a_complete_answer() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mode = match name.split('-').next().unwrap() {
            "anthropic" => AnthropicMessages,
            "responses" => Responses,
            "gemini" => Gemini,
            _ => ChatCompletions,
        };
        let deltas = decode_pieces(mode, &[&std::fs::read(&path).unwrap()]).unwrap();
        assert!(matches!(deltas.last(), Some(Delta::Finish(_))), "{name}");
        let mut answer = Answer::default();
        deltas.into_iter().for_each(|delta| answer.push(delta));
        assert!(
            !answer.text.is_empty() || !answer.calls.is_empty(),
            "{name}"
        );
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} recordings were found");
}

#[test]
fn a_real_server_says_the_same_in_three_formats() {
    for (mode, bytes) in [
        (
            ChatCompletions,
            &include_bytes!("../fixtures/wire/chat-llama-hello.sse")[..],
        ),
        (
            AnthropicMessages,
            include_bytes!("../fixtures/wire/anthropic-llama-hello.sse"),
        ),
        (
            Responses,
            include_bytes!("../fixtures/wire/responses-llama-hello.sse"),
        ),
    ] {
        let mut answer = Answer::default();
        for delta in decode_pieces(mode, &[bytes]).unwrap() {
            answer.push(delta);
        }
        assert_eq!(
            answer.text,
            "Hello! I'm here to help with any kind of creative writing project. What can I help you",
            "{mode:?}"
        );
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt(), usage.output), (33, 20), "{mode:?}");
    }
}

#[test]
fn an_anthropic_stream_with_signed_thinking_and_two_calls() {
    assert_eq!(
        decode_pieces(AnthropicMessages, &[ANTHROPIC]).unwrap(),
        [
            reasoning("Let me "),
            reasoning("look."),
            Delta::ReasoningDetail(json!({
                "type": "thinking", "thinking": "Let me look.", "signature": "c2lnbmF0dXJl",
            })),
            Delta::ReasoningDetail(json!({"type": "redacted_thinking", "data": "b3BhcXVl"})),
            text("Reading é."),
            call(0, "toolu_1", "read_file"),
            arguments(0, "{\"path\": \"a"),
            arguments(0, ".txt\"}"),
            call(1, "toolu_2", "todo"),
            arguments(1, "{}"),
            Delta::Usage(Usage {
                input: 12,
                output: 57,
                cache_read: 400,
                cache_write: 30,
                reasoning: 0,
            }),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn a_responses_stream_with_encrypted_reasoning_and_two_calls() {
    assert_eq!(
        decode_pieces(Responses, &[RESPONSES]).unwrap(),
        [
            reasoning("First."),
            reasoning("\n\n"),
            reasoning("Second."),
            Delta::ReasoningDetail(json!({
                "id": "rs_1", "type": "reasoning",
                "summary": [
                    {"type": "summary_text", "text": "First."},
                    {"type": "summary_text", "text": "Second."},
                ],
                "encrypted_content": "Z2liYmVyaXNo", "_issuer": "issuer",
            })),
            text("Both "),
            text("now."),
            Delta::ReasoningDetail(json!({
                "id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "Both now."}], "_issuer": "issuer",
            })),
            call(0, "call_1", "terminal"),
            arguments(0, "{\"command\":"),
            arguments(0, "\"ls\"}"),
            call(1, "call_2", "todo"),
            arguments(1, "{}"),
            Delta::Usage(Usage {
                input: 36,
                output: 40,
                cache_read: 64,
                cache_write: 0,
                reasoning: 25,
            }),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn a_gemini_stream_with_thoughts_and_signed_calls() {
    let deltas = decode_pieces(Gemini, &[GEMINI]).unwrap();
    assert_eq!(deltas[0], reasoning("Thinking it over."));
    assert_eq!(deltas[1], text("Here: "));
    let Delta::ToolCall {
        id, name, extra, ..
    } = &deltas[2]
    else {
        panic!("not a call: {:?}", deltas[2]);
    };
    assert!(id.starts_with("call_") && name == "read_file");
    assert_eq!(
        *extra,
        Some(json!({"google": {"thought_signature": "c2ln"}}))
    );
    assert_eq!(deltas[3], arguments(0, r#"{"path":"a.txt"}"#));
    assert_eq!(
        deltas[6..],
        [
            Delta::Usage(Usage {
                input: 40,
                output: 30,
                cache_read: 50,
                cache_write: 0,
                reasoning: 10
            }),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn parallel_calls_that_all_claim_index_0_are_told_apart_by_id() {
    let entry = |id: &str, arguments: &str| {
        delta(
            json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "t", "arguments": arguments}}]}),
        )
    };
    let deltas = chat(&[
        entry("a", "{\"x\":"),
        entry("a", "1}"),
        entry("b", "{}"),
        finish("tool_calls"),
    ]);
    assert_eq!(
        deltas.unwrap(),
        [
            call(0, "a", "t"),
            arguments(0, "{\"x\":"),
            arguments(0, "1}"),
            call(1, "b", "t"),
            arguments(1, "{}"),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn a_name_is_assigned_not_concatenated_and_may_come_late() {
    let entry = |function: Value| {
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))
    };
    let deltas = chat(&[
        entry(json!({"arguments": "{"})),
        entry(json!({"name": "tool"})),
        entry(json!({"name": "tool", "arguments": "}"})),
        finish("tool_calls"),
    ]);
    assert_eq!(
        deltas.unwrap(),
        [
            call(0, "a", "tool"),
            arguments(0, "{"),
            arguments(0, "}"),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn calls_without_index_or_id_go_to_the_last_call() {
    let deltas = chat(&[
        delta(json!({"tool_calls": [{"function": {"name": "t", "arguments": "{"}}]})),
        delta(json!({"tool_calls": [{"function": {"arguments": "}"}}]})),
        finish("stop"),
    ]);
    assert_eq!(
        deltas.unwrap(),
        [
            call(0, "", "t"),
            arguments(0, "{"),
            arguments(0, "}"),
            Delta::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn reasoning_comes_in_two_fields_and_in_blocks() {
    let deltas = chat(&[
        delta(json!({"reasoning_content": "a", "reasoning": "ignored"})),
        delta(json!({"reasoning": "b", "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "b", "signature": null}]})),
        delta(json!({"reasoning": "c", "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "c", "signature": "s"}]})),
        delta(json!({"content": "x", "reasoning_details": [
            {"type": "reasoning.encrypted", "index": 1, "data": "d"}]})),
        finish("stop"),
    ]);
    assert_eq!(
        deltas.unwrap(),
        [
            reasoning("a"),
            reasoning("b"),
            reasoning("c"),
            text("x"),
            Delta::ReasoningDetail(
                json!({"type": "reasoning.text", "index": 0, "text": "bc", "signature": "s"})
            ),
            Delta::ReasoningDetail(json!({"type": "reasoning.encrypted", "index": 1, "data": "d"})),
            Delta::Finish(FinishReason::Stop),
        ]
    );
}

#[test]
fn a_missing_reason_counts_as_stop_and_no_content_as_no_answer() {
    assert_eq!(
        decode(
            ChatCompletions,
            &format!(
                "data: {}\n\ndata: [DONE]\n\n",
                delta(json!({"content": "x"}))
            )
        )
        .unwrap(),
        [text("x"), Delta::Finish(FinishReason::Stop)]
    );
    // Neither a reason nor an end marker: the same, with a word about it.
    let open = chat(&[delta(json!({"content": "x"}))]).unwrap();
    assert!(matches!(&open[1], Delta::Warning(_)), "{open:?}");
    assert_eq!(open[2], Delta::Finish(FinishReason::Stop));
    assert_eq!(chat(&[]), Err(Fault::NoAnswer));
    assert_eq!(
        chat(&[json!({"choices": [], "usage": {"prompt_tokens": 1}})]),
        Err(Fault::NoAnswer)
    );
    // An Anthropic answer may be empty as long as it says why it ended.
    let empty = "data: {\"type\":\"message_start\",\"message\":{}}\n\n";
    assert_eq!(decode(AnthropicMessages, empty), Err(Fault::NoAnswer));
    let ended = format!(
        "{empty}data: {}\n\n",
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    );
    assert_eq!(
        decode(AnthropicMessages, &ended).unwrap(),
        [Delta::Finish(FinishReason::Stop)]
    );
}

#[test]
fn reasons_are_translated() {
    for (word, expected) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("function_call", FinishReason::ToolCalls),
        ("weird", FinishReason::Other("weird".to_owned())),
    ] {
        assert_eq!(
            chat(&[finish(word)]).unwrap(),
            [Delta::Finish(expected)],
            "{word}"
        );
    }
    for (word, expected) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
    ] {
        let event = json!({"type": "message_delta", "delta": {"stop_reason": word}});
        let deltas = decode(AnthropicMessages, &format!("data: {event}\n\n")).unwrap();
        assert_eq!(deltas, [Delta::Finish(expected)], "{word}");
    }
    for (word, expected) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
    ] {
        let event = json!({"candidates": [{"finishReason": word}]});
        let deltas = decode(Gemini, &format!("data: {event}\n\n")).unwrap();
        assert_eq!(deltas, [Delta::Finish(expected)], "{word}");
    }
}

#[test]
fn usage_is_read_in_every_dialect_of_the_chat_format() {
    for (usage, expected) in [
        (
            json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10}}),
            Usage {
                input: 30,
                output: 7,
                cache_read: 60,
                cache_write: 10,
                reasoning: 0,
            },
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 7, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5}),
            Usage {
                input: 55,
                output: 7,
                cache_read: 40,
                cache_write: 5,
                reasoning: 0,
            },
        ),
        (
            json!({"prompt_tokens": 100, "prompt_cache_hit_tokens": 90, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 6}}),
            Usage {
                input: 10,
                output: 7,
                cache_read: 90,
                cache_write: 0,
                reasoning: 6,
            },
        ),
    ] {
        let deltas = chat(&[finish("stop"), json!({"choices": [], "usage": usage})]).unwrap();
        assert_eq!(deltas[0], Delta::Usage(expected));
    }
    let charged = chat(&[
        finish("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 1, "cost": 0.25}}),
    ]);
    assert_eq!(charged.unwrap()[1], Delta::Charged(0.25));
}

#[test]
fn errors_inside_a_stream_keep_status_and_code() {
    let Err(Fault::Reported {
        status, message, ..
    }) = chat(&[
        delta(json!({"content": "x"})),
        json!({"error": {"code": 502, "message": "upstream died"}, "choices": []}),
    ])
    else {
        panic!("no error");
    };
    assert_eq!((status, message.as_str()), (Some(502), "upstream died"));
    let event = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let Err(Fault::Reported { status, code, .. }) = decode(
        AnthropicMessages,
        &format!("event: error\ndata: {event}\n\n"),
    ) else {
        panic!("no error");
    };
    assert_eq!(
        (status, code.as_deref()),
        (Some(529), Some("overloaded_error"))
    );
    let event = json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}});
    let Err(Fault::Reported { code, .. }) = decode(Responses, &format!("data: {event}\n\n")) else {
        panic!("no error");
    };
    assert_eq!(code.as_deref(), Some("rate_limit_exceeded"));
    assert!(matches!(chat(&[]), Err(Fault::NoAnswer)));
    assert!(matches!(
        decode(ChatCompletions, "data: {\"choices\": [{\"delta\n\n"),
        Err(Fault::Malformed(_))
    ));
}

#[test]
fn an_answer_that_never_says_that_it_ends_was_cut_off() {
    let call = |arguments: &str| {
        chat(&[delta(json!({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "terminal", "arguments": arguments}}
        ]}))])
    };
    assert_eq!(call(""), Err(Fault::CutOff));
    assert_eq!(call("{\"command\": "), Err(Fault::CutOff));
    assert!(call("{\"command\": \"ls\"}").is_ok());
    for (mode, event) in [
        (
            AnthropicMessages,
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "half"}}),
        ),
        (
            AnthropicMessages,
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "a", "name": "terminal", "input": {}}}),
        ),
        (
            Responses,
            json!({"type": "response.output_text.delta", "delta": "half"}),
        ),
        (
            Responses,
            json!({"type": "response.output_item.added", "output_index": 0,
                "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "terminal"}}),
        ),
        (
            Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": "half"}]}}]}),
        ),
    ] {
        let outcome = decode(mode, &format!("data: {event}\n\n"));
        assert_eq!(outcome, Err(Fault::CutOff), "{event}");
    }
}

#[test]
fn calls_of_an_incomplete_response_are_cut() {
    let call = json!({"type": "response.output_item.done", "output_index": 0, "item": {
        "type": "function_call", "id": "f", "call_id": "c", "name": "terminal", "arguments": "{\"co"}});
    let end = json!({"type": "response.incomplete", "response": {"status": "incomplete"}});
    let deltas = decode(Responses, &format!("data: {call}\n\ndata: {end}\n\n")).unwrap();
    assert_eq!(deltas.last(), Some(&Delta::Finish(FinishReason::Length)));
}

#[test]
fn responses_that_are_not_final_are_incomplete() {
    let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let completed =
        |status: &str| json!({"type": "response.completed", "response": {"status": status}});
    let message = |phase: &str, text: &str| json!({"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]});
    for (events, expected) in [
        (
            vec![done(message("final_answer", "x")), completed("completed")],
            FinishReason::Stop,
        ),
        (
            vec![done(message("commentary", "x")), completed("completed")],
            FinishReason::Incomplete,
        ),
        (
            vec![
                done(message("commentary", "x")),
                done(message("final_answer", "y")),
                completed("completed"),
            ],
            FinishReason::Stop,
        ),
        (
            vec![done(message("", "x")), completed("incomplete")],
            FinishReason::Incomplete,
        ),
        (
            vec![
                done(json!({"type": "reasoning", "summary": []})),
                completed("completed"),
            ],
            FinishReason::Incomplete,
        ),
        (
            vec![
                done(message("", "to=functions.terminal {}")),
                completed("completed"),
            ],
            FinishReason::Incomplete,
        ),
        (
            vec![
                json!({"type": "response.output_text.delta", "delta": "only deltas"}),
                completed("completed"),
            ],
            FinishReason::Stop,
        ),
    ] {
        let stream: String = events.iter().map(|e| format!("data: {e}\n\n")).collect();
        let deltas = decode(Responses, &stream).unwrap();
        assert_eq!(deltas.last(), Some(&Delta::Finish(expected)), "{events:?}");
    }
}

#[test]
fn whole_answers_decode_like_streams() {
    for (mode, body) in [
        (
            ChatCompletions,
            json!({"choices": [{"message": {"content": "hi", "tool_calls": [
                {"id": "c", "function": {"name": "t", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}),
        ),
        (
            AnthropicMessages,
            json!({"content": [{"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "c", "name": "t", "input": {}}], "stop_reason": "tool_use"}),
        ),
        (
            Responses,
            json!({"status": "completed", "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
                {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"}]}),
        ),
        (
            Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": "hi"},
                {"functionCall": {"id": "c", "name": "t", "args": {}}}]}, "finishReason": "STOP"}]}),
        ),
    ] {
        let mut decoder = decoder(mode, &form());
        let mut out = Vec::new();
        decoder.whole(&body, &mut out).unwrap();
        decoder.end(&mut out).unwrap();
        assert_eq!(
            out,
            [
                text("hi"),
                call(0, "c", "t"),
                arguments(0, "{}"),
                Delta::Finish(FinishReason::ToolCalls)
            ],
            "{mode:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_cutting_of_a_recording_yields_the_same_deltas(
        which in 0..4usize,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let (mode, bytes) = [
            (ChatCompletions, CHAT),
            (AnthropicMessages, ANTHROPIC),
            (Responses, RESPONSES),
            (Gemini, GEMINI),
        ][which];
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(decode_pieces(mode, &pieces), decode_pieces(mode, &[bytes]));
    }

    #[test]
    fn no_event_makes_a_decoder_panic(
        which in 0..4usize,
        key in "(choices|type|delta|candidates|response|item|content_block|error|usage)",
        value in prop_oneof![
            Just(json!(null)), Just(json!([])), Just(json!({})), Just(json!(5)), Just(json!("x")),
            Just(json!([{"delta": {"tool_calls": [{}]}}])), Just(json!({"type": "function_call"})),
            Just(json!("content_block_delta")), Just(json!("response.output_item.done")),
        ],
    ) {
        let mode = [ChatCompletions, AnthropicMessages, Responses, Gemini][which];
        let _ = decode(mode, &format!("data: {}\n\n", json!({key: value})));
    }
}
