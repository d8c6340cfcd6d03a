//! Every error, in the words that people and models read.

use std::collections::BTreeSet;

use metier_prompt::{
    AgentSkillsSection, Binding, Bindings, DisclosureError, InlineSkill, Params, Prompt, PromptError,
    PromptOverrides, RefReason, Section, SectionOverride, SkillMount, SkillRef, SkillsSection, Tool,
    ToolAnswer, ToolContext, ToolError, ToolFailure, ToolResult, Visibility,
};
use metier_skill::{Coded as _, Digest};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::common::{
    Author, Paths, Review, Shelf, build, build_one, folded, one, open, path, plain, read, session, tool,
};

/// Params that cannot be written.
#[derive(JsonSchema)]
struct Broken {
    #[expect(dead_code, reason = "only its schema is looked at")]
    field: String,
}

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("the disk is on fire"))
    }
}

fn rendered<P: Params>(section: Section<P>) -> PromptError {
    one(section).render(&session()).unwrap_err()
}

fn reference(reason: RefReason, details: Option<&str>) -> PromptError {
    let section = SkillsSection::new().reference(SkillRef::new("skills/pdf"));
    let shelf = Shelf::default().without("skills/pdf", reason, details);
    Prompt::builder("tests", "errors").section(section).skill_reader(shelf).build().unwrap_err()
}

fn prompt_errors() -> Vec<PromptError> {
    let declared = |name: &str, words: &str| Tool::declared::<Paths>(name, words);
    let reviews = || Section::new("task", "Task").params::<Review>().body("$language");
    let change = SectionOverride { expected: Digest::of(b""), body: None, summary: None, visibility: None };
    let change = PromptOverrides { sections: [(path("a"), change)].into(), ..Default::default() };
    let broken = one(Section::new("task", "Task").params::<Broken>().body("$field"));
    vec![
        build_one(plain("Code Review\n!")).unwrap_err(),
        build_one(plain(&"long".repeat(30))).unwrap_err(),
        build([plain("a").into(), plain("a").into()]).unwrap_err(),
        build_one(Section::new("a", " ")).unwrap_err(),
        build_one(plain("a").body("It costs $5.")).unwrap_err(),
        build_one(plain("a").summary("Hello ${name")).unwrap_err(),
        build_one(reviews().body("$langage")).unwrap_err(),
        build_one(plain("a").summary("$name")).unwrap_err(),
        build_one(Section::new("a", "A").params::<Vec<u8>>()).unwrap_err(),
        rendered(reviews()),
        Bindings::all([Binding::new(Review::of("a")), Binding::new(Review::of("b"))]).unwrap_err(),
        one(plain("a")).with(Author { name: String::new() }).render(&session()).unwrap_err(),
        broken.with(Broken { field: String::new() }).render(&session()).unwrap_err(),
        rendered(plain("a").try_enabled(|_, _| Err::<bool, _>("the flag is unreadable"))),
        build_one(plain("a").visibility(Visibility::Summary)).unwrap_err(),
        build_one(plain("a").tool(declared("Lint Code", "Lints."))).unwrap_err(),
        build_one(plain("a").tool(declared("lint", ""))).unwrap_err(),
        build([plain("a").tool(tool("lint")).into(), plain("b").tool(tool("lint")).into()]).unwrap_err(),
        build_one(plain("a").tool(tool("open_sections"))).unwrap_err(),
        build_one(plain("a").skill(SkillMount::new("skills/My Skill"))).unwrap_err(),
        build_one(SkillsSection::new().inline(InlineSkill::new("pdf", "Reads PDF."))).unwrap_err(),
        build_one(SkillsSection::new().inline(InlineSkill::new("pdf", "").body("Read."))).unwrap_err(),
        build_one(
            plain("a").skill(SkillMount::new("x/pdf")).child(plain("b").skill(SkillMount::new("y/pdf"))),
        )
        .unwrap_err(),
        reference(RefReason::NotFound, None),
        reference(RefReason::NotDirectory, None),
        reference(RefReason::MissingSkillMd, None),
        reference(RefReason::InvalidFrontmatter, Some("line 2: `name` is missing")),
        build_one(SkillsSection::new().reference(SkillRef::new("skills/pdf"))).unwrap_err(),
        build_one(AgentSkillsSection::new([]).mount_path("../skills")).unwrap_err(),
        build_one(AgentSkillsSection::new([]).allow(["pdf-["])).unwrap_err(),
        one(plain("a")).check_overrides(&change).unwrap_err(),
    ]
}

