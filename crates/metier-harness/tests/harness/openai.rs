//! Model servers: the prompt, its tools and typed answers, over both APIs, with the fake model.

use metier_fake_model::{Server, Step};
use metier_harness::{AgentEvent, HarnessError, OpenAiApi, Prices, evaluate};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::canned::{Canned, KEY, Reply, answers, calls, harness, refused, settings};
use crate::ground::{Ground, denying, prompt, story};
use crate::sections::linting;
use crate::tools::adding;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Review {
    verdict: String,
    issues: u32,
}

fn body(request: &metier_fake_model::Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

#[test]
fn text_is_streamed_and_counted() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let server = Server::start_without_tools(vec![Step::text("Hello.")]).unwrap();
        let mut events: Vec<AgentEvent> = Vec::new();
        let agent = harness(&ground, server.url(), api);
        let mut session = ground.session();
        let asked = evaluate(&agent, prompt("Greet.")).on_event(|event| events.push(event.clone()));
        let answer = asked.run(&mut session).unwrap();
        assert_eq!(answer.text, "Hello.");
        assert_eq!((answer.usage.input, answer.usage.output, answer.turns), (10, 5, 1));
        assert_eq!(answer.model.as_deref(), Some("m-1"));
        let story: Vec<String> = story(&events).into_iter().filter(|event| event != "other").collect();
        assert_eq!(story, ["started", "Hello.", "usage"], "{api:?}");
        assert!(!format!("{agent:?}{events:?}").contains(KEY));
        let requests = server.requests();
        assert!(requests[0].path.ends_with(api.path()), "{}", requests[0].path);
        let body = body(&requests[0]);
        assert_eq!((&body["model"], &body["stream"]), (&json!("m-1"), &json!(true)));
        assert_eq!(body.get("tools"), None);
        assert_eq!(session.usage().input, 10);
        session.end().unwrap();
        let ended = &ground.recorded("evaluation.ended")[0];
        assert_eq!(
            (&ended["agent"], &ended["input"], &ended["stop"]),
            (&json!("openai"), &json!(10), &json!("end_turn"))
        );
    }
}

#[test]
fn tools_of_the_prompt_are_called_through_the_session() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let steps = vec![Step::call("add", json!({ "a": 2, "b": 3 })), Step::text("It is five.")];
        let server = Server::start(steps).unwrap();
        let mut session = ground.session();
        let mut events: Vec<AgentEvent> = Vec::new();
        let agent = harness(&ground, server.url(), api);
        let asked = evaluate(&agent, adding()).on_event(|event| events.push(event.clone()));
        let answer = asked.run(&mut session).unwrap();
        assert_eq!((answer.text.as_str(), answer.tool_calls, answer.turns), ("It is five.", 1, 2));
        assert_eq!((answer.usage.input, answer.usage.output), (20, 10));
        let requests = server.requests();
        assert_eq!(requests.iter().map(|request| request.results).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert!(requests[1].contains("5 by call_0000"), "{:?}", body(&requests[1]));
        let story: Vec<String> = story(&events).into_iter().filter(|event| event != "other").collect();
        assert_eq!(story, ["started", "usage", "tool_call", "tool_result", "It is five.", "usage"]);
        session.end().unwrap();
        let call = &ground.recorded("tool.invoked")[0];
        assert_eq!(call["tool"], "mcp__metier__add");
        assert_eq!((&call["call_id"], &call["outcome"]), (&json!("call_0000"), &json!("done")));
    }
}

#[test]
fn refusals_of_the_policy_reach_the_model() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let server = Canned::new([
            calls(api, "add", json!({ "a": 2, "b": 3 })),
            calls(api, "divide", json!({})),
            answers(api, "I may not."),
        ]);
        let mut options = ground.options();
        options.policy = denying("mcp__metier__add");
        let mut session = metier_session::Session::with_id(options, "s1").unwrap();
        let answer = evaluate(&harness(&ground, server.url(), api), adding()).run(&mut session).unwrap();
        assert_eq!(answer.text, "I may not.");
        let outcomes: Vec<Value> =
            ground.recorded("tool.invoked").iter().map(|call| call["outcome"].clone()).collect();
        assert_eq!(outcomes, ["denied", "refused"]);
        let last = server.requests()[2].to_string();
        assert!(last.contains("`divide` is not available"), "{last}");
    }
}

