//! The list of skills that a model chooses from, and how it is made to fit.

use std::borrow::Cow;
use std::fmt::Write as _;

use metier_skill::{escape_xml, tokens};

/// One skill as a model sees it before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    /// The name.
    pub name: &'a str,
    /// What it does and when to use it; `None` where only the name is to be shown.
    pub description: Option<&'a str>,
    /// Where its `SKILL.md` is.
    pub location: Option<&'a str>,
}

/// How the list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// `<available_skills>`.
    #[default]
    Xml,
    /// A list with bold names.
    Markdown,
    /// An object with a list.
    Json,
}

/// A list of skills to be written.
///
/// ```
/// use metier_prompt::{Catalogue, Listed};
///
/// let skills = [Listed { name: "pdf", description: Some("Reads <PDF> files."), location: None }];
/// let rendered = Catalogue::new(&skills).render();
/// assert!(rendered.text.contains("<description>Reads &lt;PDF&gt; files.</description>"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Catalogue<'a> {
    skills: &'a [Listed<'a>],
    format: Format,
    budget: Option<usize>,
}

/// What was written, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Rendered {
    /// The text; empty where there are no skills, or where not even one fits the budget.
    pub text: String,
    /// About how many tokens it is.
    pub tokens: usize,
    /// How many descriptions were shortened.
    pub shortened: usize,
    /// How many skills were left out.
    pub omitted: usize,
}

/// Descriptions are not cut below this many bytes; rather are skills left out.
const SHORTEST: usize = 80;

const INTRODUCTION: &str = "\
These skills are instructions for special tasks. When a task fits a skill's description, read the file at its
location before you begin, and follow it. Paths in it are relative to the directory that the file is in.
";

/// The same where there are no locations, because a tool loads skills.
const INTRODUCTION_BY_NAME: &str = "\
These skills are instructions for special tasks. When a task fits a skill's description, load that skill by its name
before you begin, and follow it.
";

impl<'a> Catalogue<'a> {
    /// All of these skills, the most relevant first.
    pub const fn new(skills: &'a [Listed<'a>]) -> Self {
        Self { skills, format: Format::Xml, budget: None }
    }

    /// The same in another format.
    #[must_use]
    pub const fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The same in at most so many tokens. Descriptions are shortened first; then the least relevant skills are
    /// left out, and the text says how many.
    #[must_use]
    pub const fn budget(self, tokens: Option<usize>) -> Self {
        Self { budget: tokens, ..self }
    }

    /// Writes the list.
    pub fn render(&self) -> Rendered {
        if self.skills.is_empty() && self.format != Format::Json {
            return Rendered::default();
        }
        let (count, longest) = self.fitting();
        // A frame around nothing is no use, and would itself be more than was asked for.
        let is_over = |most: usize| self.frame(self.skills.len()).len() > most.saturating_mul(4);
        if count == 0 && self.budget.is_some_and(is_over) {
            return Rendered { omitted: self.skills.len(), ..Rendered::default() };
        }
        let text = self.write(count, longest);
        let cut = |skill: &&Listed<'_>| skill.description.is_some_and(|text| text.len() > longest);
        Rendered {
            tokens: tokens(text.len()),
            shortened: self.skills[..count].iter().filter(cut).count(),
            omitted: self.skills.len() - count,
            text,
        }
    }

    /// How many skills fit, and how long their descriptions may be.
    fn fitting(&self) -> (usize, usize) {
        let all = self.skills.len();
        let Some(budget) = self.budget else { return (all, usize::MAX) };
        let most = budget.saturating_mul(4);
        let fixed = self.frame(0).len();
        let fits = |longest| fixed + self.bytes(all, longest) <= most;
        if fits(usize::MAX) {
            return (all, usize::MAX);
        }
        if fits(SHORTEST) {
            // The largest bound that fits: more is shown the longer it is, so halving finds it.
            let longest = self.skills.iter().filter_map(|skill| skill.description).map(str::len).max();
            let (mut good, mut bad) = (SHORTEST, longest.unwrap_or(SHORTEST).max(SHORTEST + 1));
            while bad - good > 1 {
                let middle = usize::midpoint(good, bad);
                if fits(middle) { good = middle } else { bad = middle }
            }
            return (all, good);
        }
        // Room for the line that says how many are missing, at its longest.
        let room = most.saturating_sub(self.frame(all).len());
        let mut used = 0;
        let shown = self.skills.iter().take_while(|skill| {
            used += self.item(skill, SHORTEST).len();
            used <= room
        });
        (shown.count(), SHORTEST)
    }

    fn bytes(&self, count: usize, longest: usize) -> usize {
        self.skills[..count].iter().map(|skill| self.item(skill, longest).len()).sum()
    }

    /// Everything but the skills: what the text costs with none of them, when so many are left out.
    fn frame(&self, omitted: usize) -> String {
        let (before, after) = self.around(omitted);
        before + &after
    }

    fn around(&self, omitted: usize) -> (String, String) {
        let has_places = self.skills.iter().any(|skill| skill.location.is_some());
        let introduction = if has_places { INTRODUCTION } else { INTRODUCTION_BY_NAME };
        let notice = match omitted {
            0 => String::new(),
            1 => "1 more skill is left out to save room; find it with `metier search`.".to_owned(),
            _ => format!("{omitted} more skills are left out to save room; find them with `metier search`."),
        };
        match self.format {
            Format::Xml => {
                let notice = if omitted == 0 { notice } else { notice + "\n" };
                (format!("{introduction}\n<available_skills>\n"), format!("</available_skills>\n{notice}"))
            }
            Format::Markdown => {
                let notice = if omitted == 0 { notice } else { format!("\n{notice}\n") };
                (format!("{introduction}\n"), notice)
            }
            Format::Json => {
                let notice = if omitted == 0 {
                    String::new()
                } else {
                    format!(",\"omitted\":{omitted},\"notice\":{}", json(&notice))
                };
                let introduction = json(&introduction.trim().replace('\n', " "));
                (
                    format!("{{\"instructions\":{introduction},\"available_skills\":[\n"),
                    format!("\n]{notice}}}\n"),
                )
            }
        }
    }

    fn write(&self, count: usize, longest: usize) -> String {
        let (before, after) = self.around(self.skills.len() - count);
        let mut text = before;
        for skill in &self.skills[..count] {
            text.push_str(&self.item(skill, longest));
        }
        if self.format == Format::Json && text.ends_with(",\n") {
            text.truncate(text.len() - 2);
        }
        text + &after
    }

    fn item(&self, skill: &Listed<'_>, longest: usize) -> String {
        let description = skill.description.map(|text| shortened(text, longest));
        let mut item = String::new();
        // Writing to a string cannot fail.
        match self.format {
            Format::Xml => {
                let _ = write!(item, "<skill>\n<name>{}</name>\n", escape_xml(skill.name));
                if let Some(description) = description {
                    let _ = writeln!(item, "<description>{}</description>", escape_xml(&description));
                }
                if let Some(location) = skill.location {
                    let _ = writeln!(item, "<location>{}</location>", escape_xml(location));
                }
                item.push_str("</skill>\n");
            }
            Format::Markdown => {
                let _ = write!(item, "- **{}**", line(skill.name));
                if let Some(description) = description {
                    let _ = write!(item, ": {}", line(&description));
                }
                if let Some(location) = skill.location {
                    let _ = write!(item, " (`{}`)", line(location));
                }
                item.push('\n');
            }
            Format::Json => {
                let _ = write!(item, "{{\"name\":{}", json(skill.name));
                if let Some(description) = description {
                    let _ = write!(item, ",\"description\":{}", json(&description));
                }
                if let Some(location) = skill.location {
                    let _ = write!(item, ",\"location\":{}", json(location));
                }
                item.push_str("},\n");
            }
        }
        item
    }
}

