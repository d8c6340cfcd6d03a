//! The behaviours that were there before: tools and policies, T01 to T07, each by its number. What needs a session (T08 to T11)
//! is tested there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metier_prompt::{
    SessionState, Tool, ToolAnswer, ToolContext, ToolError, ToolFailure, ToolPolicy, ToolResult, ToolText,
    ToolValue, Visibility,
};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::{Paths, build, build_one, folded, one, path, plain, prompt, session, tool};

#[test]
fn t01_names_and_descriptions_of_tools_keep_their_rules() {
    let built = |name: &str, description: &str| {
        build_one(plain("a").tool(Tool::declared::<Paths>(name, description))).map_err(|error| error.code())
    };
    for good in ["a", "0", "-", "lint_code", "a-b", &"a".repeat(64)] {
        assert!(built(good, "Does it.").is_ok(), "{good}");
    }
    for bad in ["", " a", "a ", "A", "a.b", "a b", "ä", &"a".repeat(65)] {
        assert_eq!(built(bad, "Does it.").unwrap_err(), "prompt-tool-name", "{bad}");
    }
    assert!(built("a", &"d".repeat(200)).is_ok());
    for bad in ["", "  ", "Grüße", &"d".repeat(201)] {
        assert_eq!(built("a", bad).unwrap_err(), "prompt-tool-description", "{bad}");
    }
}

#[test]
fn t02_two_tools_of_one_name_are_an_error_even_if_one_is_hidden() {
    let hidden = folded("b").child(plain("c").tool(tool("lint")).enabled(|_, _| false));
    let error = build([plain("a").tool(tool("lint")).into(), hidden.into()]).unwrap_err();
    let words = "the tool `lint` in section `b.c` already exists in section `a`";
    assert_eq!((error.code(), error.to_string().as_str()), ("prompt-duplicate-tool", words));
    assert!(build_one(plain("a").tool(tool("lint")).tool(tool("lint"))).is_err());
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Order {
    count: u8,
    #[serde(default)]
    options: Options,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Options {
    #[serde(default)]
    force: bool,
}

/// A tool that remembers in the session's state that it was called, and then ends like this.
pub(crate) fn remembering<R: ToolValue>(
    end: impl Fn(Order) -> ToolResult<R> + Send + Sync + 'static,
) -> Tool {
    Tool::new("order", "Orders things", move |order: Order, context: &mut ToolContext<'_>| {
        let said = json!([order.count, order.options.force]);
        context.state.values.insert("ordered".to_owned(), said);
        context.state.set_visibility(path("a"), Visibility::Full);
        end(order)
    })
}

/// What a call comes to, and the state after it.
pub(crate) fn called(tool: &Tool, arguments: &Value) -> (Result<ToolText, ToolError>, SessionState) {
    let mut state = SessionState::default();
    state.values.insert("before".to_owned(), json!(1));
    let skills = BTreeMap::new();
    let mut context = ToolContext::new("session", "call", &skills, &mut state);
    (tool.call(arguments, &mut context), state)
}

fn untouched() -> SessionState {
    let mut state = SessionState::default();
    state.values.insert("before".to_owned(), json!(1));
    state
}

#[test]
fn t03_arguments_are_checked_strictly_and_the_handler_is_not_called() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let tool = remembering(move |_| {
        *counted.lock().unwrap() += 1;
        Ok(ToolAnswer::message("done"))
    });
    for bad in [
        json!({}),
        json!(null),
        json!({ "count": "5" }),
        json!({ "count": 5.0 }),
        json!({ "count": -1 }),
        json!({ "count": 256 }),
        json!({ "count": true }),
        json!({ "count": null }),
        json!({ "count": 5, "extra": 1 }),
        json!({ "count": 5, "Count": 5 }),
        json!({ "count": 5, "options": { "force": 1 } }),
        json!({ "count": 5, "options": { "deep": 1 } }),
        json!([5]),
        json!([5, { "force": true }]),
        json!({ "count": 5, "options": [true] }),
        json!("5"),
    ] {
        let (done, state) = called(&tool, &bad);
        let error = done.unwrap_err();
        assert!(error.to_string().starts_with("Validation error: "), "{bad}: {error}");
        assert_eq!((error.code(), state), ("tool-arguments", untouched()), "{bad}");
    }
    assert_eq!(*calls.lock().unwrap(), 0);
    let (done, state) = called(&tool, &json!({ "count": 5, "options": { "force": true } }));
    assert_eq!((done.unwrap().text.as_str(), &state.values["ordered"]), ("done", &json!([5, true])));
}

