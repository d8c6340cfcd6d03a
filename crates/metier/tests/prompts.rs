//! The examples in `examples/prompts`, each run as its documentation says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn skills() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skills").canonicalize().unwrap()
}

fn output(example: &str, arguments: &[&Path]) -> String {
    let path = std::env::current_exe().unwrap().parent().unwrap().join("../examples").join(example);
    let output = Command::new(path).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn shown(example: &str, arguments: &[&Path]) -> String {
    let text = output(example, arguments);
    let text = text.replace(skills().to_str().unwrap(), "[skills]");
    insta::assert_snapshot!(example, text);
    text
}

#[test]
fn skills_without_tools_are_installed_and_not_in_the_text() {
    let text = shown("native_skills", &[]);
    let (prompt, installed) = text.split_once("==>").unwrap();
    assert!(prompt.contains("Review the Python code") && !prompt.contains("Workflow"));
    assert!(installed.contains("code-review/SKILL.md\n---\nname: code-review\n"));
    assert!(installed.contains(".claude/skills/refactoring/SKILL.md"));
}

#[test]
fn a_skill_with_tools_is_opened_and_brings_them() {
    let text = shown("skill_with_tools", &[]);
    let (before, after) = text.split_once("model: open_sections").unwrap();
    assert!(before.contains("[Skill: linting]") && before.contains("access tools: lint_code."));
    assert!(!before.contains("changed files first") && after.contains("changed files first"));
    assert!(text.ends_with("Found 5 issues, fixed 3\n"));
}

#[test]
fn mixed_skills_go_where_they_belong() {
    let text = shown("mixed_skills", &[]);
    let (isolated, without) = text.split_once("installed: architecture\n").unwrap();
    assert!(isolated.contains("[Skill: testing]") && !isolated.contains("architecture"));
    assert!(without.contains("[Skill: architecture]") && without.contains("warning: "));
}

#[test]
fn references_are_copied_and_those_that_are_off_are_not_looked_at() {
    let text = shown("referenced_skills", &[&skills()]);
    assert!(text.contains("copied: incident-review -> .claude/skills/incident-review"));
    assert!(text.contains("copied: commit-message") && !text.contains("compliance"));
    let path = std::env::current_exe().unwrap().parent().unwrap().join("../examples/referenced_skills");
    let output = Command::new(path).arg(skills()).arg("compliance").output().unwrap();
    assert!(!output.status.success(), "what is switched on has to be there");
    assert!(String::from_utf8_lossy(&output.stderr).contains("/opt/skills/compliance"));
}

#[test]
fn all_kinds_of_skills_fit_into_one_section() {
    let text = shown("inline_and_referenced_skills", &[&skills()]);
    assert!(text.contains("[Skill: testing]"));
    assert!(text.ends_with("release-notes: Referenced\nnaming: Inline\n"));
}

#[test]
fn skills_are_there_by_params_by_session_and_by_name() {
    let text = output("conditional_skills", &[]);
    assert_eq!(
        text,
        "python: python-review, security\ntypescript: typescript-review, security\n\
         python, urgent: python-review, security, urgent\nonly security: security\n"
    );
}

#[test]
fn skills_of_a_directory_are_listed_and_mounted() {
    let text = shown("discovered_skills", &[&skills()]);
    assert!(text.contains("<location>skills/incident-review/SKILL.md</location>"));
    assert!(!text.contains("commit-message"), "it was not allowed");
    assert!(text.contains("mounted: skills/release-notes"));
}

#[test]
fn several_directories_each_have_a_place() {
    let text = shown("several_directories", &[&skills(), &skills()]);
    assert!(text.contains("skills/org/commit-message/SKILL.md"));
    assert!(text.contains("skills/project/commit-message/SKILL.md"));
}

#[test]
fn what_fits_the_task_is_shown_and_the_rest_is_said_to_be_left_out() {
    let text = shown("filtered_skills", &[&skills()]);
    let (first, second) = text.split_once("task: say").unwrap();
    assert!(first.contains("<name>release-notes</name>") && !first.contains("<name>incident-review</name>"));
    assert!(
        second.contains("<name>incident-review</name>") && !second.contains("<name>release-notes</name>")
    );
    assert_eq!(text.matches("left out: 1").count(), 2);
}
