//! Finds similar names, for every "did you mean".

/// Longer texts are not misspelled names.
const LONGEST: usize = 64;

/// The maximum number of suggestions.
const MOST: usize = 3;

/// The names that a misspelled text may have meant, most similar first, at most three: names that differ by one
/// or two letters, otherwise names that start with the text.
///
/// ```
/// use metier_skill::nearest_names;
///
/// assert_eq!(nearest_names("pfd", ["commit", "pdf"]), ["pdf"]);
/// assert_eq!(nearest_names("comm", ["commit-message", "pdf"]), ["commit-message"]);
/// assert!(nearest_names("x", ["pdf"]).is_empty());
/// ```
pub fn nearest_names<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if text.is_empty() || text.len() > LONGEST {
        return Vec::new();
    }
    let wanted = text.to_lowercase();
    // With only two letters, changing both gives an unrelated word.
    let most = if wanted.chars().count() < 3 { 1 } else { 2 };
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let known = name.to_lowercase();
            let far = strsim::osa_distance(&wanted, &known);
            let begins = wanted.len() > 2 && known.starts_with(&wanted);
            match (far <= most && far < known.chars().count(), begins) {
                (true, _) => Some((far, name)),
                (_, true) => Some((most + 1, name)),
                _ => None,
            }
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// The end of a message about an unknown name: `` ; did you mean `pdf`? ``. If no name is similar, it is the
/// advice `otherwise`.
pub fn did_you_mean(near: &[impl AsRef<str>], otherwise: &str) -> String {
    let near: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    match (near.as_slice(), otherwise) {
        ([], "") => String::new(),
        ([], otherwise) => format!("; {otherwise}"),
        (near, _) => format!("; did you mean `{}`?", near.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_meant_are_offered_and_others_are_not() {
        let names = ["commit-message", "pdf", "pdf-forms", "release-notes", "Ab"];
        for (text, meant) in [
            ("comit-mesage", &["commit-message"][..]),
            ("PDF", &["pdf", "pdf-forms"]),
            ("pdf-from", &["pdf-forms"]),
            ("release", &["release-notes"]),
            ("fdp", &["pdf"]),
            ("ba", &["Ab"]),
            ("xy", &[]),
            ("", &[]),
            ("nothing-like-it", &[]),
        ] {
            assert_eq!(nearest_names(text, names), meant, "{text}");
        }
        assert!(nearest_names(&"p".repeat(65), names).is_empty());
    }

    #[test]
    fn what_may_have_been_meant_is_asked() {
        assert_eq!(did_you_mean(&["pdf", "odf"], "look"), "; did you mean `pdf`, `odf`?");
        assert_eq!(did_you_mean(&[""; 0], "look"), "; look");
        assert_eq!(did_you_mean(&[""; 0], ""), "");
    }
}
