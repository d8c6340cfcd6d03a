//! The behaviours that were there before: stored overrides, X01, X02 and X04, each by its number. The files they are stored in (X03)
//! are tested where the disk is.

use std::collections::BTreeMap;

use metier_prompt::{
    InlineSkill, Prompt, PromptOverrides, RenderedPrompt, Section, SectionOverride, SectionPath, Tool,
    ToolAnswer, ToolContext, ToolOverride, ToolResult, Visibility,
};
use metier_skill::{Coded as _, Digest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::{Paths, Review, one, path, plain, prompt, session, tool};
use crate::tool_vectors::{Order, Receipt, called, remembering};

fn section_change(expected: Digest, body: &str) -> SectionOverride {
    SectionOverride { expected, body: Some(body.to_owned()), summary: None, visibility: None }
}

fn for_section(target: &str, change: SectionOverride) -> PromptOverrides {
    PromptOverrides { sections: [(path(target), change)].into(), ..Default::default() }
}

fn for_tool(target: &str, change: ToolOverride) -> PromptOverrides {
    PromptOverrides { tools: [(target.to_owned(), change)].into(), ..Default::default() }
}

/// It is ignored with a warning when read, and an error when written.
fn is_refused(prompt: &Prompt, overrides: &PromptOverrides, words: &str) {
    let plain = prompt.rendering().render(&session()).unwrap();
    let rendered = prompt.rendering().overrides(overrides.clone()).render(&session()).unwrap();
    assert_eq!(rendered.text, plain.text);
    let described = |rendered: &RenderedPrompt| -> Vec<_> {
        let all = rendered.tools.iter().map(|tool| &tool.tool);
        all.map(|tool| (tool.description().to_owned(), tool.parameters().clone())).collect()
    };
    assert_eq!(described(&rendered), described(&plain));
    assert_eq!(rendered.warnings.len(), 1, "{:?}", rendered.warnings);
    let warning = &rendered.warnings[0];
    assert_eq!((warning.code, warning.message.as_str()), ("override-ignored", words));
    let error = prompt.check_overrides(overrides).unwrap_err();
    assert_eq!(error.code(), "prompt-override");
    assert_eq!(error.to_string(), format!("the override of `{}` cannot be applied: {words}", warning.target));
}

#[test]
fn x01_an_override_counts_only_for_the_text_that_it_was_made_for() {
    let prompt =
        one(Section::new("a", "A").default_params(Review::of("Rust")).body("\n    Use $language.\n"));
    let expected = Digest::of(b"Use $language.");
    assert_eq!(prompt.descriptor().sections[&path("a")], expected, "the text as it is, without indentation");
    let fits = for_section("a", section_change(expected, "Write $language with $$."));
    prompt.check_overrides(&fits).unwrap();
    let rendered = prompt.rendering().overrides(fits).render(&session()).unwrap();
    assert_eq!(rendered.text, "## 1. A (a)\n\nWrite Rust with $.");
    assert!(rendered.warnings.is_empty());
    let stale = for_section("a", section_change(Digest::of(b"Use ${language}."), "Other."));
    is_refused(
        &prompt,
        &stale,
        "the section has changed since the override was made; remove or recreate the override",
    );
    let unknown = for_section("b", section_change(expected, "Other."));
    is_refused(&prompt, &unknown, "there is no such section");
    let hole = for_section("a", section_change(expected, "Hello $nobody."));
    is_refused(&prompt, &hole, "its body uses `nobody`, but there is no such field");
    let shut = SectionOverride { visibility: Some(Visibility::Summary), ..section_change(expected, "x") };
    is_refused(&prompt, &for_section("a", shut), "the section has no summary to show");
}

#[test]
fn x01_an_override_that_does_not_count_keeps_no_other_from_counting() {
    let prompt = prompt([plain("a").into(), plain("b").into()]);
    let digests = prompt.descriptor().sections;
    let stale = section_change(Digest::of(b"old"), "Other a.");
    let sections = [(path("a"), stale), (path("b"), section_change(digests[&path("b")], "Other b."))];
    let overrides = PromptOverrides { sections: sections.into(), ..Default::default() };
    let rendered = prompt.rendering().overrides(overrides).render(&session()).unwrap();
    assert_eq!(rendered.text, "## 1. a (a)\n\nBody of a.\n\n## 2. b (b)\n\nOther b.");
    assert_eq!(rendered.warnings.len(), 1);
}

#[test]
fn x02_what_accepts_no_overrides_is_not_described_and_not_changed() {
    let shut = plain("shut").accepts_overrides(false).tool(tool("shut_tool").accepts_overrides(false));
    let prompt = one(shut.child(plain("open").tool(tool("open_tool"))));
    let descriptor = prompt.descriptor();
    assert_eq!(descriptor.sections.keys().map(SectionPath::as_str).collect::<Vec<_>>(), ["shut.open"]);
    assert_eq!(descriptor.tools.keys().collect::<Vec<_>>(), ["open_tool"]);
    let change = section_change(Digest::of(b"Body of shut."), "Other.");
    is_refused(&prompt, &for_section("shut", change), "the section does not accept overrides");
    let change = ToolOverride {
        expected: descriptor.tools["open_tool"],
        description: Some("Other.".to_owned()),
        parameters: BTreeMap::new(),
    };
    is_refused(&prompt, &for_tool("shut_tool", change), "the tool does not accept overrides");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Free {
    anything: Value,
    /// Nested.
    order: Order,
}

#[test]
fn x04_an_override_of_a_tool_changes_words_and_nothing_else() {
    let prompt = one(plain("a").tool(tool("lint")));
    let expected = prompt.descriptor().tools["lint"];
    let change = |parameter: &str| ToolOverride {
        expected,
        description: Some("Finds mistakes.".to_owned()),
        parameters: [(parameter.to_owned(), "Where to look.".to_owned())].into(),
    };
    let fits = for_tool("lint", change("paths"));
    prompt.check_overrides(&fits).unwrap();
    let rendered = prompt.rendering().overrides(fits).render(&session()).unwrap();
    let changed = &rendered.tool("lint").unwrap().tool;
    assert_eq!(changed.description(), "Finds mistakes.");
    let mut wanted = tool("lint").parameters().clone();
    wanted["properties"]["paths"]["description"] = "Where to look.".into();
    assert_eq!(changed.parameters(), &wanted, "only the description of that parameter is another");
    let (answer, _) = called(changed, &json!({ "paths": [] }));
    assert_eq!(answer.unwrap().text, "lint is done");
    is_refused(&prompt, &for_tool("lint", change("other")), "the tool has no parameter `other`");
    is_refused(&prompt, &for_tool("other", change("paths")), "there is no such tool");
    let stale = ToolOverride { expected: Digest::of(b"old"), ..change("paths") };
    is_refused(
        &prompt,
        &for_tool("lint", stale),
        "the tool has changed since the override was made; remove or recreate the override",
    );
    for bad in ["", "Grüße", &"d".repeat(201)] {
        let change = ToolOverride { description: Some(bad.to_owned()), ..change("paths") };
        is_refused(&prompt, &for_tool("lint", change), "its description must be 1 to 200 ASCII characters");
    }
}

#[test]
fn x04_the_contract_is_what_a_tool_says_takes_and_gives() {
    let digest = |tool: Tool| one(plain("a").tool(tool)).descriptor().tools.into_values().next().unwrap();
    let first = digest(remembering(|_| Ok(ToolAnswer::message("x"))));
    assert_eq!(digest(remembering(|_| Ok(ToolAnswer::message("another handler")))), first);
    let gives = remembering(|_| Ok(ToolAnswer::new("x", Receipt { total: 1, words: String::new() })));
    let takes = Tool::new("order", "Orders things", |_: Paths, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("x"))
    });
    let says = Tool::new("order", "Orders more", |_: Order, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("x"))
    });
    for other in [gives, takes, says] {
        assert_ne!(digest(other), first);
    }
}

