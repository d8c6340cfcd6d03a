//! The behaviours that were there before: visibility and opening sections, D01 to D28, each by its number. What needs a session to be
//! recorded in (D23, D24) is tested there.

use metier_prompt::{
    AgentSkillsSection, DisclosureError, DiscoveredSkill, InlineSkill, PromptOverrides, RenderedTool,
    Rendering, Section, SectionOverride, SessionState, SessionView, SkillMount, SkillsSection, ToolOverride,
    Visibility,
};
use metier_skill::Coded as _;

use crate::common::{
    Author, Review, build_one, folded, one, open, opened, path, plain, prompt, read, session, session_shows,
    session_with, shown, skill_names, text, tool, tool_names,
};

use Visibility::{Full, Summary};

#[test]
fn d01_sections_are_shown_in_full() {
    let rendered = one(plain("a").summary("Short.")).render(&session()).unwrap();
    assert_eq!(rendered.sections[0].visibility, Full);
    assert!(rendered.text.contains("Body of a.") && !rendered.text.contains("Short."));
}

#[test]
fn d02_what_is_said_for_this_rendering_wins_then_the_session_then_the_section() {
    let rendering = one(folded("a")).rendering();
    let seen = |rendering: &Rendering, session: &SessionView| {
        rendering.render(session).unwrap().sections[0].visibility
    };
    assert_eq!(seen(&rendering, &session()), Summary);
    assert_eq!(seen(&rendering, &session_shows("a", Full)), Full);
    let explicit = rendering.clone().visibility(path("a"), Full);
    assert_eq!(seen(&explicit, &session()), Full);
    assert_eq!(seen(&explicit, &session_shows("a", Summary)), Full);
    let explicit = rendering.visibility(path("a"), Summary);
    assert_eq!(seen(&explicit, &session_shows("a", Full)), Summary);
    let error = explicit.open_sections(&session(), &open(&["a"])).unwrap_err();
    assert_eq!(error, DisclosureError::Fixed(path("a")), "the session cannot change it");
}

#[test]
fn d02_a_section_chooses_by_params_and_session() {
    let section = Section::new("a", "A").params::<Review>().body("Long.").summary("Short.");
    let section =
        section.visibility_by(
            |params, session| {
                if params.depth > 1 || session.task.is_some() { Full } else { Summary }
            },
        );
    let prompt = one(section);
    let seen = |depth, session: &SessionView| {
        let review = Review { depth, ..Review::of("Rust") };
        prompt.with(review).render(session).unwrap().sections[0].visibility
    };
    assert_eq!(seen(1, &session()), Summary);
    assert_eq!(seen(2, &session()), Full);
    let busy = SessionView { task: Some("review".to_owned()), ..session() };
    assert_eq!(seen(1, &busy), Full);
    let mut told = busy;
    told.state.set_visibility(path("a"), Summary);
    assert_eq!(seen(2, &told), Summary);
}

#[test]
fn d02_what_the_session_says_is_for_exactly_that_path() {
    let prompt = one(plain("p").summary("Short p.").child(plain("a").summary("Short a.")));
    let rendered = prompt.render(&session_shows("p.a", Summary)).unwrap();
    assert_eq!(
        rendered.sections.iter().map(|section| section.visibility).collect::<Vec<_>>(),
        [Full, Summary]
    );
    assert_eq!(prompt.render(&session_shows("a", Summary)).unwrap().text, text(&prompt));
}

#[test]
fn d03_a_summary_that_is_not_there_is_an_error_as_soon_as_it_can_be_known() {
    let error = build_one(plain("top").child(plain("a").visibility(Summary))).unwrap_err();
    assert_eq!(error.to_string(), "section `top.a` should be shown as a summary, but has none");
    let prompt = one(plain("a"));
    let error = prompt.render(&session_shows("a", Summary)).unwrap_err();
    assert_eq!(error.code(), "prompt-missing-summary");
    let chosen = one(plain("a").visibility_by(|_, _| Summary));
    assert_eq!(chosen.render(&session()).unwrap_err().code(), "prompt-missing-summary");
}

