//! What holds for every prompt.

use std::collections::BTreeSet;

use metier_prompt::{
    AgentSkillsSection, DisclosureError, DiscoveredSkill, ListFormat, MountSource, OpenSections, ReadSection,
    RenderedPrompt, Rendering, Section, SessionView, SkillKind, Visibility,
};
use metier_skill::{Coded as _, tokens};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::common::{apply, build_one, one, open, path, read, session, skill_names, tool_names};
use crate::forest::{Forest, Kind, forest};

/// From a fixed seed, unless the environment gives one.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given @ RngSeed::Fixed(_) => given,
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..usual }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// Everything about a rendering that anybody can see.
fn seen(rendered: &RenderedPrompt) -> String {
    let tools: Vec<_> =
        rendered.tools.iter().map(|tool| (tool.tool.name(), tool.tool.parameters(), &tool.section)).collect();
    let parts = (&rendered.text, tools, &rendered.skills, &rendered.sections, &rendered.warnings);
    format!("{parts:?}")
}

/// Opens these sections one by one; those that are open by then are passed over.
fn open_each(rendering: &Rendering, session: &mut SessionView, keys: &[&str]) -> Result<(), TestCaseError> {
    for key in keys {
        match rendering.open_sections(session, &open(&[key])) {
            Ok(expansion) => apply(session, expansion),
            Err(DisclosureError::AlreadyExpanded(_) | DisclosureError::Installed(_)) => {}
            Err(error) => return Err(TestCaseError::fail(format!("{key}: {error}"))),
        }
    }
    Ok(())
}

