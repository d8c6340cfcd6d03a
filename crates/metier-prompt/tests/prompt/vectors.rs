//! The behaviours that were there before: sections, rendering and numbering, S01 to S14, each by its number.

use std::collections::BTreeMap;

use metier_prompt::{
    Binding, Bindings, NoParams, Prompt, PromptError, Section, SectionKey, SessionView, SkillMount,
    Visibility,
};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Serialize;

use crate::common::{
    Author, Review, build, build_one, folded, one, plain, prompt, session, session_with, shown, skill_names,
    text, tool, tool_names,
};

#[test]
fn s01_sections_are_numbered_headed_and_joined_by_one_blank_line() {
    let b = Section::new("b", "B").body("Two.").child(Section::new("c", "C").body("Three."));
    let prompt = prompt([Section::new("a", "A").body("One.").into(), b.into()]);
    let wanted = "## 1. A (a)\n\nOne.\n\n## 2. B (b)\n\nTwo.\n\n### 2.1. C (b.c)\n\nThree.";
    assert_eq!(text(&prompt), wanted);
}

#[test]
fn s01_every_level_has_one_more_sign_and_number() {
    let d = Section::new("d", "D").body("Deep.");
    let c = Section::new("c", "C").child(Section::new("x", "X").body("X.")).child(d);
    let prompt = one(Section::new("a", "A").child(Section::new("b", "B").child(c)));
    assert!(text(&prompt).ends_with("##### 1.1.1.2. D (a.b.c.d)\n\nDeep."), "{}", text(&prompt));
}

#[test]
fn s02_a_key_is_trimmed_lowered_and_kept_to_its_rule() {
    let prompt = one(Section::new(" Task\t", "Task").body("Do it."));
    assert_eq!(text(&prompt), "## 1. Task (task)\n\nDo it.");
    let long = "a".repeat(65);
    for bad in ["", "-a", "_a", "a b", "a/b", "é", &long] {
        let error = build_one(plain("x").key(bad)).unwrap_err();
        assert_eq!(error, PromptError::Key { key: bad.to_owned() });
        assert_eq!(Prompt::builder(bad, "key").build().unwrap_err().code(), "prompt-key", "{bad}");
        assert_eq!(Prompt::builder("namespace", bad).build().unwrap_err().code(), "prompt-key", "{bad}");
    }
    for good in ["0", "a_b-c", &"a".repeat(64)] {
        assert!(SectionKey::new(good).is_ok() && build_one(plain(good)).is_ok(), "{good}");
    }
    let named = Prompt::builder(" Demo ", "Hello").build().unwrap();
    assert_eq!((named.namespace(), named.key()), ("demo", "hello"));
}

#[test]
fn s03_a_disabled_section_takes_everything_below_it_along() {
    let child = plain("child").tool(tool("inner")).skill(SkillMount::new("skills/inner"));
    let gone = plain("gone").tool(tool("outer")).skill(SkillMount::new("skills/outer")).child(child);
    let prompt = prompt([plain("a").into(), gone.enabled(|_, _| false).into(), plain("b").into()]);
    let rendered = prompt.render(&session()).unwrap();
    assert_eq!(rendered.text, "## 1. a (a)\n\nBody of a.\n\n## 3. b (b)\n\nBody of b.");
    assert_eq!(shown(&rendered), ["a", "b"]);
    assert!(rendered.tools.is_empty() && rendered.skills.is_empty() && rendered.warnings.is_empty());
}

#[test]
fn s03_numbers_do_not_close_up() {
    let parent =
        |is_there: bool| plain("p").child(plain("a").enabled(move |_, _| is_there)).child(plain("b"));
    assert!(text(&one(parent(true))).contains("### 1.2. b (p.b)"));
    assert!(text(&one(parent(false))).contains("### 1.2. b (p.b)"));
}