#[test]
fn d03_a_disabled_section_needs_no_summary() {
    let off = plain("off").visibility_by(|_, _| Summary).enabled(|_, _| false);
    let rendered = prompt([folded("a").into(), off.into()]).render(&session()).unwrap();
    assert_eq!(shown(&rendered), ["a"]);
}

#[test]
fn d04_a_summary_stands_for_the_section_and_everything_below_it() {
    let child = plain("child").tool(tool("inner")).skill(SkillMount::new("skills/inner"));
    let a = folded("a").tool(tool("outer")).skill(SkillMount::new("skills/outer")).child(child);
    let rendered = prompt([a.into(), plain("b").into()]).render(&session()).unwrap();
    assert_eq!(shown(&rendered), ["a", "b"]);
    assert!(rendered.text.starts_with("## 1. a (a)\n\nSummary of a.\n\n---\n["), "{}", rendered.text);
    assert!(rendered.text.ends_with("]\n\n## 2. b (b)\n\nBody of b."), "{}", rendered.text);
    assert!(!rendered.text.contains("Body of a") && !rendered.text.contains("Body of child"));
    assert_eq!((tool_names(&rendered), rendered.skills.len()), (vec!["open_sections"], 0));
}

#[test]
fn d05_what_has_tools_or_skills_is_opened_and_the_rest_is_read() {
    let deep = |section: Section| folded("a").child(plain("b").child(section));
    let brings = [
        folded("a").tool(tool("lint")),
        folded("a").skill(SkillMount::new("skills/x")),
        deep(plain("c").tool(tool("lint"))),
        deep(folded("c").skill(SkillMount::new("skills/x"))),
        folded("a").child(SkillsSection::new().inline(InlineSkill::new("x", "Does x.").body("Do x."))),
        folded("a").child(AgentSkillsSection::new([found("x")])),
    ];
    for section in brings {
        let text = text(&one(section));
        assert!(text.contains("`open_sections`") && !text.contains("`read_section`"), "{text}");
    }
    let off = || plain("c").tool(tool("lint")).skill(SkillMount::new("skills/x")).enabled(|_, _| false);
    let switched_off = folded("a").skill(SkillMount::new("skills/x").enabled(false));
    let nothing_found = folded("a").child(AgentSkillsSection::new([]));
    for section in [folded("a"), deep(plain("c")), deep(off()), switched_off, nothing_found] {
        let text = text(&one(section));
        assert!(text.contains("`read_section`") && !text.contains("`open_sections`"), "{text}");
    }
}

fn found(name: &str) -> DiscoveredSkill {
    let description = Some(format!("Does {name}."));
    DiscoveredSkill {
        name: name.to_owned(),
        description,
        skill_md: format!("/skills/{name}/SKILL.md").into(),
    }
}

#[test]
fn d06_the_last_line_tells_how_to_open_and_what_is_below() {
    let line = |section: Section| text(&one(section)).split_once("Summary of a.").unwrap().1.to_owned();
    assert_eq!(
        line(folded("a").tool(tool("lint"))),
        "\n\n---\n[This section is summarized. To view full content, call `open_sections` with key \"a\".]"
    );
    assert_eq!(
        line(folded("a").tool(tool("lint")).child(plain("c").child(plain("deep"))).child(plain("b"))),
        "\n\n---\n[This section is summarized. Call `open_sections` with key \"a\" to view full content \
         including subsections: c, b.]"
    );
    assert_eq!(
        line(folded("a")),
        "\n\n---\n[This section is summarized. To view full content, call `read_section` with key \"a\".]"
    );
    let off = plain("off").enabled(|_, _| false);
    assert!(
        line(folded("a").child(off)).contains("To view full content, call"),
        "what is not there is not named"
    );
}

#[test]
fn d06_the_line_has_the_whole_path() {
    let text = text(&one(plain("p").child(folded("a"))));
    assert!(text.ends_with("call `read_section` with key \"p.a\".]"), "{text}");
}

