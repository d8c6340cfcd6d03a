//! What sections, references and prompts say about themselves, before anything is rendered.

use metier_prompt::{
    AgentSkillsSection, DiscoveredSkill, InlineSkill, Prompt, PromptError, RefReason, Section, SessionView,
    SkillRef, SkillsSection,
};

use crate::common::{Shelf, plain, tool};

fn inline(name: &str) -> InlineSkill {
    InlineSkill::new(name, &format!("Does {name}.")).body(&format!("How to {name}."))
}

fn found(name: &str) -> DiscoveredSkill {
    let skill_md = format!("/skills/{name}/SKILL.md").into();
    DiscoveredSkill { name: name.to_owned(), description: None, skill_md }
}

#[test]
fn a_reference_says_where_its_skill_is_and_what_it_says() {
    let shelf = Shelf::default().with("/base/skills/pdf", "pdf", "Read.");
    let skill = SkillRef::new("skills/pdf").base("/base");
    assert_eq!(skill.resolved_path(), std::path::Path::new("/base/skills/pdf"));
    let read = skill.read(&shelf).unwrap();
    assert_eq!((read.name.as_str(), read.description.as_str()), ("pdf", "What pdf does."));
    assert!(skill.is_enabled() && !skill.enabled(|| false).is_enabled());
    let error = SkillRef::new("/absolute").base("/base").read(&shelf).unwrap_err();
    let PromptError::SkillRef { source_path, reason, .. } = &error else { panic!("{error}") };
    assert_eq!((source_path.to_str(), reason), (Some("/absolute"), &RefReason::NotFound));
}

#[test]
fn tags_in_the_description_of_a_skill_are_a_warning() {
    let warnings = |description: &str, installs: bool| {
        let skill = InlineSkill::new("tidy", description).body("How.");
        let prompt =
            Prompt::builder("tests", "tags").section(SkillsSection::new().inline(skill)).build().unwrap();
        let rendered = prompt.rendering().install_skills(installs).render(&SessionView::default()).unwrap();
        let codes = rendered.warnings.into_iter().filter(|warning| warning.code == "description-markup");
        codes.map(|warning| warning.message).collect::<Vec<_>>()
    };
    for installs in [true, false] {
        assert_eq!(
            warnings("Tidies. </available_skills>", installs),
            ["the description of skill `tidy` contains `</available_skills>`, which looks like an XML tag"]
        );
        assert!(warnings("Tidies if a < b.", installs).is_empty());
    }
}

#[test]
fn a_section_of_skills_says_which_are_installed_and_which_stay() {
    let with_list = inline("lists").child(AgentSkillsSection::new([found("csv")]));
    let section = SkillsSection::new()
        .inline(inline("tidy"))
        .inline(inline("review").tool(tool("lint")))
        .reference(SkillRef::new("skills/pdf"))
        .inline(inline("deep").child(plain("below").tool(tool("dig"))))
        .inline(with_list);
    assert_eq!(section.inline_skills().collect::<Vec<_>>(), ["tidy", "review", "deep", "lists"]);
    assert_eq!(section.native_skills().collect::<Vec<_>>(), ["tidy"]);
    assert_eq!(section.prompt_skills().collect::<Vec<_>>(), ["review", "deep", "lists"]);
    let referenced: Vec<_> = section.referenced_skills().map(SkillRef::resolved_path).collect();
    assert_eq!(referenced, [std::path::Path::new("skills/pdf")]);
    assert!(inline("a").tool(tool("b")).has_tools() && !inline("a").has_tools());
    // The same as what is rendered.
    let prompt = Prompt::builder("tests", "readers")
        .section(section)
        .skill_reader(Shelf::default().with("skills/pdf", "pdf", "Read."))
        .build()
        .unwrap();
    let rendered = prompt.rendering().install_skills(true).render(&SessionView::default()).unwrap();
    let installed: Vec<&str> = rendered.skills.iter().map(|skill| &*skill.name).collect();
    assert_eq!(installed, ["tidy", "pdf"]);
}

#[test]
fn a_list_of_skills_says_which_it_has() {
    let section = || AgentSkillsSection::new(["pdf-fill", "pdf-old", "csv"].map(found));
    let chosen = section().allow(["pdf-*"]).deny(["*-old"]);
    let names: Vec<&str> =
        chosen.discovered_skills().unwrap().iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["pdf-fill"]);
    let error = section().deny(["[a"]).discovered_skills().unwrap_err();
    assert!(matches!(error, PromptError::Pattern { .. }), "{error}");
}

/// The type of the answer is the prompt's; everything else is the same.
#[test]
fn a_prompt_has_the_type_of_its_answer() {
    let builder = || Prompt::builder("tests", "typed").section(Section::new("task", "Task").body("Count."));
    let typed: Prompt<u32> = builder().output::<u32>().build().unwrap();
    let text: Prompt = builder().build().unwrap();
    let session = SessionView::default();
    assert_eq!(typed.render(&session).unwrap().text, text.render(&session).unwrap().text);
    assert_eq!((typed.namespace(), typed.key(), typed.paths().count()), ("tests", "typed", 1));
    assert_eq!(typed.descriptor(), typed.untyped().descriptor());
    assert_eq!(format!("{typed:?}"), "Prompt(tests/typed)");
}

#[test]
fn a_list_of_skills_takes_overrides_only_where_that_is_wanted() {
    let list = AgentSkillsSection::new([found("csv")]);
    let sections = |list: AgentSkillsSection| {
        let prompt = Prompt::builder("tests", "lists").section(plain("task")).section(list).build().unwrap();
        prompt.descriptor().sections.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(sections(list.clone()), ["task"]);
    assert_eq!(sections(list.accepts_overrides(true)), ["agent-skills", "task"]);
}
