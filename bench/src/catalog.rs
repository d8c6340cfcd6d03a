//! Generates skills for the catalog benchmark: many, similar in size, with different words.
//!
//! Each has a `SKILL.md` of about 5 kB and two small files. The words are a few dozen common ones and some
//! thousand generated ones, with a distribution as in real text: few words are frequent, most are rare. A skill
//! depends only on the seed and its number, so any number of threads writes the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::{Random, WORDS};

/// The number of different words.
const VOCABULARY: usize = 6_000;

/// A generator of skills.
#[derive(Debug)]
pub struct Catalog {
    seed: u64,
    words: Vec<String>,
    /// The cumulative weights of the words: the word at rank `r` has a weight of about `1 / r`.
    sums: Vec<usize>,
}

/// A skill that has not been written yet.
#[derive(Debug)]
struct Made {
    name: String,
    description: String,
    random: Random,
}

impl Catalog {
    /// The same seed gives the same skills.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut words: Vec<String> = Vec::with_capacity(VOCABULARY);
        let mut seen = std::collections::HashSet::new();
        while words.len() < VOCABULARY {
            // The known words are spread over the first thousand ranks.
            let known = WORDS.get(words.len() / 13).filter(|_| words.len().is_multiple_of(13));
            let word = known.map_or_else(|| made_up(&mut random), |&word| word.to_owned());
            if seen.insert(word.clone()) {
                words.push(word);
            } else if known.is_some() {
                words.push(format!("{word}s"));
            }
        }
        let weights = (0..words.len()).map(|rank| 10_000_000 / (rank + 8));
        let sums = weights.scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        let sums = sums.collect();
        Self { seed, words, sums }
    }

    /// Writes `count` skills below a directory.
    pub fn write(&self, directory: &Path, count: usize) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        (0..count).into_par_iter().try_for_each(|number| self.write_one(directory, number))
    }

    /// A query that a user might type to find the skill with this number: some of its words, in any order.
    pub fn query(&self, number: usize) -> String {
        let mut made = self.made(number);
        let words: Vec<&str> = made.description.split(' ').collect();
        let count = 2 + made.random.below(3);
        let picked: Vec<&str> = (0..count).map(|_| made.random.pick(&words)).collect();
        picked.join(" ").to_lowercase()
    }

    /// The bytes of the names, descriptions and paths of the first `count` skills: the minimum for listing
    /// them.
    pub fn held(&self, directory: &Path, count: usize) -> usize {
        let prefix = directory.as_os_str().len() + "//SKILL.md".len();
        let one = |number| {
            let made = self.made(number);
            prefix + 2 * made.name.len() + made.description.len()
        };
        (0..count).into_par_iter().map(one).sum()
    }

    /// The paths of the skills' files, sorted by number.
    pub fn paths(&self, directory: &Path, count: usize) -> Vec<PathBuf> {
        (0..count).map(|number| directory.join(self.made(number).name).join("SKILL.md")).collect()
    }

    fn made(&self, number: usize) -> Made {
        let mut random = Random::new(self.seed ^ (number as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95));
        let (first, second) = (self.word(&mut random), self.word(&mut random));
        let name = format!("{first}-{second}-{number}");
        let words = 14 + random.below(28);
        let rest = self.sentence(words, &mut random);
        let description = format!("Use when you {first} {second} {rest}");
        Made { name, description, random }
    }

    fn write_one(&self, directory: &Path, number: usize) -> io::Result<()> {
        let Made { name, description, mut random } = self.made(number);
        let skill = directory.join(&name);
        fs::create_dir_all(skill.join("references"))?;
        fs::create_dir(skill.join("scripts"))?;
        let mut text = format!("---\nname: {name}\ndescription: {description}\n");
        if random.once_in(3) {
            text.push_str("license: MIT\n");
        }
        if random.once_in(5) {
            let _ = write!(text, "metadata:\n  author: {}\n", self.word(&mut random));
        }
        let _ =
            write!(text, "---\n\n# {name}\n\nSee [the guide](references/guide.md); run `scripts/run.sh`.\n");
        let size = 4_000 + random.below(2_000);
        self.body(&mut text, size, &mut random);
        fs::write(skill.join("SKILL.md"), text)?;
        let mut guide = String::from("# Guide\n\n");
        self.body(&mut guide, 600, &mut random);
        fs::write(skill.join("references/guide.md"), guide)?;
        fs::write(skill.join("scripts/run.sh"), "#!/usr/bin/env bash\nset -eu\necho done\n")
    }

    fn body(&self, text: &mut String, size: usize, random: &mut Random) {
        while text.len() < size {
            let words = 8 + random.below(16);
            let _ = match random.below(6) {
                0 => writeln!(text, "\n## {}\n", self.sentence(3, random)),
                1 => writeln!(text, "- **{}**: {}", self.word(random), self.sentence(words, random)),
                _ => writeln!(text, "{}. {}.", self.sentence(words, random), self.sentence(words, random)),
            };
        }
    }

    fn sentence(&self, words: usize, random: &mut Random) -> String {
        (0..words).map(|_| self.word(random)).collect::<Vec<_>>().join(" ")
    }

    fn word(&self, random: &mut Random) -> &str {
        let all = self.sums.last().copied().unwrap_or(1);
        let point = random.below(all);
        &self.words[self.sums.partition_point(|&sum| sum <= point)]
    }
}

/// A pronounceable word of two or three syllables.
fn made_up(random: &mut Random) -> String {
    const BEGIN: &[&str] = &[
        "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl", "r",
        "s", "sh", "st", "t", "tr", "v", "w", "z",
    ];
    const MIDDLE: &[&str] = &["a", "e", "i", "o", "u", "ai", "ea", "ou"];
    const END: &[&str] = &["", "", "", "l", "m", "n", "r", "s", "t"];
    let syllable =
        |random: &mut Random| format!("{}{}{}", random.pick(BEGIN), random.pick(MIDDLE), random.pick(END));
    (0..2 + random.below(2)).map(|_| syllable(random)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use metier_skill::{Rules, validate_skill};

    #[test]
    fn skills_are_valid_and_of_the_promised_size() {
        let place = tempfile::tempdir().unwrap();
        let catalog = Catalog::new(1);
        catalog.write(place.path(), 20).unwrap();
        for path in catalog.paths(place.path(), 20) {
            let size = fs::metadata(&path).unwrap().len();
            assert!((4_000..7_000).contains(&size), "{size}");
            let reading = validate_skill(path.parent().unwrap(), &Rules::strict()).unwrap();
            assert!(reading.is_valid(), "{:?}", reading.diagnostics);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_queries() {
        let words = Catalog::new(1).query(7);
        assert_eq!(words, Catalog::new(1).query(7));
        assert!((2..=4).contains(&words.split(' ').count()), "{words}");
    }
}