#[test]
fn d07_the_tools_of_the_prompt_come_last_and_only_if_needed() {
    let names = |sections| tool_names(&prompt::<2>(sections).render(&session()).unwrap()).join(" ");
    let lint = || plain("z").tool(tool("lint"));
    assert_eq!(names([plain("a").into(), lint().into()]), "lint");
    assert_eq!(names([folded("a").into(), lint().into()]), "lint read_section");
    assert_eq!(names([folded("a").tool(tool("x")).into(), lint().into()]), "lint open_sections");
    let both = [folded("a").tool(tool("x")).into(), folded("b").into()];
    assert_eq!(names(both), "open_sections read_section");
}

#[test]
fn d07_the_tools_of_the_prompt_belong_to_no_section_and_take_no_overrides() {
    let prompt = prompt([folded("a").tool(tool("x")).into(), folded("b").into()]);
    let rendered = prompt.render(&session()).unwrap();
    assert!(rendered.tools.iter().all(RenderedTool::is_disclosure));
    assert!(rendered.tools.iter().all(|tool| tool.section.is_none() && !tool.tool.has_handler()));
    assert!(!prompt.descriptor().tools.contains_key("open_sections"));
    for own in ["open_sections", "read_section"] {
        let error = build_one(plain("a").tool(tool(own))).unwrap_err();
        assert_eq!(error.code(), "prompt-duplicate-tool", "nobody can pretend to be one");
        let change = ToolOverride {
            expected: metier_skill::Digest::of(b""),
            description: Some("Other.".to_owned()),
            parameters: std::collections::BTreeMap::new(),
        };
        let overrides = PromptOverrides { tools: [(own.to_owned(), change)].into(), ..Default::default() };
        assert!(prompt.check_overrides(&overrides).is_err());
        let after = prompt.rendering().overrides(overrides).render(&session()).unwrap();
        assert_eq!(after.warnings[0].code, "override-ignored");
        let (before, after) = (rendered.tool(own).unwrap(), after.tool(own).unwrap());
        assert_eq!(before.tool.description(), after.tool.description());
    }
}

#[test]
fn d08_skills_come_with_what_is_open() {
    let with = |section: Section, name: &str| section.skill(SkillMount::new(format!("skills/{name}")));
    let a = with(folded("a"), "a").child(with(folded("shut"), "shut")).child(with(plain("wide"), "wide"));
    let prompt = one(a);
    assert!(prompt.render(&session()).unwrap().skills.is_empty());
    let rendered = prompt.render(&session_shows("a", Full)).unwrap();
    assert_eq!(skill_names(&rendered), ["a", "wide"]);
}

#[test]
fn d09_opening_nothing_is_an_error() {
    let error = one(folded("a")).rendering().open_sections(&session(), &open(&[])).unwrap_err();
    assert_eq!(error, DisclosureError::NoKeys);
    assert!(error.to_string().contains("At least one section key"));
}

#[test]
fn d10_an_unknown_key_is_an_error_whatever_else_is_asked_for() {
    let rendering = one(folded("a")).rendering();
    for keys in [&["b"][..], &["a", "b"], &["a.b"], &["b.a"], &[""], &["a."], &["a..a"]] {
        let error = rendering.open_sections(&session(), &open(keys)).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{keys:?}: {error}");
        assert_eq!(error.code(), "section-unknown");
    }
}

#[test]
fn d11_what_is_open_cannot_be_opened() {
    let rendering = prompt([plain("a").into(), plain("b").into()]).rendering();
    let error = rendering.open_sections(&session(), &open(&["a"])).unwrap_err();
    assert_eq!(error.to_string(), "Section `a` is already expanded");
    let error = rendering.open_sections(&session(), &open(&["a", "b"])).unwrap_err();
    assert_eq!(error.to_string(), "All requested sections are already expanded");
}

#[test]
fn d12_of_a_mixed_list_only_the_summaries_are_opened() {
    let rendering = prompt([plain("a").into(), folded("b").into(), folded("c").into()]).rendering();
    let expansion = rendering.open_sections(&session(), &open(&["a", "b"])).unwrap();
    assert_eq!(expansion.overrides.into_iter().collect::<Vec<_>>(), [(path("b"), Full)]);
    assert_eq!(expansion.section_keys, ["a", "b"]);
}