#[test]
fn t03_what_is_unknown_is_named_with_its_place() {
    let tool = remembering(|_| Ok(ToolAnswer::message("done")));
    let (done, _) = called(&tool, &json!({ "count": 5, "wrong": 1, "options": { "deep": 1 } }));
    assert_eq!(done.unwrap_err().to_string(), "Validation error: unknown argument `wrong`, `options.deep`");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only reading it matters")]
struct Lenient {
    id: u8,
    #[serde(flatten)]
    how: How,
    #[serde(default)]
    where_to: Vec<Place>,
    #[serde(default)]
    labels: BTreeMap<String, Options>,
    #[serde(default)]
    free: Value,
    maybe: Option<Options>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
#[expect(dead_code, reason = "only reading it matters")]
enum How {
    Quick { speed: u8 },
    Slow { depth: u8 },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only reading it matters")]
enum Place {
    Street { street: String },
    Box { number: u8 },
    Named(String),
}

#[test]
fn t03_types_that_are_read_leniently_are_held_to_their_schema() {
    let tool = Tool::new("send", "Sends things", |_: Lenient, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("sent"))
    });
    let said =
        |value: Value| called(&tool, &value).0.map(|done| done.text).map_err(|error| error.to_string());
    for good in [
        json!({ "id": 1, "how": "quick", "speed": 2 }),
        json!({ "id": 1, "how": "slow", "depth": 2, "maybe": null }),
        json!({ "id": 1, "how": "quick", "speed": 2, "where_to": ["home", { "street": "x" }, { "number": 5 }] }),
        json!({ "id": 1, "how": "quick", "speed": 2, "labels": { "any": { "force": true } }, "free": { "any": [{}] } }),
    ] {
        assert_eq!(said(good.clone()).as_deref(), Ok("sent"), "{good}");
    }
    let no = |words: &str| Err(format!("Validation error: {words}"));
    for (bad, words) in [
        (json!({ "id": 1, "how": "quick", "speed": 2, "x": 3 }), "unknown argument `x`"),
        (json!({ "id": 1, "how": "quick", "speed": 2, "depth": 3 }), "unknown argument `depth`"),
        (
            json!({ "id": 1, "how": "quick", "speed": 2, "where_to": ["a", { "number": 5, "x": 1 }] }),
            "unknown argument `where_to.1.x`",
        ),
        (
            json!({ "id": 1, "how": "quick", "speed": 2, "labels": { "any": { "x": 1 } } }),
            "unknown argument `labels.any.x`",
        ),
        (json!({ "id": 1, "how": "quick", "speed": 2, "maybe": { "x": 1 } }), "unknown argument `maybe.x`"),
        (
            json!({ "id": 1, "how": "quick", "speed": 2, "maybe": [true] }),
            "expected an object, not a list, for `maybe`",
        ),
    ] {
        assert_eq!(said(bad.clone()), no(words), "{bad}");
    }
}

#[test]
fn t03_a_schema_of_several_parts_can_be_kept() {
    // No part refuses what belongs to another: the whole does.
    let schema = Tool::declared::<Lenient>("send", "Sends things").parameters().clone();
    assert_eq!((schema.get("additionalProperties"), &schema["unevaluatedProperties"]), (None, &json!(false)));
    for part in schema["oneOf"].as_array().unwrap() {
        assert_eq!(part.get("additionalProperties"), None);
    }
    assert_eq!(schema["$defs"]["Place"]["anyOf"][0]["additionalProperties"], false);
}

#[test]
fn t03_the_schema_says_the_same() {
    let tool = remembering(|_| Ok(ToolAnswer::message("done")));
    let schema = tool.parameters();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["$defs"]["Options"]["additionalProperties"], false);
    assert_eq!(schema["required"], json!(["count"]));
}

#[test]
fn t04_a_handler_that_fails_leaves_the_state_as_it_was() {
    let tool = remembering::<()>(|_| Err(ToolFailure::new("the shop is closed")));
    let (done, state) = called(&tool, &json!({ "count": 1 }));
    let error = done.unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("tool-failed", "Error: the shop is closed"));
    assert_eq!(state, untouched());
}