#[test]
fn arguments_that_are_not_json_are_told_to_the_model() {
    let ground = Ground::new();
    let api = OpenAiApi::Chat;
    let call = json!({ "index": 0, "id": "c", "function": { "name": "add", "arguments": "{\"a\": 2, " } });
    let frames = [
        json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 1 } }),
    ];
    let server = Canned::new([Reply::Whole(crate::canned::stream(&frames)), answers(api, "Sorry.")]);
    let answer = evaluate(&harness(&ground, server.url(), api), adding()).run(&mut ground.session()).unwrap();
    assert_eq!(answer.text, "Sorry.");
    let again = server.requests()[1].to_string();
    assert!(again.contains("not valid JSON"), "{again}");
    assert!(ground.recorded("tool.invoked").is_empty());
}

#[test]
fn a_model_that_only_calls_tools_is_stopped() {
    let ground = Ground::new();
    let api = OpenAiApi::Responses;
    let server = Canned::new((0..3).map(|_| calls(api, "add", json!({ "a": 1, "b": 1 }))));
    let mut settings = settings(&ground, server.url(), api);
    settings.requests_max = 3;
    let agent = metier_harness::OpenAi::new(settings);
    let answer = evaluate(&agent, adding()).run(&mut ground.session()).unwrap();
    assert_eq!((answer.stop, answer.turns), (metier_harness::StopReason::MaxTurns, 3));
}

#[test]
fn an_opened_section_starts_a_new_conversation() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let opens = json!({ "section_keys": ["skills.linting"], "reason": "to lint" });
        let server = Canned::new([
            calls(api, "open_sections", opens),
            calls(api, "lint", json!({})),
            answers(api, "Five issues."),
        ]);
        let mut session = ground.session();
        let agent = harness(&ground, server.url(), api);
        let answer = evaluate(&agent, linting()).run(&mut session).unwrap();
        assert_eq!((answer.text.as_str(), answer.expansions, answer.turns), ("Five issues.", 1, 3));
        assert_eq!(answer.usage.cache_read, 60);
        let requests: Vec<String> = server.requests().iter().map(Value::to_string).collect();
        assert!(!requests[0].contains("Quokka") && requests[1].contains("Quokka"), "{requests:?}");
        assert!(!requests[1].contains("to lint"), "the new conversation begins anew");
        assert!(requests[2].contains("5 issues"));
    }
}

#[test]
fn a_typed_answer_is_asked_for_with_its_schema() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let good = r#"{"verdict":"fine","issues":2}"#;
        let server = Canned::new([answers(api, good)]);
        let agent = harness(&ground, server.url(), api);
        let answer = evaluate(&agent, prompt("Review.")).run_typed::<Review>(&mut ground.session()).unwrap();
        assert_eq!(answer.output, Review { verdict: "fine".to_owned(), issues: 2 });
        let request = &server.requests()[0];
        let place = if api == OpenAiApi::Chat { "/response_format" } else { "/text/format" };
        let format = request.pointer(place).unwrap();
        assert_eq!(format["type"], "json_schema");
        let schema = if api == OpenAiApi::Chat { &format["json_schema"] } else { format };
        assert_eq!(
            (&schema["strict"], &schema["schema"]["required"]),
            (&json!(true), &json!(["verdict", "issues"]))
        );
    }
}

#[test]
fn a_wrong_answer_is_repaired_once() {
    for api in OpenAiApi::ALL {
        let ground = Ground::new();
        let good = r#"{"verdict":"fine","issues":2}"#;
        let server = Canned::new([answers(api, "All is fine."), answers(api, good)]);
        let agent = harness(&ground, server.url(), api);
        let answer = evaluate(&agent, prompt("Review.")).run_typed::<Review>(&mut ground.session()).unwrap();
        assert_eq!((answer.output.issues, answer.turns), (2, 2));
        let again = server.requests()[1].to_string();
        assert!(again.contains("All is fine.") && again.contains("is not valid"), "{again}");
        let server = Canned::new([answers(api, "All is fine."), answers(api, "It is.")]);
        let agent = harness(&ground, server.url(), api);
        let error =
            evaluate(&agent, prompt("Review.")).run_typed::<Review>(&mut ground.session()).unwrap_err();
        let HarnessError::Output { text, spent, .. } = error else { panic!("{error}") };
        assert_eq!((text.as_str(), spent.turns), ("It is.", 2));
    }
}