#[test]
fn d13_success_is_an_outcome_with_what_to_show_why_and_what_was_asked() {
    let rendering = one(plain("p").child(folded("a")).child(folded("b"))).rendering();
    let expansion = rendering.open_sections(&session(), &open(&["p.b", " P.A"])).unwrap();
    let wanted = [(path("p.a"), Full), (path("p.b"), Full)];
    assert_eq!(expansion.overrides, wanted.into_iter().collect());
    assert_eq!(
        (expansion.reason.as_str(), &*expansion.section_keys),
        ("it is needed", &["p.b", " P.A"].map(str::to_owned)[..])
    );
    assert_eq!(expansion.to_string(), "Sections expanded: p.a, p.b. Reason: it is needed");
    assert!(expansion.skills.is_empty());
}

#[test]
fn d13_the_skills_among_what_is_opened_are_named_with_their_cost() {
    let skill = InlineSkill::new("lint-it", "Lints.").body("Call lint.").tool(tool("lint"));
    let rendering = one(SkillsSection::new().inline(skill)).rendering();
    let expansion = rendering.open_sections(&session(), &open(&["skills.lint-it"])).unwrap();
    let [skill] = &*expansion.skills else { panic!("{expansion:?}") };
    assert_eq!((skill.name.as_str(), skill.section.as_str()), ("lint-it", "skills.lint-it"));
    let mut session = session();
    opened(&rendering, &mut session, &["skills.lint-it"]);
    let section = rendering.render(&session).unwrap().sections[1].clone();
    assert!(section.tokens.abs_diff(skill.tokens) <= 1, "{section:?} {skill:?}");
}

#[test]
fn d14_a_dotted_key_is_a_path() {
    let rendering = one(plain("parent").child(folded("child"))).rendering();
    let expansion = rendering.open_sections(&session(), &open(&["parent.child"])).unwrap();
    assert_eq!(expansion.overrides.keys().next().unwrap().keys().collect::<Vec<_>>(), ["parent", "child"]);
    assert!(rendering.open_sections(&session(), &open(&["child"])).is_err());
}

#[test]
fn d14_opening_below_a_summary_opens_that_as_well() {
    let rendering = one(folded("p").child(folded("a").child(plain("deep")))).rendering();
    let mut session = session();
    let expansion = rendering.open_sections(&session, &open(&["p.a.deep"])).unwrap();
    assert_eq!(expansion.overrides.keys().map(ToString::to_string).collect::<Vec<_>>(), ["p", "p.a"]);
    opened(&rendering, &mut session, &["p.a.deep"]);
    assert!(rendering.render(&session).unwrap().text.contains("Body of deep."));
    assert!(rendering.open_sections(&session, &open(&["p.a.deep"])).is_err());
}

#[test]
fn d15_a_key_has_no_dots() {
    assert_eq!(build_one(folded("a").key("a.b")).unwrap_err().code(), "prompt-key");
}

#[test]
fn d16_a_disabled_section_cannot_be_opened_nor_what_is_below_it() {
    let rendering = one(folded("a").enabled(|_, _| false).child(folded("b"))).rendering();
    for key in ["a", "a.b"] {
        let error = rendering.open_sections(&session(), &open(&[key])).unwrap_err();
        assert_eq!(error, DisclosureError::Disabled(path("a")));
        assert_eq!(rendering.read_section(&session(), &read(key)).unwrap_err(), error);
    }
    assert_eq!(DisclosureError::Disabled(path("a")).to_string(), "Section `a` is disabled");
}

#[test]
fn d17_reading_gives_the_whole_text_and_changes_nothing() {
    let prompt = prompt([plain("first").into(), folded("k").child(plain("c")).into(), plain("last").into()]);
    let (rendering, session) = (prompt.rendering(), session());
    let before = session.clone();
    let content = rendering.read_section(&session, &read("k")).unwrap();
    let wanted = "Content of section 'k':\n\n## 2. k (k)\n\nBody of k.\n\n### 2.1. c (k.c)\n\nBody of c.";
    assert_eq!(content, wanted);
    assert_eq!(session, before);
    assert!(rendering.render(&session).unwrap().text.contains("Summary of k."));
}

