//! Every form that a prompt takes, as a model and a person read it.

use metier_prompt::{
    AgentSkillsSection, AnySection, DiscoveredSkill, EnabledSkills, InlineSkill, ListFormat, MountSource,
    Prompt, RenderedPrompt, Rendering, Section, SectionPath, SessionView, SkillMount, SkillRef,
    SkillsSection, Tool, Visibility,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::common::{Review, Shelf, one, open, opened, path, prompt, read, session, tool};

/// A rendering with all that is in it.
fn whole(rendered: &RenderedPrompt) -> String {
    let tools = rendered.tools.iter().map(|tool| {
        let section = tool.section.as_ref().map_or("every prompt", SectionPath::as_str);
        format!("{}, of {section}: {}", tool.tool.name(), tool.tool.description())
    });
    let skills = rendered.skills.iter().map(|skill| {
        let source = match skill.mount.source() {
            MountSource::Path(path) => format!("{}", path.display()),
            MountSource::SkillMd(text) => format!("the text\n{}", indented(text)),
            other => format!("{other:?}"),
        };
        let place = skill.mount_path.as_deref().map(|place| format!(" in {place}")).unwrap_or_default();
        format!("{} ({:?}), of {}{place}, from {source}", skill.name, skill.kind, skill.section)
    });
    let sections = rendered.sections.iter().map(|section| {
        let skill = section.skill.as_ref().map(|skill| format!(", skill {skill}")).unwrap_or_default();
        let cut = match (section.shortened, section.omitted) {
            (0, 0) => String::new(),
            (shortened, omitted) => format!(", {shortened} shortened, {omitted} left out"),
        };
        format!("{} {:?}, {} tokens{skill}{cut}", section.path, section.visibility, section.tokens)
    });
    let warnings = rendered.warnings.iter();
    let warnings =
        warnings.map(|warning| format!("{} {}: {}", warning.code, warning.target, warning.message));
    let mut lines = vec![format!("{}\n", rendered.text), "======== tools".to_owned()];
    lines.extend(tools);
    lines.push("======== skills".to_owned());
    lines.extend(skills);
    lines.push("======== sections".to_owned());
    lines.extend(sections);
    lines.push("======== warnings".to_owned());
    lines.extend(warnings);
    lines.join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    | {line}")).collect::<Vec<_>>().join("\n")
}

fn plainly(prompt: &Prompt) -> String {
    whole(&prompt.render(&session()).unwrap())
}

#[test]
fn nested_sections() {
    let rules = Section::new("rules", "Rules").body("Be brief.");
    let tone = Section::new("tone", "Tone")
        .body("Be kind.")
        .child(Section::new("words", "Words").body("Plain ones."));
    let task = Section::new("task", "Task").default_params(Review::of("Rust"));
    let task = task.body("Review the $language code.\n\n    let x = 1;");
    insta::assert_snapshot!("nested sections", plainly(&prompt([task.into(), rules.child(tone).into()])));
}

#[test]
fn summaries() {
    let shut = |key: &str| {
        let section = Section::new(key, key).body("Long text.").summary("What it is about.");
        section.visibility(Visibility::Summary)
    };
    let below = |key: &str| Section::new(key, key).body("More.");
    let all: [AnySection; 5] = [
        shut("alone").into(),
        shut("with-children").child(below("one")).child(below("two")).into(),
        shut("with-tools").tool(tool("lint")).into(),
        shut("with-skills").skill(SkillMount::new("skills/pdf")).into(),
        shut("with-tools-below").child(below("deep").tool(tool("dig"))).into(),
    ];
    insta::assert_snapshot!("summaries", plainly(&prompt(all)));
}

fn review() -> InlineSkill {
    let checks = Section::new("checks", "Checks").body("1. Names.\n2. Errors.").tool(tool("run_tests"));
    InlineSkill::new("code-review", "Reviews code before it is merged.")
        .title("Code review")
        .body("Read the diff first. Then call `lint_code`.")
        .tool(tool("lint_code"))
        .child(checks)
}

fn notes() -> InlineSkill {
    let example = Section::new("example", "Example").body("- Fixed: a crash.");
    InlineSkill::new("release-notes", "Writes release notes: what changed, and for whom.")
        .body("Write for users, not for programmers.")
        .child(example.summary("An example.").visibility(Visibility::Summary))
}

fn skills() -> Prompt {
    let section =
        SkillsSection::new().inline(review()).inline(notes()).reference(SkillRef::new("skills/pdf"));
    let shelf = Shelf::default().with("skills/pdf", "pdf", "# PDF\n\nCosts $5 a page.");
    Prompt::builder("tests", "skills").section(section).skill_reader(shelf).build().unwrap()
}

#[test]
fn inline_and_referenced_skills() {
    let rendering = skills().rendering();
    insta::assert_snapshot!("skills without a home", whole(&rendering.render(&session()).unwrap()));
    let mut open_now = session();
    opened(&rendering, &mut open_now, &["skills.code-review", "skills.pdf"]);
    insta::assert_snapshot!("skills opened", whole(&rendering.render(&open_now).unwrap()));
    let installed = rendering.clone().install_skills(true);
    insta::assert_snapshot!("skills installed", whole(&installed.render(&session()).unwrap()));
    let few = rendering.bind(EnabledSkills::only(["release-notes"])).render(&session()).unwrap();
    insta::assert_snapshot!("skills that are wanted", whole(&few));
}

fn found() -> Vec<DiscoveredSkill> {
    let skill = |name: &str, description: &str| DiscoveredSkill {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        skill_md: format!("/skills/{name}/SKILL.md").into(),
    };
    let long = "Turns tables of any kind into any other kind, with headers or without them, and says what was \
                lost on the way. Use it when a user sends a spreadsheet, a CSV file or a picture of a table.";
    vec![
        skill("pdf", "Reads <PDF> files & fills in \"forms\"."),
        skill("tables", long),
        skill("mail", "Writes mail that people read."),
        skill("deploy", "Puts a build on a server, and takes it back if the server does not like it at all."),
    ]
}

#[test]
fn found_skills() {
    for (name, format) in
        [("xml", ListFormat::Xml), ("markdown", ListFormat::Markdown), ("json", ListFormat::Json)]
    {
        let list = AgentSkillsSection::new(found()).format(format);
        insta::assert_snapshot!(format!("found skills {name}"), plainly(&one(list.clone())));
        insta::assert_snapshot!(format!("found skills {name} cut"), plainly(&one(list.clone().budget(180))));
        insta::assert_snapshot!(
            format!("found skills {name} left out"),
            plainly(&one(list.clone().budget(110)))
        );
    }
    let list = AgentSkillsSection::new(found());
    let mounted = list.clone().body("Prefer these to your own ideas.").mount_path(".agent/skills");
    insta::assert_snapshot!("found skills mounted", plainly(&one(mounted)));
    let loaded = list.clone().activation_tool("activate_skill");
    insta::assert_snapshot!("found skills by a tool", plainly(&one(loaded)));
    let names = list.visibility(Visibility::Summary);
    insta::assert_snapshot!("found skills as names", plainly(&one(names.clone())));
    insta::assert_snapshot!("found skills as names cut", plainly(&one(names.budget(16))));
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Search {
    /// What to look for.
    query: String,
    /// Where to look; everywhere by default.
    #[serde(default)]
    scope: Option<Scope>,
    /// How many answers.
    #[serde(default = "ten")]
    limit: u8,
    order: Order,
}

fn ten() -> u8 {
    10
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Scope {
    /// Directories, from the root of the workspace.
    directories: Vec<String>,
    hidden: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    BestFirst,
    NewestFirst,
}

#[test]
fn schemas() {
    let shut = Section::new("a", "A").body("Long.").summary("Short.").visibility(Visibility::Summary);
    let both = prompt([shut.clone().into(), shut.key("b").tool(tool("lint")).into()]);
    let rendered = both.render(&session()).unwrap();
    for own in ["open_sections", "read_section"] {
        let tool = &rendered.tool(own).unwrap().tool;
        let schema = serde_json::to_string_pretty(tool.parameters()).unwrap();
        insta::assert_snapshot!(format!("tool {own}"), format!("{}\n\n{schema}", tool.description()));
    }
    let search = Tool::declared::<Search>("search", "Searches the workspace");
    insta::assert_snapshot!("tool nested", serde_json::to_string_pretty(search.parameters()).unwrap());
}

#[test]
fn answers_of_the_two_tools() {
    let child = Section::new("child", "Child").body("Below.");
    let style = Section::new("style", "Style").body("No tabs.").summary("How to write.").child(child);
    let prompt = prompt([review().into(), style.visibility(Visibility::Summary).into()]);
    let rendering = prompt.rendering();
    let expansion = rendering.open_sections(&session(), &open(&["code-review", "style"])).unwrap();
    let record = serde_json::to_string_pretty(&expansion).unwrap();
    insta::assert_snapshot!("answer of open_sections", format!("{expansion}\n\n{record}"));
    let content = rendering.read_section(&session(), &read("style")).unwrap();
    insta::assert_snapshot!("answer of read_section", content);
}

/// A prompt with everything in it, for a person to read.
fn everything() -> Rendering {
    let task = Section::new("task", "Task").params::<Review>();
    let task = task.body(
        "
        Review the change that the user names, in $language.
        It may cost up to $$$depth.
        ",
    );
    let rules = Section::new("rules", "Rules").body("Say what is wrong, where, and what to do about it.");
    let rules = rules
        .child(Section::new("tone", "Tone").body("Be kind."))
        .child(Section::new("night", "At night").body("Be quiet.").enabled(|_, _| false))
        .child(Section::new("words", "Words").body("Use plain ones."));
    let reference =
        Section::new("reference", "Reference").body("The whole reference.").summary("The reference.");
    let reference = reference.child(Section::new("tables", "Tables").body("The tables."));
    let files =
        Section::new("files", "Files").body("Read and write files.").summary("Reading and writing files.");
    let files =
        files.tool(tool("read_file")).tool(tool("write_file")).skill(SkillMount::new("skills/editing"));
    let shell = Section::new("shell", "Shell").body("Run commands with care.").tool(tool("run"));
    let shell = shell.skill(SkillMount::new("skills/bash/SKILL.md"));
    let written = SkillsSection::new().title("Skills of this task").body("Open one when it fits.");
    let written = written.inline(review()).inline(notes()).reference(SkillRef::new("skills/pdf"));
    let list = AgentSkillsSection::new(found()).mount_path(".agent/skills").deny(["deploy"]).budget(170);
    let more = AgentSkillsSection::new(found()).key("team-skills").title("Skills of the team");
    let more = more.visibility(Visibility::Summary).allow(["deploy", "mail"]);
    let prompt = Prompt::builder("tests", "everything")
        .section(task)
        .section(rules)
        .section(reference.visibility(Visibility::Summary))
        .section(files.visibility(Visibility::Summary))
        .section(shell)
        .section(written)
        .section(list)
        .section(more)
        .skill_reader(Shelf::default().with("skills/pdf", "pdf", "# PDF\n\nCosts $5 a page."));
    prompt.build().unwrap().with(Review { depth: 5, ..Review::of("Rust") })
}

#[test]
fn everything_at_once() {
    let rendering = everything().install_skills(true);
    insta::assert_snapshot!("everything", whole(&rendering.render(&session()).unwrap()));
    let mut later = SessionView { task: Some("review".to_owned()), ..session() };
    opened(&rendering, &mut later, &["files", "skills.code-review", "team-skills"]);
    later.state.set_visibility(path("reference"), Visibility::Full);
    insta::assert_snapshot!("everything opened", whole(&rendering.render(&later).unwrap()));
    insta::assert_snapshot!("everything without a home", whole(&everything().render(&session()).unwrap()));
}
