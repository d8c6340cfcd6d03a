//! Files of the workspace as a section: what the model is told, and what is to be copied.

use metier_prompt::{HostMount, PromptError, RenderedPrompt, Visibility, WorkspaceSection};
use metier_skill::Coded as _;

use crate::common::{build_one, one, open, opened, prompt, session, text};

fn files() -> WorkspaceSection {
    let mut repo = HostMount::new("/srv/app").mounted_at("repo");
    (repo.include, repo.exclude) = (vec!["**/*.rs".to_owned()], vec!["target".to_owned(), "*.md".to_owned()]);
    WorkspaceSection::new([repo, HostMount::new("/srv/form.pdf")]).allowed_roots(["/srv"])
}

fn mounted(rendered: &RenderedPrompt) -> Vec<String> {
    rendered.workspace.mounts.iter().map(|mount| mount.target().display().to_string()).collect()
}

#[test]
fn the_model_is_told_what_is_in_its_directory_and_not_where_it_comes_from() {
    let expected = "## 1. Workspace (workspace)\n\nYour working directory contains copies of these files and \
                    directories:\n\n- `repo`, only `**/*.rs`, without `target`, `*.md`\n- `form.pdf`";
    assert_eq!(text(&one(files())), expected);
    let rendered = one(files().body("Work on the repository.")).render(&session()).unwrap();
    assert!(rendered.text.contains("Work on the repository.\n\nYour working directory"), "{}", rendered.text);
    assert_eq!(mounted(&rendered), ["repo", "form.pdf"]);
    assert_eq!(rendered.workspace.allowed_roots, [std::path::Path::new("/srv")]);
}

#[test]
fn a_summary_has_the_names_and_opening_it_brings_the_files() {
    let prompt = one(files().visibility(Visibility::Summary));
    let rendered = prompt.render(&session()).unwrap();
    assert!(rendered.text.contains("\n\nFiles: `repo`, `form.pdf`\n\n---\n"), "{}", rendered.text);
    assert!(rendered.workspace.mounts.is_empty(), "they are not copied before the section is open");
    let mut now = session();
    opened(&prompt.rendering(), &mut now, &["workspace"]);
    assert_eq!(mounted(&prompt.render(&now).unwrap()), ["repo", "form.pdf"]);
    assert!(prompt.rendering().open_sections(&now, &open(&["workspace"])).is_err());
}

#[test]
fn several_sections_add_up_and_an_empty_one_is_nothing() {
    let more = WorkspaceSection::new([HostMount::new("/data/in.csv")]).key("more").allowed_roots(["/data"]);
    let nothing = WorkspaceSection::new([]).key("nothing");
    let rendered = prompt([files().into(), more.into(), nothing.into()]).render(&session()).unwrap();
    assert_eq!(mounted(&rendered), ["repo", "form.pdf", "in.csv"]);
    assert_eq!(rendered.workspace.allowed_roots.len(), 2);
    assert!(!rendered.text.contains("nothing"), "{}", rendered.text);
    let off = one(files().enabled(|_, _| false)).render(&session()).unwrap();
    assert!(off.workspace.mounts.is_empty());
}

#[test]
fn what_can_be_known_is_checked_when_the_prompt_is_built() {
    let at = |path: &str| WorkspaceSection::new([HostMount::new("/srv/app").mounted_at(path)]);
    assert!(build_one(at(".")).is_ok(), "the whole directory");
    for path in ["../up", "/etc", "a/../b", ""] {
        assert_eq!(build_one(at(path)).unwrap_err().code(), "prompt-mount-path", "{path}");
    }
    assert_eq!(
        build_one(WorkspaceSection::new([HostMount::new("/")])).unwrap_err().code(),
        "prompt-mount-path"
    );
    let mut wrong = HostMount::new("/srv/app");
    wrong.exclude = vec!["[a".to_owned()];
    let error = build_one(WorkspaceSection::new([wrong])).unwrap_err();
    assert!(matches!(error, PromptError::Pattern { ref pattern, .. } if pattern == "[a"), "{error}");
}