#[test]
fn a_server_without_schemas_is_asked_without_one() {
    for (api, said) in [
        (
            OpenAiApi::Chat,
            json!({ "error": { "message": "'response_format' is not supported", "code": 400 } }),
        ),
        (OpenAiApi::Responses, json!({ "error": { "message": "Unknown parameter: 'text.format'." } })),
    ] {
        let ground = Ground::new();
        let good = r#"{"verdict":"fine","issues":0}"#;
        let server = Canned::new([Reply::Whole(refused(400, "", &said)), answers(api, good)]);
        let mut events: Vec<AgentEvent> = Vec::new();
        let agent = harness(&ground, server.url(), api);
        let asked = evaluate(&agent, prompt("Review.")).on_event(|event| events.push(event.clone()));
        assert_eq!(asked.run_typed::<Review>(&mut ground.session()).unwrap().output.issues, 0);
        assert!(story(&events)[0].starts_with("the server does not support answers with a JSON schema"));
        let again = server.requests()[1].to_string();
        assert!(!again.contains("json_schema") && again.contains("verdict"), "{again}");
    }
}

#[test]
fn cost_is_what_the_server_says_or_what_the_prices_say() {
    let ground = Ground::new();
    let api = OpenAiApi::Chat;
    let server = Canned::new([answers(api, "Hi.")]);
    let mut priced = settings(&ground, server.url(), api);
    priced.prices = Some(Prices { input: 2.0, cached: 0.5, output: 10.0 });
    let agent = metier_harness::OpenAi::new(priced.clone());
    let answer = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap();
    // 10 fresh, 20 cached and 7 output tokens.
    assert_eq!(answer.cost.unwrap().microdollars, 20 + 10 + 70);
    assert_eq!((answer.usage.input, answer.usage.cache_read), (10, 20));
    let frames = [
        json!({ "choices": [{ "delta": { "content": "Hi." }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 1, "cost": 0.00042 } }),
    ];
    let server = Canned::new([Reply::Whole(crate::canned::stream(&frames))]);
    priced.base_url = server.url();
    let agent = metier_harness::OpenAi::new(priced);
    let answer = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap();
    assert_eq!(answer.cost.unwrap().microdollars, 420);
}

#[test]
fn parameters_are_sent_and_cannot_replace_what_metier_sends() {
    let ground = Ground::new();
    let api = OpenAiApi::Responses;
    let server = Canned::new([answers(api, r#"{"verdict":"fine","issues":0}"#)]);
    let mut settings = settings(&ground, server.url(), api);
    let parameters =
        json!({ "temperature": 0, "stream": false, "store": true, "text": { "verbosity": "low" } });
    settings.parameters = parameters.as_object().unwrap().clone();
    let agent = metier_harness::OpenAi::new(settings);
    evaluate(&agent, prompt("Go.")).model("m-2").run_typed::<Review>(&mut ground.session()).unwrap();
    let request = &server.requests()[0];
    assert_eq!(
        (&request["temperature"], &request["stream"], &request["store"]),
        (&json!(0), &json!(true), &json!(true))
    );
    assert_eq!((&request["model"], &request["text"]["verbosity"]), (&json!("m-2"), &json!("low")));
    assert_eq!(request["text"]["format"]["type"], "json_schema");
}

#[test]
fn what_is_missing_is_an_error_before_anything_is_sent() {
    let ground = Ground::new();
    let server = Canned::new([]);
    let mut settings = settings(&ground, server.url(), OpenAiApi::Chat);
    settings.model = None;
    let agent = metier_harness::OpenAi::new(settings.clone());
    let error = evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("harness-settings", "The model server cannot be asked: no model is named")
    );
    settings.base_url = "localhost".to_owned();
    let agent = metier_harness::OpenAi::new(settings);
    let error = evaluate(&agent, prompt("Go.")).model("m").run(&mut ground.session()).unwrap_err();
    assert!(error.to_string().contains("must begin with"), "{error}");
    let error = evaluate(&agent, prompt("Go.")).resume("c1").run(&mut ground.session()).unwrap_err();
    assert_eq!(error.code(), "harness-unsupported");
    assert!(server.requests().is_empty());
}