#[test]
fn d18_what_is_unknown_or_open_cannot_be_read() {
    let rendering = one(plain("a")).rendering();
    let error = rendering.read_section(&session(), &read("b")).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    let error = rendering.read_section(&session(), &read("a")).unwrap_err();
    assert!(error.to_string().contains("is not summarized"), "{error}");
}

#[test]
fn d19_what_is_read_has_its_children_as_they_would_be_shown() {
    let shut = folded("shut").child(plain("hidden"));
    let k = folded("k").child(plain("off").enabled(|_, _| false)).child(shut).child(plain("wide"));
    let rendering = prompt([k.into(), plain("next").into()]).rendering();
    let content = rendering.read_section(&session(), &read("k")).unwrap();
    assert!(content.contains("Summary of shut.\n\n---\n[This section is summarized."), "{content}");
    assert!(content.ends_with("### 1.3. wide (k.wide)\n\nBody of wide."), "{content}");
    for absent in ["Body of off", "Body of shut", "Body of hidden", "next"] {
        assert!(!content.contains(absent), "{absent}: {content}");
    }
}

#[test]
fn d20_what_is_read_has_children_without_params_too() {
    let k = Section::new("k", "K").params::<Review>().body("$language").summary("Short.");
    let k = k.visibility(Summary).child(plain("bare"));
    let rendering = one(k).with(Review::of("Rust"));
    let content = rendering.read_section(&session(), &read("k")).unwrap();
    assert!(content.contains("\n\nRust\n\n") && content.ends_with("Body of bare."), "{content}");
}

#[test]
fn d21_what_brings_tools_or_skills_is_opened_and_not_read() {
    let skill = folded("k").skill(SkillMount::new("skills/x"));
    let deep = folded("k").child(plain("c").tool(tool("lint")));
    for section in [skill, deep] {
        let rendering = one(section).rendering();
        let error = rendering.read_section(&session(), &read("k")).unwrap_err();
        assert_eq!(error, DisclosureError::MustBeOpened(path("k")));
        assert!(error.to_string().contains("`open_sections`"));
    }
}