#[test]
fn t04_a_handler_that_panics_leaves_the_state_as_it_was() {
    let words: [fn(); 3] = [|| panic!("no"), || panic!("no, {}", 2 + 3), || std::panic::panic_any(5)];
    let said = ["no", "no, 5", "no message"];
    for (panics, said) in words.into_iter().zip(said) {
        let tool = remembering(move |_| {
            panics();
            Ok(ToolAnswer::message("done"))
        });
        let (done, state) = called(&tool, &json!({ "count": 1 }));
        let error = done.unwrap_err();
        assert_eq!(error.to_string(), format!("Error: the tool stopped unexpectedly: {said}"));
        assert_eq!((error.code(), state), ("tool-panicked", untouched()));
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Receipt {
    pub(crate) total: u32,
    pub(crate) words: String,
}

impl ToolValue for Receipt {
    fn render(&self) -> String {
        self.words.clone()
    }
}

#[test]
fn t05_the_model_reads_the_value_or_else_the_message() {
    let answer = |words: &'static str, is_hidden: bool| {
        let tool = remembering(move |_| {
            let answer = ToolAnswer::new("message", Receipt { total: 5, words: words.to_owned() });
            Ok(if is_hidden { answer.value_hidden() } else { answer })
        });
        called(&tool, &json!({ "count": 1 })).0.unwrap()
    };
    assert_eq!(answer("value", false).text, "value");
    assert_eq!(answer("", false).text, "message");
    let hidden = answer("value", true);
    assert_eq!((hidden.text.as_str(), hidden.value.unwrap()["total"].clone()), ("message", json!(5)));
    let only_words = called(&remembering(|_| Ok(ToolAnswer::message("message"))), &json!({ "count": 1 }));
    assert_eq!((only_words.0.unwrap().value, only_words.1.values.len()), (None, 2));
}

#[test]
fn t05_a_text_is_cut_where_it_would_be_too_much_and_says_so() {
    let tool = remembering(|_| Ok(ToolAnswer::message("ä".repeat(1 << 20))));
    let text = called(&tool, &json!({ "count": 1 })).0.unwrap().text;
    assert!(text.len() < (1 << 20) + 100);
    assert!(text.ends_with("ä\n[truncated: first 1 MiB of 2097152 bytes]"));
}

/// Lets through what has no `stop`, and writes down what it is told.
struct Gate {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
}

impl ToolPolicy for Gate {
    fn check(&self, tool: &str, arguments: &Value, _: &SessionState) -> Result<(), String> {
        self.log.lock().unwrap().push(format!("{} checks {tool}", self.name));
        match arguments.get("stop").and_then(Value::as_str) {
            Some(stop) if stop == self.name => Err(format!("{} says no", self.name)),
            _ => Ok(()),
        }
    }

    fn on_result(&self, tool: &str, _: &Value, answer: &ToolText, state: &mut SessionState) {
        self.log.lock().unwrap().push(format!("{} hears {tool}: {}", self.name, answer.text));
        state.values.insert("heard".to_owned(), self.name.into());
    }
}

#[test]
fn t06_policies_are_those_of_the_section_and_of_all_above_it() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let gate = |name| Gate { name, log: Arc::clone(&log) };
    let inner = plain("b").tool(tool("inner")).policy(gate("b"));
    let outer = plain("a").tool(tool("outer")).policy(gate("a")).child(inner);
    let rendered = prompt([outer.into(), plain("c").tool(tool("other")).into()]).render(&session()).unwrap();
    let (inner, outer) = (rendered.tool("inner").unwrap(), rendered.tool("outer").unwrap());
    let mut state = SessionState::default();
    assert_eq!(inner.check(&json!({}), &state), Ok(()));
    assert_eq!(inner.check(&json!({ "stop": "a" }), &state), Err("a says no".to_owned()));
    assert_eq!(inner.check(&json!({ "stop": "b" }), &state), Err("b says no".to_owned()));
    assert_eq!(outer.check(&json!({ "stop": "b" }), &state), Ok(()), "what is below has no say above");
    assert_eq!(rendered.tool("other").unwrap().check(&json!({ "stop": "a" }), &state), Ok(()));
    let wanted = [
        "a checks inner",
        "b checks inner",
        "a checks inner",
        "a checks inner",
        "b checks inner",
        "a checks outer",
    ];
    assert_eq!(*log.lock().unwrap(), wanted, "the first no is the last word");
    log.lock().unwrap().clear();
    let (answer, _) = called(&inner.tool, &json!({ "paths": [] }));
    inner.tell(&json!({}), &answer.unwrap(), &mut state);
    assert_eq!(*log.lock().unwrap(), ["a hears inner: inner is done", "b hears inner: inner is done"]);
    assert_eq!(state.values["heard"], "b");
}

#[test]
fn t07_a_tool_without_handler_is_listed_and_cannot_be_called() {
    let declared = Tool::declared::<Paths>("elsewhere", "Is handled elsewhere");
    assert!(!declared.has_handler() && declared.result().is_null());
    assert!(tool("here").has_handler());
    let (done, state) = called(&declared, &json!({ "paths": [] }));
    let error = done.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("tool-no-handler", "`elsewhere` has no handler here")
    );
    assert_eq!(state, untouched());
    let rendered = one(plain("a").tool(declared)).render(&session()).unwrap();
    assert!(rendered.tool("elsewhere").is_some());
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Filter {
    Not { inner: Box<Filter> },
    Near { inner: Box<Filter>, metres: Option<u32> },
    Leaf { word: String },
}

#[derive(Deserialize, JsonSchema)]
struct Sieve {
    #[expect(dead_code, reason = "only read")]
    filter: Filter,
}

#[test]
fn t03_alternatives_within_alternatives_take_no_time() {
    let sift = Tool::new("sift", "Sifts", |_: Sieve, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("done"))
    });
    let nested = |last: Value| (0..100).fold(last, |inner, _| json!({ "inner": inner }));
    let call = |filter: Value| {
        let (skills, mut state) = (BTreeMap::new(), SessionState::default());
        sift.call(&json!({ "filter": filter }), &mut ToolContext::new("s", "c", &skills, &mut state))
    };
    assert_eq!(call(nested(json!({ "word": "x" }))).unwrap().text, "done");
    let error = call(nested(json!({ "word": "x", "more": 1 }))).unwrap_err();
    assert_eq!(error.code(), "tool-arguments", "{error}");
}
