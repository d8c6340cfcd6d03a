//! Text for models: what it costs, roughly.

/// How many tokens some bytes of text are, roughly: good enough to compare and to keep a budget with.
///
/// ```
/// assert_eq!(metier_skill::tokens("one skill".len()), 3);
/// ```
pub const fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}