#[test]
fn d22_a_state_sets_clears_accumulates_and_is_cloned() {
    let mut state = SessionState::default();
    state.set_visibility(path("a"), Full);
    state.set_visibility(path("b.c"), Summary);
    assert_eq!((state.visibility(&path("a")), state.visibility(&path("b.c"))), (Some(Full), Some(Summary)));
    let mut other = state.clone();
    other.set_visibility(path("a"), Summary);
    assert_eq!(state.visibility(&path("a")), Some(Full), "a clone goes its own way");
    state.clear_visibility(&path("a"));
    assert_eq!((state.visibility(&path("a")), state.visibility(&path("b.c"))), (None, Some(Summary)));
    state.clear_all_visibility();
    assert_eq!((&state, other.visibility(&path("a"))), (&SessionState::default(), Some(Summary)));
    let written = serde_json::to_string(&other).unwrap();
    assert_eq!(serde_json::from_str::<SessionState>(&written).unwrap(), other);
    assert!(serde_json::from_str::<SessionState>(r#"{"visibility":{"a b":"full"}}"#).is_err());
}

#[test]
fn d25_an_override_has_a_body_for_full_and_a_summary_for_summary() {
    let prompt = one(folded("a"));
    let expected = prompt.descriptor().sections[&path("a")];
    let change = |visibility| SectionOverride {
        expected,
        body: Some("Other body.".to_owned()),
        summary: Some("Other summary.".to_owned()),
        visibility,
    };
    let rendering = |visibility| {
        let sections = [(path("a"), change(visibility))].into();
        prompt.rendering().overrides(PromptOverrides { sections, ..Default::default() })
    };
    let text = rendering(None).render(&session()).unwrap().text;
    assert!(text.contains("Other summary.\n\n---\n[") && !text.contains("ther body"), "{text}");
    let text = rendering(None).render(&session_shows("a", Full)).unwrap().text;
    assert_eq!(text, "## 1. a (a)\n\nOther body.");
    let text = rendering(Some(Full)).render(&session()).unwrap().text;
    assert_eq!(text, "## 1. a (a)\n\nOther body.", "its visibility counts, too");
    let text = rendering(Some(Full)).render(&session_shows("a", Summary)).unwrap().text;
    assert!(text.contains("Other summary."), "the session has the last word: {text}");
}

#[test]
fn d26_the_line_of_a_skill_names_the_tools_that_opening_it_unlocks() {
    let skill = InlineSkill::new("code-review", "Reviews code.").body("Review it.").tool(tool("lint_code"));
    let skill = skill.child(plain("tests").tool(tool("run_tests")));
    let off = plain("off").tool(tool("not_there")).enabled(|_, _| false);
    let further = folded("further").tool(tool("not_yet"));
    let text = text(&one(SkillsSection::new().inline(skill.child(off).child(further))));
    let wanted = "[This skill is summarized. Call `open_sections` with key \"skills.code-review\" to view \
                  full workflow and access tools: lint_code, run_tests.]";
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn d26_the_line_of_a_skill_without_tools_names_none() {
    let skill = InlineSkill::new("tidy", "Tidies up.").body("Tidy up.").child(plain("more"));
    let text = text(&one(SkillsSection::new().inline(skill)));
    let wanted =
        "[This skill is summarized. Call `open_sections` with key \"skills.tidy\" to view full workflow.]";
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn d27_a_skill_is_summed_up_by_name_and_description_unless_it_says_otherwise() {
    let skill = InlineSkill::new("money", "Saves $5 a day.").body("Save.");
    let text = text(&one(SkillsSection::new().inline(skill.clone())));
    assert!(text.contains("\n\n[Skill: money] Saves $5 a day.\n\n---\n"), "{text}");
    let other = self::text(&one(SkillsSection::new().inline(skill.summary("Ask me about money."))));
    assert!(other.contains("\n\nAsk me about money.\n\n---\n") && !other.contains("[Skill:"), "{other}");
}

#[test]
fn d28_a_list_of_skills_is_names_as_a_summary_and_xml_in_full() {
    let list = AgentSkillsSection::new([found("pdf"), found("csv")]);
    let full = text(&one(list.clone()));
    assert!(full.contains("<available_skills>") && full.contains("<name>pdf</name>"), "{full}");
    assert!(full.contains("<description>Does csv.</description>"), "{full}");
    assert!(full.contains("<location>/skills/csv/SKILL.md</location>"), "{full}");
    let rendering = one(list.visibility(Summary)).rendering();
    let rendered = rendering.render(&session()).unwrap();
    let wanted = "\n\nSkills: pdf, csv\n\n---\n[This section is summarized. To view full content, call \
                  `open_sections` with key \"agent-skills\".]";
    assert!(rendered.text.ends_with(wanted), "{}", rendered.text);
    assert!(!rendered.text.contains("Does"), "names only");
    let mut session = session_with("unrelated", 1);
    opened(&rendering, &mut session, &["agent-skills"]);
    assert_eq!(rendering.render(&session).unwrap().text, full);
}

#[test]
fn d06_a_summary_with_nothing_in_it_leaves_one_blank_line() {
    let section = Section::new("a", "A").default_params(Author { name: String::new() });
    let section = section.body("Long.").summary("$name").visibility(Summary);
    let text = text(&one(section));
    assert!(text.starts_with("## 1. A (a)\n\n---\n[This section is summarized."), "{text}");
}

#[test]
fn d03_what_is_hidden_needs_no_values_yet() {
    let child = Section::new("c", "C").params::<Review>().enabled(|review, _| review.depth > 1).body("x");
    let prompt = one(folded("p").child(child));
    assert!(prompt.render(&session()).unwrap().text.contains("(p)"));
    assert!(prompt.render(&session_shows("p", Full)).is_err(), "it is wanted once it is shown");
}

#[test]
fn d02_what_is_fixed_does_not_ask_to_be_opened() {
    let prompt = one(folded("a").tool(tool("dig")));
    let rendered = prompt.rendering().visibility(path("a"), Summary).render(&session()).unwrap();
    assert!(!rendered.text.contains("open_sections") && rendered.tools.is_empty(), "{}", rendered.text);
}
