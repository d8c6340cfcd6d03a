//! Model servers that fail: each failure is repeated where that helps, and else a clear error with what was used.

use std::time::Duration;

use metier_harness::{AgentEvent, AgentEventKind, HarnessError, OpenAi, OpenAiApi, Retries, evaluate};
use metier_sandbox::Cancel;
use metier_session::{Budget, Session};
use metier_skill::Coded as _;
use serde_json::json;

use crate::canned::{Canned, KEY, Reply, answers, ends, harness, refused, says, settings, stream};
use crate::ground::{Ground, prompt, story};

const APIS: [OpenAiApi; 2] = OpenAiApi::ALL;

/// What comes of these answers.
fn outcome(api: OpenAiApi, replies: Vec<Reply>) -> (Result<String, HarnessError>, usize, Vec<AgentEvent>) {
    let ground = Ground::new();
    let server = Canned::new(replies);
    let mut events: Vec<AgentEvent> = Vec::new();
    let agent = harness(&ground, server.url(), api);
    let asked = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
    let result = asked.run(&mut ground.session()).map(|answer| answer.text);
    if let Err(error) = &result {
        assert!(!format!("{error}{error:?}{events:?}").contains(KEY), "{error:?}");
        assert_eq!(ground.recorded("evaluation.ended")[0]["code"], error.code());
    }
    (result, server.requests().len(), events)
}

fn error(api: OpenAiApi, replies: Vec<Reply>) -> HarnessError {
    outcome(api, replies).0.unwrap_err()
}

fn whole(status: u16, headers: &str, message: &str) -> Reply {
    Reply::Whole(refused(status, headers, &json!({ "error": { "message": message, "type": "x" } })))
}

#[test]
fn overload_and_failures_of_the_server_are_repeated() {
    for api in APIS {
        let replies = vec![
            whole(429, "Retry-After: 0\r\n", "slow down"),
            whole(503, "", "busy"),
            whole(500, "retry-after-ms: 2\r\n", "oops"),
            answers(api, "Hello."),
        ];
        let (result, requests, events) = outcome(api, replies);
        assert_eq!((result.unwrap().as_str(), requests), ("Hello.", 4));
        let told = story(&events);
        assert_eq!(told[0], "HTTP 429: slow down (x); the server is asked again in 0.0 s");
        assert!(told[1].starts_with("HTTP 503: busy"), "{told:?}");
    }
}

#[test]
fn a_server_that_stays_overloaded_is_an_error() {
    for api in APIS {
        let (result, requests, _) = outcome(api, (0..9).map(|_| whole(429, "", "slow down")).collect());
        let error = result.unwrap_err();
        assert_eq!((error.code(), requests), ("harness-agent", 6));
        assert_eq!(
            error.to_string(),
            "The model server reported an error: HTTP 429: slow down (x) (6 attempts)"
        );
        let late = outcome(api, vec![whole(429, "Retry-After: 3600\r\n", "slow down")]).0.unwrap_err();
        assert!(late.to_string().ends_with("it asks to wait 3600 s"), "{late}");
        let spent =
            json!({ "error": { "message": "You exceeded your quota", "code": "insufficient_quota" } });
        let (result, requests, _) = outcome(api, vec![Reply::Whole(refused(429, "", &spent))]);
        assert_eq!((result.unwrap_err().code(), requests), ("harness-agent", 1));
    }
}

/// While it waits, the limits apply.
#[test]
fn a_long_wait_ends_at_the_deadline() {
    let ground = Ground::new();
    let server = Canned::new([whole(429, "Retry-After: 50\r\n", "slow down")]);
    let agent = harness(&ground, server.url(), OpenAiApi::Chat);
    let asked = evaluate(&agent, prompt("Go.")).deadline(Duration::from_millis(200));
    assert_eq!(asked.run(&mut ground.session()).unwrap_err().code(), "harness-deadline");
}

#[test]
fn a_wrong_key_is_said_without_the_key() {
    for (api, status) in [(OpenAiApi::Responses, 401), (OpenAiApi::Chat, 403)] {
        let said = format!("Incorrect API key provided: {KEY}.");
        let error = error(api, vec![whole(status, "", &said)]);
        assert_eq!(error.code(), "harness-key");
        let expected = format!(
            "The model server refused the API key: HTTP {status}: Incorrect API key provided: (the key). (x)"
        );
        assert_eq!(error.to_string(), expected);
    }
}

