//! Stored answers to approval questions, bound to the skill's digest, the script and the kind of access.

use metier_skill::{Digest, Tier, is_secret_name, visible_name};
use serde::{Deserialize, Serialize};

use crate::reach::Reach;
use crate::request::{Access, Action, Request, WHOLE};

/// How long an answer is valid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Lifetime {
    /// Only for the next request.
    Once,
    /// Until the session ends.
    Session(String),
    /// Until the skill's content changes.
    Digest,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Approval {
    /// The skill's name, for display; the digest is what identifies the skill.
    pub skill: String,
    /// The digest of the skill's files.
    pub digest: Digest,
    /// The script, or the tool of an MCP server; `None` if the answer is about neither.
    pub script: Option<String>,
    /// The kind of access.
    pub access: Access,
    /// Which network destinations the answer covers, for network access. `None` means the whole network, as in answers
    /// stored by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Reach>,
    /// Whether the request was approved.
    pub granted: bool,
    /// How long the answer is valid.
    pub lifetime: Lifetime,
    /// Who answered: the holder of a token, or `None` for the owner of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How the answer was given: `terminal`, `command`, `flag`, `client`, `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// The day on which it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
}

impl Approval {
    /// An answer to a question.
    pub fn answer(question: &Question<'_>, granted: bool, lifetime: Lifetime) -> Self {
        Self {
            skill: question.request.skill.to_owned(),
            digest: question.request.digest,
            script: question.request.part(),
            access: question.access,
            network: (question.access == Access::Network).then(|| question.request.reach().clone()),
            granted,
            lifetime,
            by: question.request.principal.map(str::to_owned),
            how: None,
            on: None,
        }
    }

    /// The id under which the answer is stored and revoked. It is computed from every field except the day, so an
    /// edited answer has a different id.
    pub fn id(&self) -> String {
        let Self { skill, digest, script, access, granted, lifetime, by, how, .. } = self;
        let key =
            serde_json::json!([skill, digest, script, access, self.reach(), granted, lifetime, by, how]);
        Digest::of(key.to_string().as_bytes()).hex()[..12].to_owned()
    }

    /// A sentence that says what is refused, until when, since when, and how to undo it. `None` for an approval.
    pub fn refusal(&self) -> Option<String> {
        if self.granted {
            return None;
        }
        let what = match (self.access, &self.script) {
            (Access::Activate, _) => "will not be loaded".to_owned(),
            (Access::Resources, _) => "will not have its files read".to_owned(),
            (Access::Tools, Some(tool)) => format!("will not have its tool `{}` called", plain(tool)),
            (_, Some(script)) => format!("may not {} (`{}`)", self.verb(), plain(script)),
            (_, None) => format!("may not {}", self.verb()),
        };
        let until = match self.lifetime {
            Lifetime::Once => "once",
            Lifetime::Session(_) => "in this session",
            Lifetime::Digest if self.access == Access::Tools => "until the tool's definition changes",
            Lifetime::Digest => "until its content changes",
        };
        let name = plain(&self.skill);
        // Only stored answers can be revoked.
        if self.on.is_none() && self.lifetime == Lifetime::Once {
            return Some(format!("`{name}` {what}: approval was refused"));
        }
        let on = self.on.as_ref().map(|on| format!(" on {}", plain(on))).unwrap_or_default();
        Some(format!(
            "`{name}` {what} {until}: refused{on}; undo with `metier approvals --revoke {}`",
            self.id()
        ))
    }

    /// The network destinations that the answer covers; `None` if it is not about the network.
    pub fn reach(&self) -> Option<&Reach> {
        (self.access == Access::Network).then(|| self.network.as_ref().unwrap_or(&WHOLE))
    }

    /// The access as a phrase that follows "may" or "to".
    pub fn verb(&self) -> String {
        self.reach().map_or_else(|| self.access.verb().to_owned(), Reach::verb)
    }

