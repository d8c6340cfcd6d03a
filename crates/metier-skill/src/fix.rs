//! Applies the fixes that findings carry.

use std::collections::BTreeMap;

use crate::{Diagnostic, Edit};

/// The text with the fixes of `diagnostics` applied, and how many were; nothing else changes.
///
/// Where two fixes touch the same bytes, the first is applied. Mending one finding can show another, so
/// callers read again and repeat until nothing is left to apply.
///
/// ```
/// use metier_skill::{Origin, Rules, apply_fixes, read};
///
/// let text = "---\nname: 123\ndescription: Use when counting.\n---\nCount.\n";
/// let reading = read(text, Origin::directory("123"), &Rules::standard());
/// let (mended, count) = apply_fixes(text, &reading.diagnostics);
///
/// assert_eq!(count, 1);
/// assert!(mended.contains("name: \"123\"\n"));
/// ```
pub fn apply_fixes(text: &str, diagnostics: &[Diagnostic]) -> (String, usize) {
    // By where they begin, so that neighbours are found without looking at all.
    let mut edits: BTreeMap<usize, &Edit> = BTreeMap::new();
    let mut count = 0;
    for fix in diagnostics.iter().filter_map(|found| found.fix.as_ref()) {
        let fits = |edit: &Edit| text.get(edit.span.range()).is_some() && is_free(&edits, edit);
        if fix.edits.iter().all(fits) {
            edits.extend(fix.edits.iter().map(|edit| (edit.span.start, edit)));
            count += 1;
        }
    }
    (spliced(text, 0, edits.into_values()), count)
}

/// The text with the edits made, which are in order and apart. Their spans are those in `text`, moved by `base`.
pub(crate) fn spliced<'a>(text: &str, base: usize, edits: impl IntoIterator<Item = &'a Edit>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        out.push_str(&text[done..edit.span.start - base]);
        out.push_str(&edit.text);
        done = edit.span.end - base;
    }
    out.push_str(&text[done..]);
    out
}

/// Whether no edit so far touches the bytes of this one; two insertions at one place do.
fn is_free(edits: &BTreeMap<usize, &Edit>, edit: &Edit) -> bool {
    let before = edits.range(..=edit.span.start).next_back();
    let after = edits.range(edit.span.start..).next();
    before.is_none_or(|(start, other)| *start != edit.span.start && other.span.end <= edit.span.start)
        && after.is_none_or(|(start, _)| edit.span.end <= *start)
}
