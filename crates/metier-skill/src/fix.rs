//! Applies the fixes of diagnostics to a text.

use std::collections::BTreeMap;

use crate::{Diagnostic, Edit};

/// Applies the fixes of `diagnostics` to `text`. Returns the new text and the number of applied fixes.
///
/// If two fixes touch the same bytes, only the first is applied. A fix can reveal further findings, so callers
/// read the text again and repeat until no fix is left.
///
/// ```
/// use metier_skill::{Origin, Rules, apply_fixes, read};
///
/// let text = "---\nname: 123\ndescription: Use when counting.\n---\nCount.\n";
/// let reading = read(text, Origin::directory("123"), &Rules::standard());
/// let (fixed, count) = apply_fixes(text, &reading.diagnostics);
///
/// assert_eq!(count, 1);
/// assert!(fixed.contains("name: \"123\"\n"));
/// ```
pub fn apply_fixes(text: &str, diagnostics: &[Diagnostic]) -> (String, usize) {
    // Sorted by start, so that overlaps are found by looking at the neighbours only.
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

/// Applies edits that are sorted and do not overlap. Their spans are offsets in `text` plus `base`.
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

/// Whether an edit does not overlap any accepted one. Two insertions at the same place overlap.
fn is_free(edits: &BTreeMap<usize, &Edit>, edit: &Edit) -> bool {
    let before = edits.range(..=edit.span.start).next_back();
    let after = edits.range(edit.span.start..).next();
    before.is_none_or(|(start, other)| *start != edit.span.start && other.span.end <= edit.span.start)
        && after.is_none_or(|(start, _)| edit.span.end <= *start)
}