    /// Whether another answer is for the same question with the same lifetime.
    pub fn is_same_question(&self, other: &Self) -> bool {
        (self.digest, &self.script, self.access, self.reach(), &self.lifetime, &self.by)
            == (other.digest, &other.script, other.access, other.reach(), &other.lifetime, &other.by)
    }

    /// Whether the answer applies to a request: an approval must cover all requested destinations, a refusal applies if
    /// any destination overlaps.
    fn is_about(&self, request: &Request<'_>, access: Access) -> bool {
        let is_within = |own: &Reach| {
            if self.granted { own.covers(request.reach()) } else { own.touches(request.reach()) }
        };
        // The answers of the machine's owner apply to all users.
        let is_theirs = self.by.is_none() || self.by.as_deref() == request.principal;
        is_theirs
            && self.digest == request.digest
            && self.access == access
            && self.script == request.part()
            && self.reach().is_none_or(is_within)
    }

    /// Whether it was given for exactly these destinations.
    fn is_exact(&self, request: &Request<'_>) -> bool {
        self.reach().is_none_or(|own| own == request.reach())
    }

    fn holds(&self, session: Option<&str>) -> bool {
        match &self.lifetime {
            Lifetime::Once | Lifetime::Digest => true,
            Lifetime::Session(other) => session == Some(other),
        }
    }
}

/// The stored answers.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    list: Vec<Approval>,
}

impl Approvals {
    /// Creates the collection from answers that were stored elsewhere.
    pub fn new(list: Vec<Approval>) -> Self {
        Self { list }
    }

    /// All of them.
    pub fn list(&self) -> &[Approval] {
        &self.list
    }

    /// Stores an answer. It replaces an earlier answer to the same question with the same lifetime.
    pub fn record(&mut self, approval: Approval) {
        self.list.retain(|other| !other.is_same_question(&approval));
        self.list.push(approval);
    }

    /// The answer that applies to a request. If several apply: shortest lifetime first, then exact destinations, then
    /// refusals over approvals. A refusal by the machine's owner wins over any answer of a token's holder.
    pub fn find(&self, request: &Request<'_>, access: Access, session: Option<&str>) -> Option<&Approval> {
        let holds = |approval: &&Approval| approval.is_about(request, access) && approval.holds(session);
        let rank = |approval: &&Approval| {
            let narrowness = match approval.lifetime {
                Lifetime::Digest => 0,
                Lifetime::Session(_) => 1,
                Lifetime::Once => 2,
            };
            (narrowness, approval.is_exact(request), !approval.granted)
        };
        let all = || self.list.iter().filter(holds);
        let owner = all().filter(|approval| approval.by.is_none()).max_by_key(rank);
        owner.filter(|approval| !approval.granted).or_else(|| all().max_by_key(rank))
    }

    /// Removes an answer that was valid only once.
    pub(crate) fn use_up(&mut self, used: &Approval) {
        if used.lifetime == Lifetime::Once {
            self.list.retain(|other| other != used);
        }
    }
}

/// An approval question.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Question<'a> {
    /// What is requested.
    pub request: &'a Request<'a>,
    /// The kind of access that needs an answer.
    pub access: Access,
    /// Why approval is needed.
    pub reason: &'a str,
}

impl<'a> Question<'a> {
    /// A question about one kind of access.
    pub const fn new(request: &'a Request<'a>, access: Access, reason: &'a str) -> Self {
        Self { request, access, reason }
    }

    /// The full question: one sentence, then one line for each fact.
    pub fn text(&self) -> String {
        let facts = self.facts().into_iter().map(|(name, value)| format!("  {name:<10} {value}"));
        [self.sentence()].into_iter().chain(facts).collect::<Vec<_>>().join("\n")
    }

