//! Typed answers: good, repaired, not to be repaired.

use metier_harness::{AgentEvent, HarnessError, evaluate};
use metier_prompt::{Prompt, Rendering, Section};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::ground::{Ground, prompt, story};

/// A prompt whose answer is a review.
fn review() -> Rendering<Review> {
    let prompt = Prompt::builder("tests", "one").output::<Review>();
    prompt.section(Section::new("task", "Task").body("Review.")).build().unwrap().rendering()
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Review {
    verdict: String,
    issues: u32,
}

/// An end whose text is JSON.
const END: &str = r#"json() { printf '{"is":"end","text":%s}\n' "$1"; }"#;
const GOOD: &str = r#"json '"{\"verdict\":\"fine\",\"issues\":2}"'"#;

#[test]
fn a_good_answer_has_the_type() {
    let ground = Ground::new();
    // The agent is shown the schema.
    let agent =
        ground.answering(&format!("{END}\ncase $prompt in *verdict*issues*) {GOOD};; *) end unasked;; esac"));
    let answer = evaluate(&agent, review()).run(&mut ground.session()).unwrap();
    assert_eq!(answer.output, Review { verdict: "fine".to_owned(), issues: 2 });
    assert_eq!(answer.text, r#"{"verdict":"fine","issues":2}"#);
}

#[test]
fn an_answer_is_repaired_once_in_the_same_conversation() {
    let ground = Ground::new();
    let script = format!(
        "{END}\nused 10 5 0\nend 'All is fine.'\nread -r again\n\
         case $again in *'not valid: it is not JSON'*verdict*) used 20 10 0; {GOOD};; *) end unclear;; esac"
    );
    let agent = ground.answering(&script);
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = evaluate(&agent, review()).on_event(|event| events.push(event.clone()));
    let answer = builder.run(&mut ground.session()).unwrap();
    assert_eq!(answer.output.issues, 2);
    assert_eq!(answer.usage.input, 20);
    assert_eq!(story(&events), ["started", "usage", "repairing", "usage"]);
}

#[test]
fn an_answer_that_stays_wrong_is_an_error_with_the_text() {
    let ground = Ground::new();
    let agent = ground.answering("used 10 5 0.001\nend 'First try.'\nread -r again\nend 'Second try.'");
    let mut session = ground.session();
    let error = evaluate(&agent, review()).run(&mut session).unwrap_err();
    assert_eq!(error.code(), "harness-output");
    let HarnessError::Output { text, reason, spent } = error else { panic!("{error}") };
    assert_eq!(text, "Second try.");
    assert!(reason.starts_with("it is not JSON"), "{reason}");
    assert_eq!(spent.cost.unwrap().microdollars, 1_000);
    assert!(ground.left().is_empty());
}

#[test]
fn a_schema_that_is_data_is_checked_as_well() {
    let ground = Ground::new();
    let schema = json!({ "type": "object", "required": ["issues"], "properties": { "issues": { "type": "integer" } } });
    let agent = ground.answering(&format!("{END}\n{GOOD}"));
    let answer = evaluate(&agent, prompt("Review.")).run_json(schema.clone(), &mut ground.session()).unwrap();
    assert_eq!(answer.output["issues"], 2);
    let agent = ground.answering("end '[]'\nread -r again\nend '{}'");
    let error = evaluate(&agent, prompt("Review.")).run_json(schema, &mut ground.session()).unwrap_err();
    assert!(error.to_string().ends_with("the answer lacks `issues`"), "{error}");
}