#[test]
fn errors_of_prompts() {
    let errors = prompt_errors();
    let codes: BTreeSet<_> = errors.iter().map(PromptError::code).collect();
    assert_eq!(codes, codes_in(include_str!("../../src/error.rs"), "prompt-"), "each kind is here");
    let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", error.code())).collect();
    insta::assert_snapshot!("errors of prompts", lines.join("\n"));
}

#[test]
fn errors_of_opening_and_reading() {
    let off = folded("off").enabled(|_, _| false);
    let broken = folded("broken").try_enabled(|_, _| Err::<bool, _>("the flag is unreadable"));
    let skill = InlineSkill::new("tidy", "Tidies up.").body("Tidy up.");
    let prompt =
        Prompt::builder("tests", "errors").section(plain("open")).section(plain("wide")).section(off);
    let prompt =
        prompt.section(folded("tools").tool(tool("lint"))).section(broken).section(skill).build().unwrap();
    let rendering = prompt.rendering().install_skills(true);
    let opening = |keys: &[&str]| rendering.open_sections(&session(), &open(keys)).unwrap_err();
    let reading = |key: &str| rendering.read_section(&session(), &read(key)).unwrap_err();
    let kept = one(folded("kept")).rendering().visibility(path("kept"), Visibility::Summary);
    let errors = [
        opening(&[]),
        opening(&["nothing"]),
        opening(&["no such\nkey, and a long one at that"]),
        opening(&["off"]),
        opening(&["tidy"]),
        opening(&["open"]),
        opening(&["open", "wide"]),
        opening(&["broken"]),
        reading("nothing"),
        reading("off"),
        reading("tidy"),
        reading("open"),
        reading("tools"),
        kept.open_sections(&session(), &open(&["kept"])).unwrap_err(),
    ];
    let codes = errors.iter().map(DisclosureError::code).filter(|code| code.starts_with("section-"));
    let all = codes_in(include_str!("../../src/disclosure.rs"), "section-");
    assert_eq!(codes.collect::<BTreeSet<_>>(), all, "each kind is here");
    let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", error.code())).collect();
    insta::assert_snapshot!("errors of opening and reading", lines.join("\n"));
}

#[test]
fn errors_of_tools() {
    let answers = |done: fn() -> ToolResult<()>| {
        Tool::new("lint", "Lints.", move |_: Paths, _: &mut ToolContext<'_>| done())
    };
    let fine = json!({ "paths": [] });
    let called = |tool: &Tool, arguments: &Value| crate::tool_vectors::called(tool, arguments).0.unwrap_err();
    let errors = [
        called(&answers(|| Ok(ToolAnswer::message("done"))), &json!({ "paths": [], "x": 1 })),
        called(&answers(|| Err(ToolFailure("the shop is closed".to_owned()))), &fine),
        called(&answers(|| panic!("index out of bounds")), &fine),
        called(&Tool::declared::<Paths>("lint", "Lints."), &fine),
    ];
    let codes: BTreeSet<_> = errors.iter().map(ToolError::code).collect();
    assert_eq!(codes, codes_in(include_str!("../../src/tool.rs"), "tool-"), "each kind is here");
    let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", error.code())).collect();
    insta::assert_snapshot!("errors of tools", lines.join("\n"));
}

/// Every code that a source file has: a kind of error that nothing here brings about is noticed.
fn codes_in<'a>(source: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let codes = source.lines().filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
    codes.filter(|code| code.starts_with(prefix)).collect()
}
