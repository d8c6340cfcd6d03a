//! Skills found by what people ask for: by words, and by what the words mean.

mod lexical;
mod meaning;
mod question;
mod store;
mod synonyms;
mod text;
mod words;

use std::collections::{HashMap, HashSet};
use std::hash::Hasher as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use metier_skill::SKILL_FILES;
use metier_skill::disk::read_named;
use rayon::prelude::*;
use twox_hash::XxHash3_64;

use crate::catalog::UnusableSkill;
use crate::entry::Entry;
use crate::record::SkillFacts;
use crate::search::lexical::Reader;
use crate::search::meaning::{Meanings, Model, Vector};
use crate::search::question::Question;
use crate::search::text::{SkillText, Texts};
use crate::search::words::{Words, is_stop_word};
use crate::{Catalog, CatalogError, Tier};

/// How many of each kind are looked at before the two are put together.
const CANDIDATES: usize = 200;

/// What fits less than this does not fit: a perfect match of one common word gives more.
const SCORE_MIN: f32 = 0.25;

/// A catalog that can be asked.
///
/// ```no_run
/// # use metier_catalog::{Catalog, Search};
/// # let catalog = Catalog::default();
/// let search = Search::open(&catalog, None)?;
/// for hit in search.query("fill in a tax form", 5) {
///     println!("{:.2} {}: {}", hit.score, hit.name(), hit.snippet);
/// }
/// # Ok::<(), metier_catalog::CatalogError>(())
/// ```
pub struct Search {
    catalog: Catalog,
    lexical: Reader,
    /// The target of each document of each segment.
    documents: Vec<Vec<Option<u32>>>,
    meanings: Meanings,
    /// The target of each meaning.
    meant: Vec<Option<u32>>,
    /// The place among the meanings of each target.
    places: HashMap<u32, usize>,
}

/// One skill that fits a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Hit<'a> {
    /// The skill.
    pub skill: Hitting<'a>,
    /// How well it fits; higher is better, and only comparable within one answer.
    pub score: f32,
    /// The part of its description that fits best.
    pub snippet: String,
}

/// What was hit.
#[derive(Debug, Clone, Copy)]
pub enum Hitting<'a> {
    /// A skill that can be used, or that is switched off: its state says which.
    Entry(&'a Entry),
    /// One that cannot, for a reason that it carries.
    Unusable(&'a UnusableSkill),
}

impl Hit<'_> {
    /// The name.
    pub fn name(&self) -> &str {
        &self.facts().name
    }

    /// What the skill says.
    pub fn facts(&self) -> &SkillFacts {
        match self.skill {
            Hitting::Entry(entry) => &entry.facts,
            Hitting::Unusable(unusable) => &unusable.facts,
        }
    }

    /// How far the skill is trusted.
    pub fn tier(&self) -> Tier {
        match self.skill {
            Hitting::Entry(entry) => entry.tier(),
            Hitting::Unusable(unusable) => unusable.tier,
        }
    }
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("documents", &self.lexical.len()).finish_non_exhaustive()
    }
}

impl Search {
    /// Makes a catalog ready to be asked. What was prepared before is kept in the directory, if one is given, and
    /// only what changed since is prepared again.
    pub fn open(catalog: &Catalog, directory: Option<&Path>) -> Result<Self, CatalogError> {
        let targets = Targets::of(catalog);
        let prepared = match directory {
            Some(directory) => store::prepare(directory, &targets),
            None => store::prepare_in_memory(&targets),
        };
        let (lexical, meanings) = prepared?;
        let target = |key: &u64| targets.by_key.get(key).copied();
        let documents = lexical.keys()?;
        let documents = documents.iter().map(|keys| keys.iter().map(target).collect()).collect();
        let meant: Vec<Option<u32>> = meanings.places().iter().map(target).collect();
        let places =
            meant.iter().enumerate().filter_map(|(place, target)| Some(((*target)?, place))).collect();
        Ok(Self { catalog: catalog.clone(), lexical, documents, meanings, meant, places })
    }

    /// The catalog that is asked.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The skills that fit a question best, at most so many. Of equal ones the more trusted comes first, then the
    /// order of names.
    pub fn query(&self, question: &str, limit: usize) -> Vec<Hit<'_>> {
        // An index that was just opened and checked can only fail if its files vanish under it.
        self.try_query(question, limit).unwrap_or_default()
    }

    fn try_query(&self, question: &str, limit: usize) -> lexical::Result<Vec<Hit<'_>>> {
        let asked = Question::new(question, &self.lexical)?;
        let mut scores: HashMap<u32, Scores> = HashMap::new();
        let (by_words, by_meaning) = rayon::join(
            || self.lexical.query(&asked, CANDIDATES),
            || self.meanings.closest(&asked.meaning, CANDIDATES),
        );
        for (segment, document, score) in by_words? {
            let target = self.documents.get(segment).and_then(|targets| *targets.get(document as usize)?);
            if let Some(target) = target {
                scores.entry(target).or_default().words = score;
            }
        }
        for (place, closeness) in by_meaning {
            if let Some(target) = self.meant.get(place).copied().flatten() {
                scores.entry(target).or_default().meaning = Some(closeness);
            }
        }
        let mut hits: Vec<Hit<'_>> = scores
            .into_iter()
            .filter_map(|(target, scores)| {
                let skill = self.skill(target)?;
                let meaning = scores.meaning.unwrap_or_else(|| self.closeness(&asked.meaning, target));
                Some(Hit { skill, score: scores.words + meaning, snippet: String::new() })
            })
            .collect();
        let order = |a: &Hit<'_>, b: &Hit<'_>| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.tier().cmp(&b.tier()))
                .then_with(|| a.name().cmp(b.name()))
        };
        hits.retain(|hit| hit.score >= SCORE_MIN);
        hits.sort_by(order);
        hits.truncate(limit);
        for hit in &mut hits {
            hit.snippet = snippet(&hit.facts().description, question);
        }
        Ok(hits)
    }

    fn closeness(&self, asked: &Vector, target: u32) -> f32 {
        self.places.get(&target).map_or(0.0, |place| self.meanings.closeness(asked, *place))
    }

    /// The skill of a target, if people may find it: no other wins over it.
    fn skill(&self, target: u32) -> Option<Hitting<'_>> {
        let entries = self.catalog.all();
        let target = target as usize;
        if let Some(entry) = entries.get(target) {
            return entry.shadowed_by.is_none().then_some(Hitting::Entry(entry));
        }
        let unusable = self.catalog.unusable().get(target - entries.len())?;
        self.catalog.by_name(&unusable.facts.name).is_none().then_some(Hitting::Unusable(unusable))
    }
}

