//! Skills that fit a prompt, named to the model with the prompt.

use metier_catalog::Entry;
use metier_guard::HookAnswer;

use crate::error::HostError;
use crate::host::Metier;

/// How many skills are named at most, and how many tokens they take.
const MOST: usize = 5;
const BUDGET: usize = 400;

/// A prompt with fewer words says too little.
const FEWEST_WORDS: usize = 3;

/// Names the skills that fit a prompt, the best first.
pub(super) fn suggested(metier: &Metier, prompt: &str) -> Result<HookAnswer, HostError> {
    if prompt.split_whitespace().count() < FEWEST_WORDS {
        return Ok(HookAnswer::NoOpinion);
    }
    let mut catalog = metier.catalog()?;
    // Without an index the next prompt is slower.
    let _ = catalog.save();
    let search = catalog.search()?;
    let ranked: Vec<_> = search.ranked(prompt, MOST).into_iter().filter_map(Entry::listing).collect();
    let named = ranked.iter().map(|listing| (listing.name(), listing.description()));
    Ok(metier_guard::suggestion(named, BUDGET).map_or(HookAnswer::NoOpinion, HookAnswer::Context))
}