/// Whatever a server says, in whatever form: `outcome` looks for the key in the error and in all events.
#[test]
fn a_server_that_repeats_the_key_is_not_repeated() {
    for api in APIS {
        let page =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\nBearer {KEY}\n");
        assert_eq!(error(api, vec![Reply::Whole(page)]).code(), "harness-garbage");
        let whole = refused(200, "", &json!({ "hello": KEY }));
        assert_eq!(error(api, vec![Reply::Whole(whole)]).code(), "harness-garbage");
        let failed = json!({ "error": { "message": format!("no budget for {KEY}"), "code": "429" } });
        let failed = match api {
            OpenAiApi::Chat => failed,
            _ => {
                json!({ "type": "response.failed", "response": { "status": "failed", "error": failed["error"] } })
            }
        };
        let replies = (0..9).map(|_| Reply::Whole(stream(std::slice::from_ref(&failed)))).collect();
        let error = error(api, replies);
        assert!(error.to_string().contains("no budget for (the key)"), "{error}");
    }
}

#[test]
fn a_bad_request_is_not_repeated() {
    for api in APIS {
        let (result, requests, _) = outcome(api, vec![whole(400, "", "unknown model `m-1`")]);
        let error = result.unwrap_err();
        assert_eq!((error.code(), requests), ("harness-agent", 1));
        assert!(error.to_string().ends_with("HTTP 400: unknown model `m-1` (x)"), "{error}");
        let error = outcome(api, vec![Reply::Whole(refused(404, "", &json!({ "detail": "Not Found" })))])
            .0
            .unwrap_err();
        assert!(error.to_string().contains("HTTP 404: Not Found (at http://127.0.0.1"), "{error}");
    }
}

#[test]
fn a_stream_that_breaks_is_an_error() {
    for api in APIS {
        let error = error(api, vec![Reply::Whole(stream(&[says(api, "Once upon a time")]))]);
        assert_eq!(error.code(), "harness-broken");
        assert_eq!(
            error.to_string(),
            "The model server did not finish its answer: the stream ended before the answer was complete"
        );
        // The length was promised.
        let text = stream(&[says(api, "Once upon")]).replace("Connection: close", "Content-Length: 5000");
        let broken = self::error(api, vec![Reply::Whole(text)]);
        assert_eq!(broken.code(), "harness-broken", "{broken}");
        assert!(!broken.to_string().contains("before the answer was complete"), "{broken}");
    }
}

#[test]
fn an_error_in_the_stream_is_repeated_only_before_the_first_word() {
    for api in APIS {
        let overloaded = match api {
            OpenAiApi::Chat => json!({ "error": { "message": "overloaded", "code": "429" } }),
            _ => {
                json!({ "type": "response.failed", "response": { "status": "failed", "error": { "code": "server_error", "message": "overloaded" } } })
            }
        };
        let (result, requests, _) = outcome(
            api,
            vec![Reply::Whole(stream(std::slice::from_ref(&overloaded))), answers(api, "Hello.")],
        );
        assert_eq!((result.unwrap().as_str(), requests), ("Hello.", 2));
        let (result, requests, _) = outcome(api, vec![Reply::Whole(stream(&[says(api, "Hel"), overloaded]))]);
        let error = result.unwrap_err();
        assert_eq!((error.code(), requests), ("harness-agent", 1));
        assert!(error.to_string().contains("reported an error: overloaded"), "{error}");
    }
}

#[test]
fn garbage_and_silence_are_clear_errors() {
    for api in APIS {
        let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>\n<p>Welcome!</p>\n";
        let error = error(api, vec![Reply::Whole(page.to_owned())]);
        assert_eq!(error.to_string(), "The model server does not speak its protocol; it sent \"<html>\"");
        let other = refused(200, "", &json!({ "hello": 1 }));
        assert_eq!(self::error(api, vec![Reply::Whole(other)]).code(), "harness-garbage");
        let no_http = self::error(api, vec![Reply::Whole("garbage\r\n\r\n".to_owned())]);
        assert_eq!(no_http.code(), "harness-unreachable", "{no_http}");
        let nothing = self::error(api, vec![Reply::Whole(String::new())]);
        assert_eq!(nothing.code(), "harness-unreachable", "{nothing}");
    }
    let ground = Ground::new();
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let agent = harness(&ground, format!("http://{free}"), OpenAiApi::Chat);
    let error = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-unreachable");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    for api in APIS {
        let whole = match api {
            OpenAiApi::Chat => json!({
                "object": "chat.completion", "model": "m-1",
                "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hello." }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
            }),
            _ => json!({
                "object": "response", "status": "completed", "model": "m-1",
                "output": [{ "type": "message", "content": [{ "type": "output_text", "text": "Hello." }] }],
                "usage": { "input_tokens": 3, "output_tokens": 2 },
            }),
        };
        let (result, _, events) = outcome(api, vec![Reply::Whole(refused(200, "", &whole))]);
        assert_eq!(result.unwrap(), "Hello.");
        assert!(story(&events).contains(&"Hello.".to_owned()));
    }
}

