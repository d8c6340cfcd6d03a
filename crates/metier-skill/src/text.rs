//! Estimates how many tokens a text costs.

/// A rough estimate of the tokens in a text of this many bytes. Good enough to compare texts and to keep a
/// budget.
///
/// ```
/// assert_eq!(metier_skill::tokens("one skill".len()), 3);
/// ```
pub const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}