#[test]
fn x04_every_parameter_can_be_described_whatever_it_takes() {
    let prompt = one(plain("a").tool(Tool::declared::<Free>("free", "Takes anything")));
    let words = |name: &str| (name.to_owned(), format!("About {name}."));
    let change = ToolOverride {
        expected: prompt.descriptor().tools["free"],
        description: None,
        parameters: [words("anything"), words("order")].into(),
    };
    let rendered = prompt.rendering().overrides(for_tool("free", change)).render(&session()).unwrap();
    assert!(rendered.warnings.is_empty(), "{:?}", rendered.warnings);
    let schema = rendered.tool("free").unwrap().tool.parameters()["properties"].clone();
    assert_eq!(schema["anything"]["description"], "About anything.");
    assert_eq!(schema["order"]["description"], "About order.");
}

#[test]
fn x01_a_change_of_the_summary_makes_an_override_stale_too() {
    let section = |summary: &str| plain("a").summary(summary).visibility(Visibility::Summary);
    let before = one(section("Short.")).descriptor().sections[&path("a")];
    let change = SectionOverride::new(before).summary("Shorter.");
    let mut stored = PromptOverrides::default();
    stored.sections.insert(path("a"), change);
    let seen = |summary: &str| {
        one(section(summary)).rendering().overrides(stored.clone()).render(&session()).unwrap()
    };
    assert!(seen("Short.").text.contains("Shorter."));
    let stale = seen("Another.");
    assert!(stale.text.contains("Another.") && !stale.text.contains("Shorter."));
    assert_eq!(stale.warnings[0].code, "override-ignored");
}

#[test]
fn x01_a_body_that_makes_no_skill_does_not_fit() {
    let prompt = one(InlineSkill::new("review", "Reviews.").body("How to."));
    let change = section_change(prompt.descriptor().sections[&path("review")], &"x".repeat(1_200_000));
    assert!(prompt.check_overrides(&for_section("review", change)).is_err());
}