    /// The facts that the question is about, beside the skill and the script: one short line each.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let Request { arguments, input, variables, work, network, digest, .. } = self.request;
        let mut facts = Vec::new();
        let any = || "any".to_owned();
        if self.request.script().is_some() {
            let words = arguments.map(|words| listed(words.iter().map(|word| quoted(&bounded(word, WORD)))));
            facts.push(("arguments", words.unwrap_or_else(any)));
            let variables = variables.map(|all| listed(all.iter().map(|(name, value)| set(name, value))));
            facts.push(("variables", variables.unwrap_or_else(any)));
            facts.push(("input", input.map_or_else(any, shown_input)));
            let work = work.map(|work| bounded(&visible_name(&work.to_string_lossy()), WORD));
            let other = if arguments.is_some() { "a temporary empty directory" } else { "any" };
            facts.push(("directory", work.unwrap_or_else(|| other.to_owned())));
            facts.push(("network", network.map_or_else(|| "none".to_owned(), Reach::verb)));
        } else if self.request.tool().is_some() {
            let given = arguments.map(|words| words.join(" "));
            facts.push(("arguments", given.map_or_else(any, |text| bounded(&visible_name(&text), LIST))));
        }
        facts.push(("why", bounded(&visible_name(self.reason), WORD)));
        facts.push(("digest", format!("sha256:{}…", &digest.hex()[..12])));
        facts
    }

    /// What an approval with this lifetime covers, and until when. Only a one-time approval is bound to the arguments,
    /// variables, input and directory of the question; the choices must show that.
    pub fn covers(&self, lifetime: &Lifetime) -> String {
        let until = match lifetime {
            Lifetime::Once => return "this once".to_owned(),
            Lifetime::Session(_) => "until this session ends",
            Lifetime::Digest if self.access == Access::Tools => "until the tool's definition changes",
            Lifetime::Digest => "until the skill changes",
        };
        let any = match self.request.action {
            Action::Run { .. } => "with any arguments, variables and input, in any directory, ",
            Action::Call { .. } => "with any arguments, ",
            Action::Activate | Action::Read { .. } => "",
        };
        format!("{any}{until}")
    }

    /// The question as one sentence.
    pub fn sentence(&self) -> String {
        if let Action::Call { server, tool, .. } = self.request.action {
            return format!(
                "Allow a call of the tool `{}` of the MCP server `{}`?",
                plain(tool),
                plain(server)
            );
        }
        let trust = match self.request.tier {
            Tier::Builtin => "built-in skill",
            Tier::Org => "your organisation's skill",
            Tier::User => "your own skill",
            Tier::ThirdParty => "third-party skill",
        };
        let script = self.request.script().map(|script| format!(" `{}`", plain(&script))).unwrap_or_default();
        let what = match self.access {
            Access::Scripts => "run".to_owned(),
            Access::Network => self.request.reach().verb(),
            other => other.verb().to_owned(),
        };
        let within = if self.access == Access::Scripts || script.is_empty() { "" } else { " in" };
        format!("Allow `{}` ({trust}) to {what}{within}{script}?", plain(self.request.skill))
    }
}

/// A name for display: one line, without invisible characters and backticks.
pub(crate) fn plain(name: &str) -> String {
    visible_name(name).replace('`', "\u{fffd}")
}

/// A word of a command line for display: quoted if it has special characters.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", visible_name(word).replace('\'', "'\\''"))
}

/// How many characters of one word, and of all words together, a question shows.
const WORD: usize = 500;
const LIST: usize = 2_000;

/// Words of a list on one line.
fn listed(words: impl Iterator<Item = String>) -> String {
    let all = words.collect::<Vec<_>>().join(" ");
    if all.is_empty() { "none".to_owned() } else { bounded(&all, LIST) }
}

/// A variable assignment. The value is withheld if the name looks like that of a secret.
fn set(name: &str, value: &str) -> String {
    let shown = if is_secret_name(name) { "(withheld)".to_owned() } else { quoted(&bounded(value, WORD)) };
    format!("{}={shown}", quoted(&bounded(name, WORD)))
}

/// Standard input on one line: its size, its start and its end.
fn shown_input(input: &[u8]) -> String {
    if input.is_empty() {
        return "none".to_owned();
    }
    let text = bounded(&String::from_utf8_lossy(input), WORD);
    let escaped = text.replace('\\', r"\\").replace('\n', r"\n").replace('\t', r"\t").replace('\'', r"\'");
    let unit = if input.len() == 1 { "byte" } else { "bytes" };
    format!("{} {unit}: '{}'", input.len(), visible_name(&escaped))
}