#[test]
fn a_server_that_does_not_count_is_counted_for() {
    let ground = Ground::new();
    let frames =
        [json!({ "choices": [{ "delta": { "content": "x".repeat(400) }, "finish_reason": "stop" }] })];
    let server = Canned::new([Reply::Whole(stream(&frames))]);
    let agent = harness(&ground, server.url(), OpenAiApi::Chat);
    let mut events: Vec<AgentEvent> = Vec::new();
    let asked = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
    let answer = asked.run(&mut ground.session()).unwrap();
    assert_eq!(answer.usage.output, 100);
    assert!(answer.usage.input > 20, "{:?}", answer.usage);
    assert!(story(&events).iter().any(|told| told.contains("does not report usage")));
}

/// A stream that says something and then nothing more.
fn stalled(ground: &Ground, text: &str) -> (Canned, OpenAi) {
    let api = OpenAiApi::Responses;
    let server = Canned::new([Reply::Stalled(stream(&[says(api, text)]))]);
    let agent = harness(ground, server.url(), api);
    (server, agent)
}

#[test]
fn limits_apply_while_the_answer_arrives() {
    let ground = Ground::new();
    let (_server, agent) = stalled(&ground, "Once upon a time");
    let asked = evaluate(&agent, prompt("Tell.")).deadline(Duration::from_millis(300));
    let error = asked.run(&mut ground.session()).unwrap_err();
    assert_eq!(error.to_string(), "The model server did not answer within 0.3 s");
    // What was sent and said by then is estimated.
    assert!(error.spent().unwrap().usage.input > 0);

    let (_server, agent) = stalled(&ground, "Once upon a time");
    let asked = evaluate(&agent, prompt("Tell.")).silence(Duration::from_millis(200));
    assert_eq!(asked.run(&mut ground.session()).unwrap_err().code(), "harness-hung");

    let (_server, agent) = stalled(&ground, "Once upon a time");
    let cancel = Cancel::new().unwrap();
    let cancelling = cancel.clone();
    let asked = evaluate(&agent, prompt("Tell.")).cancel(cancel).on_event(move |event| {
        if matches!(event.kind, AgentEventKind::Text { .. }) {
            cancelling.cancel();
        }
    });
    assert_eq!(asked.run(&mut ground.session()).unwrap_err().code(), "harness-cancelled");

    let (_server, agent) = stalled(&ground, &"word ".repeat(1_000));
    let mut options = ground.options();
    options.budget = Some(Budget { output: Some(500), ..Budget::default() });
    let mut session = Session::with_id(options, "s9").unwrap();
    let error = evaluate(&agent, prompt("Tell.")).run(&mut session).unwrap_err();
    assert_eq!(error.to_string(), "the budget is used up: used 625 output tokens; the limit is 500");
}

/// A server that sends without end is stopped by the size of the answer, whatever the limits are.
#[test]
fn a_huge_event_is_skipped_and_the_answer_is_whole() {
    let ground = Ground::new();
    for api in APIS {
        let mut text = stream(&[says(api, "Hel")]);
        text.push_str("data: {\"junk\":\"");
        text.push_str(&"x".repeat(17 << 20));
        text.push_str("\"}\n\n");
        let rest: Vec<_> = [says(api, "lo.")].into_iter().chain(ends(api, None)).collect();
        text.push_str(stream(&rest).split_once("\r\n\r\n").unwrap().1);
        let server = Canned::new([Reply::Whole(text)]);
        let mut events: Vec<AgentEvent> = Vec::new();
        let agent = harness(&ground, server.url(), api);
        let asked = evaluate(&agent, prompt("Go.")).on_event(|event| events.push(event.clone()));
        assert_eq!(asked.run(&mut ground.session()).unwrap().text, "Hello.");
        assert!(
            story(&events).iter().any(|told| told.starts_with("an event of 178")),
            "{:?}",
            story(&events)
        );
    }
}

#[test]
fn no_repetitions_means_one_attempt() {
    let ground = Ground::new();
    let server = Canned::new([whole(500, "", "oops")]);
    let mut settings = settings(&ground, server.url(), OpenAiApi::Chat);
    settings.retries = Retries { count: 0, ..Retries::default() };
    let error = evaluate(&OpenAi::new(settings), prompt("Go.")).run(&mut ground.session()).unwrap_err();
    assert_eq!((error.code(), server.requests().len()), ("harness-agent", 1));
}
