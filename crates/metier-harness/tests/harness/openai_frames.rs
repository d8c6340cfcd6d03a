//! Streams of model servers: what each frame means, and that it makes no difference how the bytes arrive.

use metier_harness::{AgentEvent, AgentEventKind, OpenAiApi, OpenAiDecoder, ReplyProblem, StopReason};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::ground::story;

fn bytes(frames: &[Value]) -> Vec<u8> {
    frames.iter().flat_map(|frame| format!("data: {frame}\n\n").into_bytes()).collect()
}

fn decode(
    api: OpenAiApi,
    bytes: &[u8],
) -> (Vec<AgentEvent>, Result<metier_harness::ModelReply, ReplyProblem>) {
    let mut decoder = OpenAiDecoder::new(api);
    let mut events = decoder.feed(bytes);
    let (rest, reply) = decoder.finish();
    events.extend(rest);
    (events, reply)
}

/// A stream of Chat Completions with what servers really send.
fn chat() -> Vec<u8> {
    let delta = |delta: Value| json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let call = |call: Value| delta(json!({ "tool_calls": [call] }));
    bytes(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "Hm." })),
        delta(json!({ "content": "Héllo " })),
        delta(json!({ "content": [{ "type": "text", "text": "you." }] })),
        call(json!({ "index": 1, "id": "b", "function": { "name": "two", "arguments": "" } })),
        call(json!({ "index": 0, "id": "a", "function": { "name": "one", "arguments": "{\"x\":" } })),
        call(json!({ "index": 0, "function": { "arguments": " [1]}" } })),
        json!({ "choices": [{ "index": 1, "delta": { "content": "another choice" } }] }),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 4 } }),
        json!("[DONE]"),
    ])
}

/// A stream of the Responses API.
fn responses() -> Vec<u8> {
    let message = json!({ "type": "message", "id": "m1", "content": [{ "type": "output_text", "text": "Héllo you.", "annotations": [] }] });
    let call = json!({ "type": "function_call", "id": "f1", "call_id": "a", "name": "one", "arguments": "{\"x\":[1]}" });
    let reasoning = json!({ "type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "abc" });
    let usage =
        json!({ "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 4 });
    bytes(&[
        json!({ "type": "response.created", "response": { "model": "m", "status": "in_progress", "output": [] } }),
        json!({ "type": "response.reasoning_summary_text.delta", "delta": "Hm." }),
        json!({ "type": "response.output_text.delta", "delta": "Héllo " }),
        json!({ "type": "response.output_text.delta", "delta": "you." }),
        json!({ "type": "response.function_call_arguments.delta", "delta": "{\"x\":[1]}" }),
        json!({ "type": "response.output_item.done", "item": reasoning }),
        json!({ "type": "response.output_item.done", "item": message }),
        json!({ "type": "response.output_item.done", "item": call }),
        json!({ "type": "response.brand_new", "anything": [1, 2] }),
        json!({ "type": "response.completed", "response": { "model": "m", "status": "completed", "output": [], "usage": usage } }),
    ])
}

#[test]
fn pieces_of_chat_completions_become_one_reply() {
    let (events, reply) = decode(OpenAiApi::Chat, &chat());
    let shown: Vec<String> = story(&events).into_iter().filter(|event| event != "other").collect();
    assert_eq!(shown, ["started", "thought", "Héllo ", "you.", "\"[DONE]\""]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), &reply.stop), ("Héllo you.", &StopReason::EndTurn));
    let calls: Vec<_> = reply
        .calls
        .iter()
        .map(|call| (call.id.as_str(), call.tool.as_str(), call.arguments.clone()))
        .collect();
    assert_eq!(calls, [("b", "two", Ok(json!({}))), ("a", "one", Ok(json!({ "x": [1] })))]);
    let repeated = &reply.items[0];
    assert_eq!(repeated["content"], "Héllo you.");
    assert_eq!(repeated["tool_calls"][1]["function"]["arguments"], "{\"x\": [1]}");
    assert_eq!(repeated["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(reply.usage.unwrap().input, 9);
}

#[test]
fn items_of_responses_become_one_reply() {
    let (events, reply) = decode(OpenAiApi::Responses, &responses());
    let shown: Vec<String> = story(&events).into_iter().filter(|event| event != "other").collect();
    assert_eq!(shown, ["started", "thought", "Héllo ", "you."]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("Héllo you.", 1));
    assert_eq!((reply.calls[0].id.as_str(), &reply.calls[0].arguments), ("a", &Ok(json!({ "x": [1] }))));
    // Without the ids of a server that keeps nothing.
    let expected = [
        json!({ "type": "reasoning", "summary": [], "encrypted_content": "abc" }),
        json!({ "role": "assistant", "content": "Héllo you." }),
        json!({ "type": "function_call", "call_id": "a", "name": "one", "arguments": "{\"x\":[1]}" }),
    ];
    assert_eq!(reply.items, expected);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (5, 4, 4));
}

#[test]
fn unknown_frames_are_kept_as_they_are() {
    let (events, _) = decode(OpenAiApi::Responses, &responses());
    let raw = |event: &AgentEvent| event.raw.as_ref().map(|raw| raw["type"].clone());
    let unknown = events.iter().find(|event| raw(event) == Some(json!("response.brand_new"))).unwrap();
    assert_eq!(unknown.kind, AgentEventKind::Other);
    assert_eq!(unknown.raw.as_ref().unwrap()["anything"], json!([1, 2]));
    // No frame is lost.
    assert!(events.iter().filter(|event| event.raw.is_some()).count() >= 10);
}

#[test]
fn how_an_answer_ended_is_told() {
    let chat = |reason: &str| {
        decode(OpenAiApi::Chat, &bytes(&[json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })]))
            .1
            .unwrap()
            .stop
    };
    assert_eq!(chat("stop"), StopReason::EndTurn);
    assert_eq!(chat("length"), StopReason::MaxTokens);
    assert_eq!(chat("content_filter"), StopReason::Refusal);
    assert_eq!(chat("novel"), StopReason::Other("novel".to_owned()));
    let refusal = json!({ "choices": [{ "delta": { "refusal": "No." }, "finish_reason": "stop" }] });
    let reply = decode(OpenAiApi::Chat, &bytes(&[refusal])).1.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("No.", StopReason::Refusal));
    let incomplete = |reason: &str| {
        let response = json!({ "status": "incomplete", "incomplete_details": { "reason": reason } });
        decode(
            OpenAiApi::Responses,
            &bytes(&[json!({ "type": "response.incomplete", "response": response })]),
        )
        .1
        .unwrap()
        .stop
    };
    assert_eq!(incomplete("max_output_tokens"), StopReason::MaxTokens);
    assert_eq!(incomplete("content_filter"), StopReason::Refusal);
    assert_eq!(incomplete("novel"), StopReason::Other("novel".to_owned()));
}