/// A text of at most so many bytes, cut between two words.
fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return text.into();
    }
    let end = text.floor_char_boundary(longest.saturating_sub('…'.len_utf8()));
    let kept = &text[..end];
    let word_end = kept.rfind(char::is_whitespace).unwrap_or(end);
    format!("{}…", kept[..word_end].trim_end()).into()
}

/// Text on one line of markdown.
fn line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(clean).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn skill<'a>(name: &'a str, description: &'a str) -> Listed<'a> {
        Listed { name, description: Some(description), location: Some("/s/SKILL.md") }
    }

    const FORMATS: [Format; 3] = [Format::Xml, Format::Markdown, Format::Json];

    #[test]
    fn nothing_is_nothing_and_an_empty_list_in_json() {
        for format in [Format::Xml, Format::Markdown] {
            assert_eq!(Catalogue::new(&[]).format(format).render(), Rendered::default());
        }
        let text = Catalogue::new(&[]).format(Format::Json).render().text;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["available_skills"], serde_json::json!([]));
    }

    #[test]
    fn a_budget_that_is_too_small_for_anything_gives_nothing() {
        let skills = [skill("a", "x")];
        for format in FORMATS {
            let rendered = Catalogue::new(&skills).format(format).budget(Some(5)).render();
            assert_eq!((rendered.text.as_str(), rendered.omitted), ("", 1));
        }
    }

    #[test]
    fn what_is_cut_and_left_out_is_said() {
        let long = "word ".repeat(100);
        let skills: Vec<Listed<'_>> = (0..20).map(|_| skill("name", &long)).collect();
        for format in FORMATS {
            let all = Catalogue::new(&skills).format(format).render();
            assert_eq!((all.shortened, all.omitted), (0, 0));
            let cut = Catalogue::new(&skills).format(format).budget(Some(all.tokens / 2)).render();
            assert_eq!((cut.shortened, cut.omitted), (20, 0), "{}", cut.text);
            assert!(cut.text.contains("word…"), "{}", cut.text);
            let few = Catalogue::new(&skills).format(format).budget(Some(300)).render();
            assert!(few.omitted > 0 && few.omitted < 20, "{few:?}");
            assert!(few.text.contains(&format!("{} more skills are left out", few.omitted)), "{}", few.text);
        }
    }

    #[test]
    fn json_is_json_whatever_is_left_out() {
        let skills = [skill("a", "one \"two\"\n\u{1}"), skill("b", "x")];
        for budget in [None, Some(90), Some(100), Some(120)] {
            let text = Catalogue::new(&skills).format(Format::Json).budget(budget).render().text;
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(value["available_skills"].is_array(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_budget_is_kept(
            texts in prop::collection::vec((".{0,20}", ".{0,400}"), 1..30),
            budget in 0_usize..2000,
            format in prop::sample::select(&FORMATS[..]),
        ) {
            let skills: Vec<Listed<'_>> = texts.iter().map(|(name, text)| skill(name, text)).collect();
            let rendered = Catalogue::new(&skills).format(format).budget(Some(budget)).render();
            prop_assert!(rendered.tokens <= budget, "{} > {budget}", rendered.tokens);
            let shown = rendered.text.matches("/s/SKILL.md").count();
            prop_assert_eq!(shown + rendered.omitted, skills.len());
        }
    }
}
