//! What a person, a model and a shell's reader take for invisible is one list.

use metier_policy::{Access, Action, Allowlist, Anchors, Question, Request, ToolCall};
use metier_skill::{Digest, Tier, ToolRules, escape_xml, is_invisible};

/// Every invisible character and its neighbours, and some of all others.
fn characters() -> impl Iterator<Item = char> {
    let is_near = |c: char| {
        let near = [-1_i64, 0, 1].map(|by| u32::try_from(i64::from(u32::from(c)) + by).ok());
        near.into_iter().flatten().filter_map(char::from_u32).any(is_invisible)
    };
    ('\0'..=char::MAX).filter(move |c| u32::from(*c) % 64 == 3 || is_near(*c))
}

#[test]
fn a_question_shows_every_character_of_a_script_or_something_in_its_place() {
    for c in characters().filter(|c| *c != '`') {
        let script = format!("a{c}b");
        let action = Action::Run { script: &script };
        let request = Request::new(Tier::User, "x", Digest::of(b""), action);
        let text = Question::new(&request, Access::Scripts, "").sentence();
        let is_shown = !is_invisible(c) && !matches!(c, '\n' | '\t');
        assert_eq!(text.contains(&script), is_shown, "{c:?}: {text}");
        assert_eq!(text.contains("a\u{fffd}b"), !is_shown || c == '\u{fffd}', "{c:?}: {text}");
    }
}

#[test]
fn no_word_outside_quotes_has_what_nobody_sees() {
    let list = Allowlist::new(&ToolRules::split("Bash(echo *)"), &Anchors::new("/repo", "/me"));
    assert!(is_invisible('\u{2800}'), "a Braille pattern without dots is a blank to the eye");
    for c in characters().filter(|c| !c.is_ascii()) {
        let is_allowed = list.find(&ToolCall::new("Bash", format!("echo a{c}b"))).is_ok();
        assert_eq!(is_allowed, !is_invisible(c) && !c.is_whitespace(), "{c:?}");
    }
}

#[test]
fn a_model_sees_what_a_person_sees() {
    for c in characters().filter(|c| !"&<>\"'".contains(*c)) {
        assert_eq!(escape_xml(&format!("a{c}b")).contains(c), !is_invisible(c), "{c:?}");
        assert_eq!(metier_skill::visible(&format!("a{c}b")).contains(c), !is_invisible(c), "{c:?}");
    }
}
