//! The four tools, called as a model calls them, without any protocol in between.

use std::sync::Arc;

use metier_catalog::{State, StateRule, StateRules};
use metier_prompt::ToolNames;
use metier_session::tools::SHOWN_BYTES;
use metier_session::{Session, SkillTool, SkillToolAnswer};
use metier_skill::{Coded as _, Tier};
use serde_json::{Value, json};

use crate::common::Ground;

fn names(tools: &[SkillTool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn answer(session: &mut Session, tool: &str, arguments: Value) -> SkillToolAnswer {
    session.dispatch(tool, arguments).unwrap()
}

#[test]
fn each_tool_does_what_it_says() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Sum columns.\n");
    let mut options = ground.options(Tier::Org);
    options.tools.work = Some(ground.work("work"));
    let mut session = Session::start(options).unwrap();
    let tools = session.tools();
    assert_eq!(names(&tools), ["list_skills", "load_skill", "read_skill_resource", "run_skill_script"]);
    assert_eq!(tools.iter().filter(|tool| !tool.read_only).count(), 1);
    assert_eq!(tools[1].input_schema["properties"]["skill_name"]["enum"], json!(["csv", "pdf"]));
    let listed = answer(&mut session, "list_skills", Value::Null);
    assert_eq!(listed.text, "csv: Use when testing csv.\npdf: Use when testing pdf.\n");
    let loaded = answer(&mut session, "load_skill", json!({ "skill_name": "pdf" }));
    assert!(loaded.text.starts_with("<skill_content name=\"pdf\""), "{}", loaded.text);
    let work = ground.path("work").canonicalize().unwrap();
    let place = format!("in a sandbox, in the directory {}, which they may change.\n", work.display());
    assert!(loaded.text.ends_with(&place), "{}", loaded.text);
    assert_eq!((&loaded.facts["name"], loaded.facts.get("content")), (&json!("pdf"), None));
    let arguments =
        json!({ "skill_name": "pdf", "resource_name": "references/guide.md", "range": { "first_line": 3 } });
    let read = answer(&mut session, "read_skill_resource", arguments);
    assert_eq!((read.text.as_str(), &read.facts["encoding"]), ("Line three.\n", &json!("utf-8")));
    let arguments =
        json!({ "skill_name": "pdf", "script_name": "scripts/hello.sh", "args": { "to": "world" } });
    let ran = answer(&mut session, "run_skill_script", arguments);
    assert_eq!(ran.text, format!("hello --to world\n[ran in {}]\n", work.display()));
    assert_eq!((&ran.facts["exit_code"], &ran.facts["stdout_bytes"]), (&json!(0), &json!(17)));
    assert_eq!(ran.facts.get("stdout"), None, "the text is not repeated");
}

#[test]
fn list_skills_shows_as_much_as_the_state_of_a_skill_allows() {
    let ground = Ground::new();
    ground.skill("brief", "", "Do it.\n");
    ground.skill("gone", "", "Do it.\n");
    ground.skill("mine", "disable-model-invocation: true\n", "Do it.\n");
    ground.skill("plain", "", "Do it.\n");
    let rule = |name, state| StateRule::new(Some(name), None, None, state).unwrap();
    let states = StateRules::default().layer(vec![rule("brief", State::NameOnly), rule("gone", State::Off)]);
    let mut options = ground.options(Tier::Org);
    options.catalog = ground.catalog_with(Tier::Org, states);
    let mut session = Session::start(options).unwrap();
    let mut listed = |arguments| answer(&mut session, "list_skills", arguments).text;
    let shown = "brief\nplain: Use when testing plain.\n";
    assert_eq!(listed(json!({})), shown);
    assert_eq!(listed(json!({ "query": "brief plain" })), shown);
    let all = listed(json!({ "include_disabled": true }));
    assert_eq!(all, "brief\ngone [disabled]\nmine [disabled]\nplain: Use when testing plain.\n");
}

#[test]
fn an_error_says_what_to_do_next() {
    let ground = Ground::with_pdf();
    let mut session = ground.session(Tier::ThirdParty);
    for (tool, arguments, code, text) in [
        (
            "skill",
            json!({}),
            "tool-unknown",
            "unknown tool `skill`\nCall `list_skills`, `load_skill`, `read_skill_resource` or `run_skill_script`.",
        ),
        (
            "load_skill",
            json!({ "skill_name": "pfd" }),
            "skill-not-found",
            "unknown skill `pfd`; did you mean `pdf`?\nCall `list_skills` to see the available skills.",
        ),
        ("load_skill", json!([]), "tool-arguments", "invalid arguments for `load_skill`: "),
        (
            "list_skills",
            json!({ "limit": 0 }),
            "tool-arguments",
            "invalid arguments for `list_skills`: `limit`",
        ),
        (
            "read_skill_resource",
            json!({ "skill_name": "pdf", "resource_name": "../x" }),
            "resource-path",
            "`../x` of `pdf` cannot be read: it must not leave the skill's directory with `..`\nUse a path from the list in the loaded skill",
        ),
    ] {
        let error = session.dispatch(tool, arguments).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.text().starts_with(text), "{}", error.text());
    }
    let error = session
        .dispatch("run_skill_script", json!({ "skill_name": "pdf", "script_name": "scripts/hello.sh" }))
        .unwrap_err();
    assert_eq!(error.code(), "permission-denied");
    assert!(
        error.hint().unwrap().contains("`metier approve pdf --script scripts/hello.sh`"),
        "{}",
        error.text()
    );
}