#[test]
fn errors_of_the_server_say_whether_they_pass() {
    let failed = |api, frame: Value| match decode(api, &bytes(&[frame])).1.unwrap_err() {
        ReplyProblem::Failed { message, is_temporary } => (message, is_temporary),
        other => panic!("{other:?}"),
    };
    let chat = |error: Value| failed(OpenAiApi::Chat, json!({ "error": error }));
    assert_eq!(chat(json!({ "message": "busy", "code": 503 })), ("busy".to_owned(), true));
    assert!(chat(json!({ "message": "busy", "code": "429" })).1);
    assert_eq!(
        chat(json!({ "message": "no", "type": "invalid_request_error" })),
        ("no (invalid_request_error)".to_owned(), false)
    );
    assert_eq!(chat(json!("plain")), ("plain".to_owned(), false));
    let error = json!({ "type": "error", "code": "server_error", "message": "oops" });
    assert_eq!(failed(OpenAiApi::Responses, error), ("oops (server_error)".to_owned(), true));
}

#[test]
fn a_server_without_numbers_sends_calls_one_after_another() {
    let call = |call: Value| json!({ "choices": [{ "delta": { "tool_calls": [call] } }] });
    let frames = [
        call(json!({ "id": "a", "function": { "name": "one", "arguments": "{\"x\"" } })),
        call(json!({ "function": { "arguments": ":1}" } })),
        call(json!({ "id": "b", "function": { "name": "two", "arguments": { "y": 2 } } })),
        call(json!({ "id": "", "function": {} })),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
    ];
    let calls = decode(OpenAiApi::Chat, &bytes(&frames)).1.unwrap().calls;
    let calls: Vec<_> =
        calls.iter().map(|call| (call.id.as_str(), call.arguments.clone().unwrap())).collect();
    assert_eq!(calls, [("a", json!({ "x": 1 })), ("b", json!({ "y": 2 }))]);
}

#[test]
fn an_answer_without_end_is_stopped() {
    let mut decoder = OpenAiDecoder::new(OpenAiApi::Chat);
    let piece = bytes(&[json!({ "choices": [{ "delta": { "content": "x".repeat(1 << 20) } }] })]);
    let fed = (0..100).take_while(|_| {
        decoder.feed(&piece);
        !decoder.is_over()
    });
    assert_eq!(fed.count(), 64);
    assert_eq!(decoder.finish().1.unwrap_err(), ReplyProblem::TooLarge);
}

proptest! {
    /// The same events and the same reply, however the bytes arrive, and whatever was broken in them.
    #[test]
    fn where_the_bytes_are_split_makes_no_difference(
        is_chat: bool,
        cuts in prop::collection::vec(0_usize..4_000, 0..30),
        broken in prop::collection::vec((0_usize..4_000, any::<u8>()), 0..3),
        end in 0_usize..6_000,
    ) {
        let (api, mut all) = if is_chat { (OpenAiApi::Chat, chat()) } else { (OpenAiApi::Responses, responses()) };
        for (place, byte) in broken {
            let length = all.len();
            all[place % length] = byte;
        }
        all.truncate(end.max(1));
        let whole = decode(api, &all);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).chain([0, all.len()]).collect();
        cuts.sort_unstable();
        let mut decoder = OpenAiDecoder::new(api);
        let mut events: Vec<AgentEvent> =
            cuts.windows(2).flat_map(|pair| decoder.feed(&all[pair[0]..pair[1]])).collect();
        let (rest, reply) = decoder.finish();
        events.extend(rest);
        prop_assert_eq!((events, reply), whole);
    }
}