#[test]
fn s04_predicates_see_params_and_session() {
    let by_session = plain("by-session").enabled(|_, session| session.state.values.contains_key("on"));
    let by_params = Section::new("by-params", "P").params::<Review>().body("$language");
    let by_params = by_params.enabled(|params, _| params.language == "Rust");
    let by_both = Section::new("by-both", "B").params::<Review>().body("Both.");
    let by_both = by_both.enabled(|params, session| params.depth > 0 && session.task.is_some());
    let prompt = prompt([by_session.into(), by_params.into(), by_both.into()]);
    let shown_for = |language, session: &SessionView| {
        let rendered = prompt.with(Review::of(language)).render(session).unwrap();
        rendered.sections.iter().map(|section| section.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(shown_for("Rust", &session()), ["by-params"]);
    assert_eq!(shown_for("C", &session_with("on", true)), ["by-session"]);
    let busy = SessionView { task: Some("review".to_owned()), ..session() };
    assert_eq!(shown_for("C", &busy), ["by-both"]);
}

#[test]
fn s04_a_predicate_that_fails_fails_the_rendering_and_names_the_section() {
    let child = plain("child").try_enabled(|_, _| Err::<bool, _>("the flag is unreadable"));
    let error = one(plain("top").child(child)).render(&session()).unwrap_err();
    assert_eq!(error.code(), "prompt-predicate");
    let words = "the predicate of section `top.child` failed: the flag is unreadable";
    assert_eq!(error.to_string(), words);
}

#[test]
fn s04_the_predicate_of_what_is_below_a_disabled_section_is_not_asked() {
    let child = plain("child").try_enabled(|_, _| Err::<bool, _>("must not be asked"));
    let prompt = one(plain("top").enabled(|_, _| false).child(child));
    assert_eq!(text(&prompt), "");
}

#[test]
fn s05_params_are_what_is_bound_then_the_sections_own_then_the_first_default() {
    let own = |key: &str, language: &str| {
        Section::new(key, key).default_params(Review::of(language)).body("$language")
    };
    let without = Section::new("c", "c").params::<Review>().body("$language");
    let prompt = prompt([without.into(), own("a", "Rust").into(), own("b", "C").into()]);
    let rendered = text(&prompt);
    let wanted = "## 1. c (c)\n\nRust\n\n## 2. a (a)\n\nRust\n\n## 3. b (b)\n\nC";
    assert_eq!(rendered, wanted);
    let bound = prompt.with(Review::of("Go")).render(&session()).unwrap().text;
    assert_eq!(bound.matches("Go").count(), 3, "{bound}");
}

#[test]
fn s05_without_any_value_the_error_names_section_and_type() {
    let prompt = one(plain("top").child(Section::new("a", "A").params::<Review>().body("$language")));
    let error = prompt.render(&session()).unwrap_err();
    assert_eq!(error.code(), "prompt-missing-params");
    let words = "section `top.a` needs a value of type `Review`; bind one, or give the section a default";
    assert_eq!(error.to_string(), words);
}

#[test]
fn s05_a_disabled_section_needs_no_value() {
    let section = Section::new("a", "A").params::<Review>().body("$language");
    let prompt = one(plain("top").enabled(|_, _| false).child(section));
    assert_eq!(text(&prompt), "");
}

#[test]
fn s06_binding_again_replaces_and_two_at_once_are_an_error() {
    let prompt = one(Section::new("a", "A").params::<Review>().body("$language"));
    let again = prompt.with(Review::of("C")).bind(Review::of("Rust"));
    assert_eq!(again.render(&session()).unwrap().text, "## 1. A (a)\n\nRust");
    let twice = Bindings::all([Binding::new(Review::of("C")), Binding::new(Review::of("Rust"))]);
    assert_eq!(twice.unwrap_err(), PromptError::BoundTwice { params: "Review" });
    let once = Bindings::all([Binding::new(Review::of("Go"))]).unwrap();
    assert_eq!(again.bindings(once).render(&session()).unwrap().text, "## 1. A (a)\n\nGo");
}

#[test]
fn s06_a_value_that_no_section_takes_is_an_error() {
    let prompt = one(Section::new("a", "A").params::<Review>().body("$language"));
    let stray = prompt.with(Review::of("Rust")).bind(Author { name: "nobody".to_owned() });
    let error = stray.render(&session()).unwrap_err();
    assert_eq!(error, PromptError::UnexpectedParams { params: "Author" });
    // That a section is disabled does not make its type unknown.
    let off = one(Section::new("a", "A").params::<Review>().body("$language").enabled(|_, _| false));
    assert_eq!(off.with(Review::of("Rust")).render(&session()).unwrap().text, "");
}

#[test]
fn s06_params_that_are_no_struct_are_an_error() {
    #[derive(Serialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Mood {
        Good,
        Bad,
    }
    for error in [
        build_one(Section::new("a", "A").params::<String>().body("x")).unwrap_err(),
        build_one(Section::new("a", "A").params::<Vec<u8>>().body("x")).unwrap_err(),
        build_one(Section::new("a", "A").params::<Mood>().body("x")).unwrap_err(),
    ] {
        assert_eq!(error.code(), "prompt-params-shape");
    }
    assert!(build_one(Section::new("a", "A").params::<NoParams>().body("x")).is_ok());
}

#[test]
fn s07_templates_are_dedented_trimmed_and_filled() {
    let body = "
        Review the $language code,
          ${language}2, for $$5.
    ";
    let prompt = one(Section::new("a", "A").params::<Review>().body(body));
    let rendered = prompt.with(Review::of("Rust")).render(&session()).unwrap();
    assert_eq!(rendered.text, "## 1. A (a)\n\nReview the Rust code,\n  Rust2, for $5.");
}

#[test]
fn s07_an_unknown_placeholder_is_an_error_of_build_in_body_and_summary() {
    let body = Section::new("a", "A").params::<Review>().body("$langage");
    let error = build_one(body).unwrap_err();
    let wanted = "the body of section `a` uses `langage`, but `Review` has no such field";
    assert_eq!((error.code(), error.to_string().as_str()), ("prompt-placeholder", wanted));
    let summary = Section::new("a", "A").params::<Review>().body("$language").summary("$langage");
    let error = build_one(summary).unwrap_err();
    assert!(matches!(error, PromptError::Placeholder { part: "summary", .. }), "{error}");
}

#[test]
fn s07_a_dollar_sign_without_a_name_is_an_error_of_build() {
    for bad in ["costs $5", "$", "${language", "${a b}", "$-"] {
        let body = Section::new("a", "A").params::<Review>().body(bad);
        assert_eq!(build_one(body).unwrap_err().code(), "prompt-template", "{bad}");
        let summary = Section::new("a", "A").params::<Review>().body("x").summary(bad);
        assert_eq!(build_one(summary).unwrap_err().code(), "prompt-template", "{bad}");
    }
}

#[test]
fn s08_placeholders_without_params_are_an_error() {
    let error = build_one(Section::new("a", "A").body("Hello $name")).unwrap_err();
    let wanted = "the body of section `a` uses `name`, but it has no params";
    assert_eq!((error.code(), error.to_string().as_str()), ("prompt-placeholder", wanted));
}

#[test]
fn s09_what_is_empty_is_left_out() {
    let empty = Section::new("empty", "Empty").body(" \n ");
    let by_value = Section::new("by-value", "V").default_params(Review::of("")).body("$language");
    let prompt = prompt([plain("a").into(), empty.into(), by_value.into(), plain("b").into()]);
    assert_eq!(text(&prompt), "## 1. a (a)\n\nBody of a.\n\n## 4. b (b)\n\nBody of b.");
    // A container has no text of its own, and what is in it stands below its heading.
    let container = one(Section::new("p", "P").child(plain("c")));
    assert_eq!(text(&container), "## 1. P (p)\n\n### 1.1. c (p.c)\n\nBody of c.");
    assert_eq!(text(&one(Section::new("p", "P").child(Section::new("c", "C")))), "");
}

#[test]
fn s09_an_empty_section_still_brings_its_tools() {
    let rendered = one(Section::new("a", "A").tool(tool("lint"))).render(&session()).unwrap();
    assert_eq!((rendered.text.as_str(), tool_names(&rendered)), ("", vec!["lint"]));
}

#[test]
fn s10_siblings_that_are_called_the_same_are_an_error() {
    let error = build([plain("a").into(), plain(" A").into()]).unwrap_err();
    assert_eq!(error.to_string(), "two sections have the path `a`; change the key of one of them");
    let error = build_one(plain("p").child(plain("c")).child(plain("c"))).unwrap_err();
    assert!(matches!(error, PromptError::DuplicateKey { path } if path.as_str() == "p.c"));
    assert!(build([plain("a").child(plain("c")).into(), plain("b").child(plain("c")).into()]).is_ok());
}

#[test]
fn s11_a_clone_keeps_everything_and_goes_its_own_way() {
    let first = folded("a")
        .tool(tool("lint"))
        .skill(SkillMount::new("skills/one"))
        .accepts_overrides(false)
        .enabled(|_, session| !session.state.values.contains_key("off"))
        .child(plain("child"));
    let second = first.clone().key("b").child(plain("later")).skills([SkillMount::new("skills/two")]);
    let first_prompt = one(first);
    let second_prompt = one(second);
    let open = |prompt: &Prompt, key: &str| {
        let rendering = prompt.rendering().visibility(crate::common::path(key), Visibility::Full);
        rendering.render(&session()).unwrap()
    };
    let (one, two) = (open(&first_prompt, "a"), open(&second_prompt, "b"));
    assert_eq!(
        (shown(&one), skill_names(&one), tool_names(&one)),
        (vec!["a", "a.child"], vec!["one"], vec!["lint"])
    );
    assert_eq!(shown(&two), ["b", "b.child", "b.later"]);
    assert_eq!((skill_names(&two), tool_names(&two)), (vec!["two"], vec!["lint"]));
    for prompt in [&first_prompt, &second_prompt] {
        assert!(text(prompt).contains("Summary of a."), "visibility and summary are kept");
        assert_eq!(prompt.render(&session_with("off", 1)).unwrap().text, "", "so is the predicate");
    }
    let overridable: Vec<_> =
        second_prompt.descriptor().sections.into_keys().map(|p| p.to_string()).collect();
    assert_eq!(overridable, ["b.child", "b.later"]);
}

#[test]
fn s12_attached_skills_keep_their_order_and_are_none_by_default() {
    assert!(one(plain("a")).render(&session()).unwrap().skills.is_empty());
    let mounts = ["z", "a", "m"].map(|name| SkillMount::new(format!("skills/{name}")));
    let off = SkillMount::new("skills/off").enabled(false);
    let section = mounts.into_iter().fold(plain("a"), Section::skill).skill(off);
    assert_eq!(skill_names(&one(section).render(&session()).unwrap()), ["z", "a", "m"]);
}

#[test]
fn s13_two_skills_of_one_name_are_an_error_even_if_one_is_disabled() {
    let first = plain("a").skill(SkillMount::new("here/pdf"));
    let second = plain("b").skill(SkillMount::new("there/pdf/SKILL.md")).enabled(|_, _| false);
    let error = build([first.clone().into(), second.into()]).unwrap_err();
    let words = "the skill `pdf` in section `b` already exists in section `a`";
    assert_eq!((error.code(), error.to_string().as_str()), ("prompt-duplicate-skill", words));
    let renamed = plain("b").skill(SkillMount::new("there/pdf").named("pdf-two"));
    assert!(build([first.into(), renamed.into()]).is_ok());
}

#[test]
fn s13_names_are_checked_when_built_and_paths_when_mounted() {
    assert!(build_one(plain("a").skill(SkillMount::new("no/such/directory"))).is_ok());
    for bad in ["Bad Name", "-a", "a--b", ""] {
        let error = build_one(plain("a").skill(SkillMount::new("skills/x").named(bad))).unwrap_err();
        assert_eq!(error.code(), "prompt-skill", "{bad}");
    }
}

#[test]
fn s14_skills_are_those_of_enabled_full_sections_from_the_top() {
    let with = |key: &str| plain(key).skill(SkillMount::new(format!("skills/{key}")));
    let shut = with("shut").summary("Shut.").visibility(Visibility::Summary).child(with("below-shut"));
    let off = with("off").enabled(|_, _| false);
    let a = with("a").child(with("a-one").child(with("a-deep"))).child(off).child(with("a-two"));
    let prompt = prompt([a.into(), shut.into(), with("z").into()]);
    let rendered = prompt.render(&session()).unwrap();
    assert_eq!(skill_names(&rendered), ["a", "a-one", "a-deep", "a-two", "z"]);
    let sections: BTreeMap<_, _> =
        rendered.skills.iter().map(|skill| (&*skill.name, skill.section.as_str())).collect();
    assert_eq!(sections["a-deep"], "a.a-one.a-deep");
}

#[test]
fn s11_a_section_can_be_cloned_though_its_params_cannot() {
    #[derive(Serialize, JsonSchema)]
    struct Once {
        word: String,
    }
    let section = Section::new("a", "A").params::<Once>().body("$word");
    let prompt = prompt([section.clone().key("b").into(), section.into()]);
    let rendered = prompt.with(Once { word: "yes".to_owned() }).render(&session()).unwrap();
    assert_eq!(rendered.text.matches("yes").count(), 2);
}

#[test]
fn s07_names_are_those_that_values_are_written_with() {
    // A name that only reading knows would leave a hole in the text.
    #[derive(Serialize, JsonSchema)]
    struct Renamed {
        #[serde(rename(serialize = "written", deserialize = "read"))]
        field: String,
    }
    assert!(build_one(Section::new("a", "A").params::<Renamed>().body("$read")).is_err());
    let prompt = one(Section::new("a", "A").params::<Renamed>().body("$written"));
    let rendered = prompt.with(Renamed { field: "here".to_owned() }).render(&session()).unwrap();
    assert_eq!(rendered.text, "## 1. A (a)\n\nhere");
}