/// The start and the end of a text; the middle is left out if the text is too long.
fn bounded(text: &str, most: usize) -> String {
    let half = most / 2;
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..at(half)], &text[at(count - half)..]);
    format!("{head}… ({} characters left out) …{tail}", count - 2 * half)
}

/// The answer to an approval question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes.
    Approve(Lifetime),
    /// No.
    Refuse(Lifetime),
    /// Approval cannot be requested, or no decision was made.
    Nobody,
    /// The question was passed on; the answer is available when the request is repeated.
    Later,
}

/// Asks for approvals: at a terminal, through a client, or by other means of the host.
pub trait Approver {
    /// Asks, and waits for the answer.
    fn ask(&mut self, question: &Question<'_>) -> Answer;

    /// How answers are given, for the journal: `terminal`, `command`, `flag`, `client` or `host`.
    fn how(&self) -> &'static str {
        "host"
    }
}

/// An approver for situations in which approval cannot be requested.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        Answer::Nobody
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn fact(name: &str, change: impl FnOnce(&mut Request<'_>)) -> String {
        let mut request =
            Request::new(Tier::User, "notes", Digest::of(b""), Action::Run { script: "run.sh" });
        change(&mut request);
        let facts = Question::new(&request, Access::Scripts, "").facts();
        facts.into_iter().find(|(other, _)| *other == name).unwrap().1
    }

    fn input(bytes: &[u8]) -> String {
        fact("input", |request| request.input = Some(Box::leak(bytes.to_vec().into_boxed_slice())))
    }

    #[test]
    fn standard_input_is_shown_with_its_size_and_both_ends() {
        assert_eq!(fact("input", |_| {}), "any");
        assert_eq!(input(b""), "none");
        assert_eq!(input(b"x"), "1 byte: 'x'");
        assert_eq!(input("a\tb\n\\n'\u{202e}\u{1b}".as_bytes()), r"11 bytes: 'a\tb\n\\n\'��'");
        assert_eq!(input(b"\xff\xfe"), "2 bytes: '��'");
        let long = format!("begin {} end", "é".repeat(1 << 20));
        let shown = input(long.as_bytes());
        assert!(shown.starts_with("2097162 bytes: 'begin é") && shown.ends_with("é end'"), "{shown}");
        assert!(
            shown.contains("é… (1048086 characters left out) …é") && shown.chars().count() < 600,
            "{shown}"
        );
    }

    #[test]
    fn every_word_shows_its_ends_and_so_does_the_list() {
        let shown = |words: Vec<String>| fact("arguments", |request| request.arguments = Some(words.leak()));
        let long = "a".repeat(600);
        assert!(shown(vec![format!("{long} --evil")]).ends_with("aaa --evil'"));
        let hidden_between = shown(vec![long.clone(), "--evil".to_owned(), long]);
        assert!(hidden_between.contains("' --evil 'aaa"), "{hidden_between}");
        let many = shown((0..2_000).map(|number| format!("--word-{number}")).collect());
        assert!(many.starts_with("--word-0 --word-1 ") && many.ends_with(" --word-1999"), "{many}");
        assert!(many.contains(" characters left out) …") && many.chars().count() < 2_100, "{many}");
        assert_eq!(shown(vec![String::new()]), "''");
    }

    #[test]
    fn variables_are_shown_without_secrets() {
        let set = |pairs: &[(&str, &str)]| {
            let all: BTreeMap<String, String> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            fact("variables", |request| request.variables = Some(Box::leak(Box::new(all))))
        };
        assert_eq!(set(&[]), "none");
        assert_eq!(
            set(&[("FOO", "a b"), ("GH_TOKEN", "ghp_1"), ("E", "")]),
            "E='' FOO='a b' GH_TOKEN=(withheld)"
        );
        assert_eq!(set(&[("A=\nB", "c\nd")]), "'A=�B'='c�d'");
    }
}