#[test]
fn long_output_is_cut_in_the_middle() {
    let ground = Ground::with_pdf();
    ground.write("skills/pdf/scripts/long.sh", "yes | head -c 100000\necho end\n");
    let mut session = ground.session(Tier::Org);
    let arguments = json!({ "skill_name": "pdf", "script_name": "scripts/long.sh" });
    let ran = answer(&mut session, "run_skill_script", arguments);
    let left_out = format!("[{} of 100004 bytes of stdout omitted]\n", 100_004 - SHOWN_BYTES);
    assert!(ran.text.contains(&left_out), "{}", &ran.text[SHOWN_BYTES / 2..][..100]);
    assert!(ran.text.ends_with("end\n[ran in an empty temporary directory, now removed]\n"));
    assert!(ran.text.len() < SHOWN_BYTES + 200);
    assert_eq!((&ran.facts["stdout_bytes"], &ran.facts["stdout_uri"]), (&json!(100_004), &Value::Null));
}

#[test]
fn a_query_is_answered_by_words_or_by_the_host() {
    let ground = Ground::with_pdf();
    ground.skill("csv", "", "Sum columns.\n");
    let listed = |session: &mut Session, query: &str| {
        let listed = answer(session, "skills.list", json!({ "query": query }));
        let names = |skill: &Value| skill["name"].as_str().unwrap().to_owned();
        listed.facts["skills"].as_array().unwrap().iter().map(names).collect::<Vec<_>>()
    };
    let mut options = ground.options(Tier::Org);
    options.tools.names = ToolNames::Dotted;
    let mut session = Session::start(options.clone()).unwrap();
    assert_eq!(
        names(&session.tools()),
        ["skills.list", "skills.read", "skills.read_resource", "skills.run_script"]
    );
    assert_eq!(listed(&mut session, "PDF, please"), ["pdf"]);
    assert_eq!(listed(&mut session, "testing pdf"), ["pdf", "csv"], "the best first");
    assert_eq!(listed(&mut session, "..."), [] as [&str; 0]);
    options.tools.rank = Some(Arc::new(|catalog, query, _| {
        assert_eq!(query, "anything");
        Ok(catalog.by_name("csv").cloned().into_iter().collect())
    }));
    assert_eq!(listed(&mut Session::start(options).unwrap(), "anything"), ["csv"]);
}

#[test]
fn without_skills_there_are_no_tools() {
    assert!(Ground::new().session(Tier::User).tools().is_empty());
}
