//! The text that names skills which fit a prompt, for the hook that runs when a person sends one.

use metier_skill::{tokens, visible_name};

const INTRO: &str = "Skills that may fit this request; load one only if it does:";

/// The text for a model: a line per skill, the best first, as long as they fit into a budget of tokens. `None` if no skill fits
/// the prompt, or none the budget.
///
/// Each skill is its name and its description. A description stays on one line and without invisible characters.
///
/// ```
/// use metier_guard::suggestion;
///
/// let ranked = [("pdf", "Fills in forms."), ("ocr", "Reads text\nin pictures.")];
/// let text = suggestion(ranked, 100).unwrap();
/// assert!(text.ends_with("\n- pdf: Fills in forms.\n- ocr: Reads text in pictures.\n"));
/// assert!(!suggestion(ranked, 25).unwrap().contains("ocr"));
/// assert_eq!(suggestion([], 100), None);
/// ```
pub fn suggestion<'a>(ranked: impl IntoIterator<Item = (&'a str, &'a str)>, budget: usize) -> Option<String> {
    let mut text = format!("{INTRO}\n");
    let empty = text.len();
    for (name, description) in ranked {
        let words: Vec<&str> = description.split_whitespace().collect();
        let line = format!("- {}: {}\n", visible_name(name), visible_name(&words.join(" ")));
        // The ones behind it fit worse; leaving out only this one would name them as if they were better.
        if tokens(text.len() + line.len()) > budget {
            break;
        }
        text.push_str(&line);
    }
    (text.len() > empty).then_some(text)
}