/// The paths of some of the sections that are there, and no section above them is not.
fn some_keys(forest: &Forest, chosen: u64) -> Vec<&str> {
    let there: Vec<_> = forest.trees.iter().flat_map(|tree| forest.enabled(tree)).collect();
    let some = there.into_iter().enumerate().filter(|(number, _)| chosen >> (number % 64) & 1 == 1);
    some.map(|(_, tree)| tree.path.as_str()).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_prompt_that_is_built_again_is_rendered_the_same(forest in forest(), installs: bool) {
        let session = forest.session();
        let built = || seen(&forest.prompt().rendering().install_skills(installs).render(&session).unwrap());
        prop_assert_eq!(built(), built());
    }

    #[test]
    fn what_is_there_is_what_should_be(forest in forest()) {
        let rendered = forest.prompt().render(&forest.session()).unwrap();
        let expected = forest.expected();
        let shown: Vec<_> = rendered.sections.iter().map(|section| (section.path.as_str(), section.visibility)).collect();
        let wanted: Vec<_> = expected.shown.iter().map(|(tree, visibility)| (tree.path.as_str(), *visibility)).collect();
        prop_assert_eq!(shown, wanted);
        let own: Vec<_> = rendered.tools.iter().filter(|tool| !tool.is_disclosure()).map(|tool| tool.tool.name()).collect();
        prop_assert_eq!(own, expected.tools);
        prop_assert_eq!(skill_names(&rendered), expected.skills);
    }

    #[test]
    fn nothing_is_shown_that_is_hidden_and_nothing_twice(forest in forest()) {
        let rendered = forest.prompt().render(&forest.session()).unwrap();
        let expected = forest.expected();
        for tree in forest.all() {
            let visibility = expected.shown.iter().find(|(shown, _)| shown.id == tree.id).map(|(_, visibility)| *visibility);
            let is_full = visibility == Some(Visibility::Full);
            let bodies = if tree.kind == Kind::Found { tree.skills } else { 1 };
            prop_assert_eq!(count(&rendered.text, &tree.body()), if is_full { bodies } else { 0 }, "{}", rendered.text);
            // A list that has nothing in it is not there.
            let is_summary = visibility == Some(Visibility::Summary) && (tree.kind != Kind::Found || tree.skills > 0);
            prop_assert_eq!(count(&rendered.text, &tree.summary()), usize::from(is_summary), "{}", rendered.text);
            prop_assert!(count(&rendered.text, &tree.heading()) <= usize::from(visibility.is_some()));
            for name in tree.tool_names() {
                let lines = rendered.text.lines().filter(|line| line.contains(&name));
                prop_assert!(lines.clone().all(|line| line.starts_with("[This skill is summarized.")), "{}", rendered.text);
                prop_assert_eq!(rendered.tool(&name).is_some(), is_full);
            }
        }
        let names: BTreeSet<_> = tool_names(&rendered).into_iter().collect();
        prop_assert_eq!(names.len(), rendered.tools.len());
        let skills: BTreeSet<_> = rendered.skills.iter().map(|skill| (&skill.mount_path, &skill.name)).collect();
        prop_assert_eq!(skills.len(), rendered.skills.len());
    }

    #[test]
    fn every_tool_belongs_to_a_section_that_is_open(forest in forest(), installs: bool) {
        let rendering = forest.prompt().rendering().install_skills(installs);
        let rendered = rendering.render(&forest.session()).unwrap();
        for tool in rendered.tools.iter().filter(|tool| !tool.is_disclosure()) {
            let section = rendered.sections.iter().find(|section| Some(&section.path) == tool.section.as_ref());
            prop_assert_eq!(section.map(|section| section.visibility), Some(Visibility::Full));
        }
        for skill in rendered.skills.iter().filter(|skill| skill.kind == SkillKind::Discovered) {
            let section = rendered.sections.iter().find(|section| section.path == skill.section);
            prop_assert_eq!(section.map(|section| section.visibility), Some(Visibility::Full));
        }
    }

    #[test]
    fn the_two_tools_are_there_if_something_is_to_be_opened_or_read(forest in forest()) {
        let rendered = forest.prompt().render(&forest.session()).unwrap();
        let expected = forest.expected();
        let shut = expected.shown.iter().filter(|(_, visibility)| *visibility == Visibility::Summary);
        let shut: Vec<_> = shut.filter(|(tree, _)| tree.kind != Kind::Found || tree.skills > 0).collect();
        let opens = shut.iter().any(|(tree, _)| forest.has_more(tree));
        let reads = shut.iter().any(|(tree, _)| !forest.has_more(tree));
        prop_assert_eq!(rendered.tool("open_sections").is_some(), opens);
        prop_assert_eq!(rendered.tool("read_section").is_some(), reads);
        prop_assert_eq!(count(&rendered.text, "is summarized."), shut.len());
        for (tree, _) in shut {
            let tool = if forest.has_more(tree) { "open_sections" } else { "read_section" };
            let line = format!("`{tool}` with key \"{}\"", tree.path);
            prop_assert_eq!(count(&rendered.text, &line), 1, "{}", rendered.text);
        }
    }

    #[test]
    fn what_is_disabled_takes_everything_along_and_moves_nothing(forest in forest(), installs: bool) {
        let rendering = forest.prompt().rendering().install_skills(installs);
        let rendered = rendering.render(&forest.session()).unwrap();
        let on = Forest { off: BTreeSet::new(), ..forest.clone() };
        let with_all = rendering.render(&on.session()).unwrap().text;
        for line in rendered.text.lines().filter(|line| line.starts_with("## ")) {
            // A heading above nothing may be gone, and none is another.
            prop_assert!(with_all.lines().any(|other| other == line), "{}", line);
        }
        for gone in forest.all().into_iter().filter(|tree| !forest.is_enabled(tree)).flat_map(|tree| tree.all()) {
            let marks = [gone.body(), gone.summary(), gone.heading()];
            prop_assert!(marks.iter().all(|mark| !rendered.text.contains(mark)), "{}", rendered.text);
            prop_assert!(gone.tool_names().iter().all(|name| rendered.tool(name).is_none() && !rendered.text.contains(name)));
            prop_assert!(rendered.skills.iter().all(|skill| skill.section != path(&gone.path)));
            for skill in &rendered.skills {
                let is_in = matches!(skill.mount.source(), MountSource::SkillMd(text) if text.contains(&gone.body()));
                prop_assert!(!is_in, "{}", skill.name);
            }
        }
    }

    #[test]
    fn every_skill_is_installed_or_in_the_text_and_never_both(forest in forest()) {
        let rendering = forest.prompt().rendering().install_skills(true);
        let rendered = rendering.render(&forest.session()).unwrap();
        prop_assert!(rendered.warnings.is_empty());
        for tree in forest.all().into_iter().filter(|tree| tree.kind == Kind::Skill) {
            let is_shown = rendered.sections.iter().any(|section| section.path.as_str() == tree.path);
            let installed = rendered.skills.iter().find(|skill| skill.section.as_str() == tree.path && skill.kind == SkillKind::Inline);
            prop_assert!(!(is_shown && installed.is_some()));
            if let Some(skill) = installed {
                let MountSource::SkillMd(text) = skill.mount.source() else { return Err(TestCaseError::fail("no text")) };
                let below = forest.enabled(tree);
                prop_assert!(below.iter().all(|part| part.tools == 0), "tools are called through the session");
                prop_assert!(below.iter().filter(|part| part.kind != Kind::Found).all(|part| count(text, &part.body()) == 1));
                prop_assert!(tree.all().iter().all(|part| !rendered.text.contains(&part.heading())));
                let attached: Vec<_> = below.iter().flat_map(|part| part.skill_names()).collect();
                prop_assert!(attached.iter().all(|name| skill_names(&rendered).contains(&name.as_str())));
            }
        }
    }

    #[test]
    fn the_order_of_opening_does_not_matter(
        forest in forest(), chosen: u64, order in prop::collection::vec(any::<u16>(), 24), installs: bool,
    ) {
        let rendering = forest.prompt().rendering().install_skills(installs);
        let keys = some_keys(&forest, chosen);
        let mut shuffled: Vec<_> = keys.iter().copied().zip(order.iter().cycle()).collect();
        shuffled.sort_by_key(|(_, place)| **place);
        let shuffled: Vec<_> = shuffled.into_iter().map(|(key, _)| key).collect();
        let (mut in_order, mut another, mut at_once) = (forest.session(), forest.session(), forest.session());
        open_each(&rendering, &mut in_order, &keys)?;
        open_each(&rendering, &mut another, &shuffled)?;
        prop_assert_eq!(&in_order, &another);
        prop_assert_eq!(seen(&rendering.render(&in_order).unwrap()), seen(&rendering.render(&another).unwrap()));
        if !installs {
            if let Ok(expansion) = rendering.open_sections(&at_once, &open(&shuffled)) {
                apply(&mut at_once, expansion);
            }
            prop_assert_eq!(&in_order, &at_once);
            let rendered = rendering.render(&in_order).unwrap();
            let open_now = rendered.sections.iter().filter(|section| section.visibility == Visibility::Full);
            let open_now: BTreeSet<_> = open_now.map(|section| section.path.as_str()).collect();
            prop_assert!(keys.iter().all(|key| open_now.contains(key)), "what was opened is there");
        }
    }

    #[test]
    fn opening_what_is_offered_comes_to_an_end_with_everything_shown(forest in forest(), picks in prop::collection::vec(any::<prop::sample::Index>(), 32)) {
        let rendering = forest.prompt().rendering();
        let mut session = forest.session();
        for pick in picks.iter().cycle().take(200) {
            let rendered = rendering.render(&session).unwrap();
            let shut: Vec<_> = rendered.sections.iter().filter(|section| section.visibility == Visibility::Summary).collect();
            if shut.is_empty() {
                break;
            }
            let expansion = rendering.open_sections(&session, &open(&[pick.get(&shut).path.as_str()])).unwrap();
            prop_assert_eq!(expansion.overrides.len(), 1, "nothing above what is shown is hidden");
            apply(&mut session, expansion);
        }
        let rendered = rendering.render(&session).unwrap();
        prop_assert!(!rendered.text.contains("summarized") && rendered.tools.iter().all(|tool| !tool.is_disclosure()));
        let there: Vec<_> = forest.trees.iter().flat_map(|tree| forest.enabled(tree)).collect();
        prop_assert_eq!(rendered.sections.len(), there.len());
        for tree in there {
            let bodies = if tree.kind == Kind::Found { tree.skills } else { 1 };
            prop_assert_eq!(count(&rendered.text, &tree.body()), bodies);
        }
    }

    #[test]
    fn reading_is_opening_without_doing_it(forest in forest()) {
        let rendering = forest.prompt().rendering();
        let session = forest.session();
        for (tree, visibility) in forest.expected().shown {
            match rendering.read_section(&session, &read(&tree.path)) {
                Ok(content) => {
                    prop_assert!(visibility == Visibility::Summary && !forest.has_more(tree));
                    let mut other = session.clone();
                    open_each(&rendering, &mut other, &[&tree.path])?;
                    let text = rendering.render(&other).unwrap().text;
                    let content = content.split_once(":\n\n").map(|(_, content)| content).unwrap_or_default();
                    prop_assert!(text.contains(content), "{}\n---\n{}", content, text);
                }
                Err(DisclosureError::NotSummarized(_)) => prop_assert_eq!(visibility, Visibility::Full),
                Err(error) => prop_assert_eq!(error, DisclosureError::MustBeOpened(path(&tree.path))),
            }
        }
        prop_assert_eq!(session, forest.session());
    }

    #[test]
    fn whatever_is_asked_for_nothing_breaks_and_nothing_changes(
        forest in forest(), installs: bool,
        keys in prop::collection::vec(prop_oneof![".{0,40}", "k[0-9](\\.k[0-9]{1,2}){0,4}", "[ kK0-9.]{0,12}"], 0..4),
        reason in ".{0,40}",
    ) {
        let rendering = forest.prompt().rendering().install_skills(installs);
        let session = forest.session();
        let before = seen(&rendering.render(&session).unwrap());
        for section_key in &keys {
            if let Err(error) = rendering.read_section(&session, &ReadSection { section_key: section_key.clone() }) {
                let words = error.to_string();
                prop_assert!(words.chars().count() < 400 && !words.contains('\n'), "{}", words);
            }
        }
        match rendering.open_sections(&session, &OpenSections { section_keys: keys.clone(), reason }) {
            Ok(expansion) => prop_assert!(!expansion.overrides.is_empty()),
            Err(error) => prop_assert!(!error.code().starts_with("prompt-"), "{}", error),
        }
        prop_assert_eq!(&session, &forest.session());
        prop_assert_eq!(before, seen(&rendering.render(&session).unwrap()));
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Two {
    a: String,
    b: String,
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_template_fails_to_build_or_renders_with_values_as_they_are(
        body in prop_oneof!["[ a-c${}\n\t]{0,40}", "( |\n|x|\\$a|\\$b|\\$\\{a\\}|\\$\\{b\\}|\\$\\$|é){0,12}", ".{0,30}"],
        a in "[ab${} é]{0,8}", b in "[ab${} é]{0,8}", as_summary: bool,
    ) {
        let section = Section::new("s", "S").params::<Two>();
        let section = if as_summary {
            section.body("x").summary(&body).visibility(Visibility::Summary)
        } else {
            section.body(&body)
        };
        let Ok(prompt) = build_one(section) else { return Ok(()) };
        // Marks that stand nowhere else show where the values go.
        let marks = Two { a: "\u{e000}".to_owned(), b: "\u{e001}".to_owned() };
        let marked = prompt.with(marks).render(&session()).unwrap().text;
        prop_assume!(!body.contains(['\u{e000}', '\u{e001}']));
        let text = prompt.with(Two { a: a.clone(), b: b.clone() }).render(&session()).unwrap().text;
        let part = |text: &str| {
            let text = text.strip_prefix("## 1. S (s)").unwrap_or_default();
            text.rsplit_once("---\n[").map_or(text, |(summary, _)| summary).trim().to_owned()
        };
        let wanted: String = part(&marked).chars().map(|c| match c {
            '\u{e000}' => a.clone(),
            '\u{e001}' => b.clone(),
            other => other.to_string(),
        }).collect();
        prop_assert_eq!(part(&text), wanted.trim());
        if !body.contains('$') {
            let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
            prop_assert_eq!(lines(part(&text).trim()), lines(body.trim()), "without placeholders it is what it was");
        }
    }

    #[test]
    fn a_list_keeps_its_budget_and_says_what_is_missing(
        skills in prop::collection::vec(("[a-z]{1,20}", prop::option::of(".{0,300}")), 1..30),
        budget in 0..1500_usize, by_tool: bool,
        format in prop::sample::select(vec![ListFormat::Xml, ListFormat::Markdown, ListFormat::Json]),
    ) {
        let found = skills.iter().enumerate().map(|(number, (name, description))| DiscoveredSkill {
            name: format!("{name}-{number}"),
            description: description.clone(),
            skill_md: format!("/s/{number}/SKILL.md").into(),
        });
        let mut section = AgentSkillsSection::new(found).format(format).budget(budget);
        if by_tool {
            section = section.activation_tool("load_skill");
        }
        let rendered = one(section).render(&session()).unwrap();
        let list = rendered.text.split_once("\n\n").map(|(_, list)| list).unwrap_or_default();
        prop_assert!(tokens(list.len()) <= budget, "{} > {budget}", tokens(list.len()));
        let omitted = rendered.sections[0].omitted;
        if list.is_empty() {
            prop_assert_eq!(omitted, skills.len());
        } else if omitted > 0 {
            let words = if omitted == skills.len() { " skill" } else { " more" };
            prop_assert!(list.contains(&format!("{omitted}{words}")), "{}", list);
        }
        if !by_tool {
            prop_assert_eq!(count(list, "/SKILL.md") + omitted, skills.len());
        }
    }

    #[test]
    fn names_keep_their_budget_and_say_how_many_are_missing(
        names in prop::collection::vec("[a-z]{1,40}", 1..30), budget in 0..300_usize,
    ) {
        let found = names.iter().map(|name| DiscoveredSkill {
            name: name.clone(), description: None, skill_md: "/s/SKILL.md".into(),
        });
        let section = AgentSkillsSection::new(found).budget(budget).visibility(Visibility::Summary);
        let text = one(section).render(&session()).unwrap().text;
        let line = text.lines().nth(2).unwrap_or_default();
        let listed = line.strip_prefix("Skills: ").unwrap_or_default();
        let (listed, missing) = match listed.rsplit_once(", and ") {
            Some((listed, more)) => (listed, more.strip_suffix(" more").unwrap_or_default().parse().unwrap()),
            None => (listed, 0),
        };
        if line == format!("{} skills", names.len()) {
            prop_assert!(listed.is_empty());
        } else {
            prop_assert!(line.len() <= budget * 4, "{}", line);
            let listed: Vec<_> = listed.split(", ").collect();
            prop_assert_eq!(&listed[..], &names[..listed.len()]);
            prop_assert_eq!(listed.len() + missing, names.len());
        }
    }
}