#[derive(Default)]
struct Scores {
    words: f32,
    meaning: Option<f32>,
}

/// The skills of a catalog as they go into the index, each with a key that changes when it does.
struct Targets<'a> {
    all: Vec<Target<'a>>,
    by_key: HashMap<u64, u32>,
}

struct Target<'a> {
    key: u64,
    facts: &'a SkillFacts,
    source: Source<'a>,
}

/// Where the text of a skill is.
enum Source<'a> {
    /// In the `SKILL.md` of a directory.
    Directory(&'a Path),
    /// Inside the binary.
    Text(&'a str),
}

impl<'a> Targets<'a> {
    fn of(catalog: &'a Catalog) -> Self {
        let entries = catalog.all().iter().map(|entry| {
            let source = match entry.builtin() {
                Some(builtin) => Source::Text(builtin.skill_md()),
                None => Source::Directory(entry.real_path()),
            };
            Target { key: key(entry.path(), &entry.facts), facts: &entry.facts, source }
        });
        let unusable = catalog.unusable().iter().map(|unusable| {
            let path = &unusable.problem.path;
            Target {
                key: key(path, &unusable.facts),
                facts: &unusable.facts,
                source: Source::Directory(path),
            }
        });
        let all: Vec<Target<'a>> = entries.chain(unusable).collect();
        let by_key = (0..).zip(&all).map(|(index, target)| (target.key, index)).collect();
        Self { all, by_key }
    }

    /// Changes when anything in it does.
    fn fingerprint(&self) -> u64 {
        let mut hash = XxHash3_64::with_seed(Model::get().checksum());
        for target in &self.all {
            hash.write_u64(target.key);
        }
        hash.finish()
    }

    fn keys(&self) -> HashSet<u64> {
        self.by_key.keys().copied().collect()
    }
}

impl Target<'_> {
    /// Everything after the frontmatter. What cannot be read any more has none; the next scan will tell.
    fn body(&self) -> String {
        const MOST: u64 = 1 << 20;
        let text = match self.source {
            Source::Text(text) => text.to_owned(),
            Source::Directory(path) => {
                let mut files = SKILL_FILES.iter();
                let read = files.find_map(|file| read_named(path.join(file), MOST).ok());
                read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
            }
        };
        metier_skill::body_of(&text).to_owned()
    }
}

/// Changes with what is made of a text, so that what was prepared otherwise is prepared anew.
const TEXTS_VERSION: u64 = 1;

fn key(path: &Path, facts: &SkillFacts) -> u64 {
    let mut hash = XxHash3_64::with_seed(TEXTS_VERSION);
    hash.write(path.as_os_str().as_bytes());
    hash.write(facts.skill_md_digest.as_bytes());
    hash.finish()
}

/// The part of a description that fits a question best: as many sentences as are short enough, from the one with
/// the most words of the question on.
fn snippet(description: &str, question: &str) -> String {
    const LONGEST: usize = 200;
    let mut words = Words::new();
    let mut asked = HashSet::new();
    Words::split(question, |word| {
        if !is_stop_word(word) {
            asked.insert(words.stem(word).to_owned());
        }
    });
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentences: Vec<&str> = description.split_inclusive(". ").collect();
    let mut fit = |sentence: &str| {
        let mut count = 0;
        Words::split(sentence, |word| count += usize::from(asked.contains(words.stem(word))));
        count
    };
    let best = (0..sentences.len()).rev().max_by_key(|at| fit(sentences[*at])).unwrap_or(0);
    let mut text = String::new();
    for sentence in sentences.iter().skip(best) {
        if !text.is_empty() && text.len() + sentence.len() > LONGEST {
            break;
        }
        text.push_str(sentence);
    }
    if text.len() > LONGEST {
        let end = text.floor_char_boundary(LONGEST);
        let end = text[..end].rfind(' ').unwrap_or(end);
        text.truncate(end);
        text.push('…');
    }
    text.trim().to_owned()
}

/// Prepares targets side by side: the words and the meaning of each.
fn prepared<'a>(targets: &'a [&'a Target<'a>]) -> impl ParallelIterator<Item = (u64, SkillText)> + 'a {
    // What a `Texts` has learned is worth keeping, so each gets many.
    targets
        .par_iter()
        .with_min_len(128)
        .map_init(Texts::new, |texts, target| (target.key, texts.of(target.facts, &target.body())))
}
