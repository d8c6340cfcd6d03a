//! Searches a catalog.

use std::collections::BTreeMap;
use std::path::Path;

use metier_catalog::{Catalog, Entry, SkillFacts, Tier, UnusableSkill};

use crate::SearchError;
use crate::lexical::Lexical;
use crate::question::Question;
use crate::snippet::Snippets;
use crate::store;
use crate::target::Targets;

/// The number of candidates of each kind before both are combined.
const CANDIDATES: usize = 200;

/// The minimum score of a hit: a perfect match of one common word scores higher.
const SCORE_MIN: f32 = 0.25;

/// A catalog that can be searched.
///
/// ```no_run
/// # use metier_catalog::Catalog;
/// # use metier_search::Search;
/// # let catalog = Catalog::default();
/// let search = Search::open(&catalog, None)?;
/// for hit in search.query("fill in a tax form", 5) {
///     println!("{:.2} {}: {}", hit.score, hit.name(), hit.snippet);
/// }
/// # Ok::<(), metier_search::SearchError>(())
/// ```
pub struct Search {
    catalog: Catalog,
    /// Its skills have the same numbers as in the catalog, followed by unusable skills.
    lexical: Lexical,
    not_kept: Option<SearchError>,
}

/// One skill that matches a query.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SearchHit<'a> {
    /// The skill.
    pub skill: SearchMatch<'a>,
    /// The score. Higher is better; only comparable within one result.
    pub score: f32,
    /// The part of its description that matches best.
    pub snippet: String,
}

/// The skill of a hit.
#[derive(Debug, Clone, Copy)]
pub enum SearchMatch<'a> {
    /// A usable skill, or one that is disabled, as its state says.
    Entry(&'a Entry),
    /// An unusable skill, with the reason.
    Unusable(&'a UnusableSkill),
}

impl SearchHit<'_> {
    /// The name.
    pub fn name(&self) -> &str {
        &self.facts().name
    }

    /// The content of the skill.
    pub fn facts(&self) -> &SkillFacts {
        match self.skill {
            SearchMatch::Entry(entry) => &entry.facts,
            SearchMatch::Unusable(unusable) => &unusable.facts,
        }
    }

    /// The trust tier.
    pub fn tier(&self) -> Tier {
        match self.skill {
            SearchMatch::Entry(entry) => entry.tier(),
            SearchMatch::Unusable(unusable) => unusable.tier,
        }
    }
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("skills", &self.lexical.index.len()).finish_non_exhaustive()
    }
}

impl Search {
    /// Prepares a catalog for searching. With a directory, the index is stored there, and only skills that
    /// changed are read again the next time.
    pub fn open(catalog: &Catalog, directory: Option<&Path>) -> Result<Self, SearchError> {
        let (index, not_kept) = store::prepare(directory, &Targets::of(catalog))?;
        Ok(Self { catalog: catalog.clone(), lexical: Lexical::new(index), not_kept })
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Why the index could not be stored in its directory, if so. Results are the same, but the next search is
    /// slower.
    pub fn not_kept(&self) -> Option<&SearchError> {
        self.not_kept.as_ref()
    }

    /// The best skills for a query, at most `limit`. Equal scores are sorted by trust, then by name.
    pub fn query(&self, question: &str, limit: usize) -> Vec<SearchHit<'_>> {
        let mut hits = self.hits(question);
        hits.truncate(limit);
        let mut snippets = Snippets::new(question);
        for hit in &mut hits {
            hit.snippet = snippets.of(&hit.facts().description);
        }
        hits
    }

    /// The skills of the catalog in the same order, without those that cannot be used: for lists that show no snippets.
    pub fn ranked(&self, question: &str, limit: usize) -> Vec<&Entry> {
        let entries = self.hits(question).into_iter().filter_map(|hit| match hit.skill {
            SearchMatch::Entry(entry) => Some(entry),
            SearchMatch::Unusable(_) => None,
        });
        entries.take(limit).collect()
    }

    /// Every skill that fits a question, the best first, without snippets.
    fn hits(&self, question: &str) -> Vec<SearchHit<'_>> {
        let asked = Question::new(question, &self.lexical);
        let meanings = self.lexical.index.meanings();
        let mut scores: BTreeMap<usize, Scores> = BTreeMap::new();
        let (by_words, by_meaning) = rayon::join(
            || self.lexical.query(&asked, CANDIDATES),
            || meanings.closest(&asked.meaning, CANDIDATES),
        );
        for (number, score) in by_words {
            scores.entry(number).or_default().words = score;
        }
        for (number, closeness) in by_meaning {
            scores.entry(number).or_default().meaning = Some(closeness);
        }
        let mut hits: Vec<SearchHit<'_>> = scores
            .into_iter()
            .filter_map(|(number, scores)| {
                let skill = self.skill(number)?;
                let meaning = scores.meaning.unwrap_or_else(|| meanings.closeness(&asked.meaning, number));
                Some(SearchHit { skill, score: scores.words + meaning, snippet: String::new() })
            })
            .collect();
        let order = |a: &SearchHit<'_>, b: &SearchHit<'_>| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.tier().cmp(&b.tier()))
                .then_with(|| a.name().cmp(b.name()))
        };
        hits.retain(|hit| hit.score >= SCORE_MIN);
        hits.sort_by(order);
        hits
    }

    /// The skill with this number, unless it is shadowed.
    fn skill(&self, number: usize) -> Option<SearchMatch<'_>> {
        let entries = self.catalog.all();
        if let Some(entry) = entries.get(number) {
            return entry.shadowed_by.is_none().then_some(SearchMatch::Entry(entry));
        }
        let unusable = self.catalog.unusable().get(number - entries.len())?;
        self.catalog.by_name(&unusable.facts.name).is_none().then_some(SearchMatch::Unusable(unusable))
    }
}

#[derive(Default)]
struct Scores {
    words: f32,
    meaning: Option<f32>,
}
