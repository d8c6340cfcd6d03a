//! What a person said yes or no to: bound to the very bytes, the script and the kind of access.

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

use crate::reach::Reach;
use crate::request::{Access, Request, WHOLE};

/// How long an answer holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Lifetime {
    /// For the next time only.
    Once,
    /// As long as a session lasts.
    Session(String),
    /// Until the skill changes.
    Digest,
}

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Approval {
    /// The skill's name, for people: what counts is the digest.
    pub skill: String,
    /// The digest of the skill's tree.
    pub digest: Digest,
    /// The script; none where the answer is not about one.
    pub script: Option<String>,
    /// The kind of access.
    pub access: Access,
    /// What of the network it is about, where it is about the network. Answers that do not say it are about the whole: before
    /// there was a choice, that is what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Reach>,
    /// Whether the answer was yes.
    pub granted: bool,
    /// How long it holds.
    pub lifetime: Lifetime,
}

impl Approval {
    /// An answer to a question.
    pub fn answer(question: &Question<'_>, granted: bool, lifetime: Lifetime) -> Self {
        Self {
            skill: question.request.skill.to_owned(),
            digest: question.request.digest,
            script: question.request.script(),
            access: question.access,
            network: (question.access == Access::Network).then(|| question.request.reach().clone()),
            granted,
            lifetime,
        }
    }

    /// What of the network it is about, where it is about the network.
    pub fn reach(&self) -> Option<&Reach> {
        (self.access == Access::Network).then(|| self.network.as_ref().unwrap_or(&WHOLE))
    }

    /// What it is about as part of a sentence: "may it …".
    pub fn verb(&self) -> String {
        self.reach().map_or_else(|| self.access.verb().to_owned(), Reach::verb)
    }

    /// Whether another is an answer to the same question for the same time.
    pub fn is_same_question(&self, other: &Self) -> bool {
        (self.digest, &self.script, self.access, self.reach(), &self.lifetime)
            == (other.digest, &other.script, other.access, other.reach(), &other.lifetime)
    }

    /// Whether it says anything about a request: a yes about all that is within it, a no about all that it meets.
    fn is_about(&self, request: &Request<'_>, access: Access) -> bool {
        let is_within = |own: &Reach| {
            if self.granted { own.covers(request.reach()) } else { own.touches(request.reach()) }
        };
        self.digest == request.digest
            && self.access == access
            && self.script == request.script()
            && self.reach().is_none_or(is_within)
    }

    /// Whether it was given about just what is reached now.
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

/// Answers that are kept.
#[derive(Debug, Clone, Default)]
pub struct Approvals {
    list: Vec<Approval>,
}

impl Approvals {
    /// Those that were kept elsewhere.
    pub fn new(list: Vec<Approval>) -> Self {
        Self { list }
    }

    /// All of them.
    pub fn list(&self) -> &[Approval] {
        &self.list
    }

    /// Keeps an answer, in the place of an earlier one to the same question for the same time.
    pub fn record(&mut self, approval: Approval) {
        self.list.retain(|other| !other.is_same_question(&approval));
        self.list.push(approval);
    }

    /// The answer that holds for a request: of several the one for the shortest time, of those the one about just what is
    /// reached, and of equal ones a no.
    pub fn find(&self, request: &Request<'_>, access: Access, session: Option<&str>) -> Option<&Approval> {
        let holds = |approval: &&Approval| approval.is_about(request, access) && approval.holds(session);
        self.list.iter().filter(holds).max_by_key(|approval| {
            let narrowness = match approval.lifetime {
                Lifetime::Digest => 0,
                Lifetime::Session(_) => 1,
                Lifetime::Once => 2,
            };
            (narrowness, approval.is_exact(request), !approval.granted)
        })
    }

    /// Takes out an answer that held only once.
    pub(crate) fn use_up(&mut self, used: &Approval) {
        if used.lifetime == Lifetime::Once {
            self.list.retain(|other| other != used);
        }
    }
}

/// What a person is asked.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Question<'a> {
    /// What is to be done.
    pub request: &'a Request<'a>,
    /// The kind of access that needs an answer.
    pub access: Access,
    /// Why it is asked.
    pub reason: &'a str,
}

impl<'a> Question<'a> {
    /// A question about one kind of access.
    pub const fn new(request: &'a Request<'a>, access: Access, reason: &'a str) -> Self {
        Self { request, access, reason }
    }

    /// The question in one sentence.
    pub fn text(&self) -> String {
        let trust = match self.request.tier {
            Tier::Builtin => "a skill of metier's own",
            Tier::Org => "a skill of your organisation",
            Tier::User => "a skill of yours",
            Tier::ThirdParty => "a third party's skill",
        };
        let script = self.request.script().map(|script| format!(" `{}`", plain(&script))).unwrap_or_default();
        let what = match self.access {
            Access::Scripts => "run".to_owned(),
            Access::Network => self.request.reach().verb(),
            other => other.verb().to_owned(),
        };
        let within = if self.access == Access::Scripts || script.is_empty() { "" } else { " in" };
        format!("May `{}`, {trust}, {what}{within}{script}?", plain(self.request.skill))
    }
}

/// A name that cannot pass for anything but a name: one line, and no quotes that end it.
fn plain(name: &str) -> String {
    let is_odd = |c: char| {
        c.is_control() || c == '`' || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    name.chars().map(|c| if is_odd(c) { '\u{fffd}' } else { c }).collect()
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes.
    Approve(Lifetime),
    /// No.
    Refuse(Lifetime),
    /// There is nobody, or they decided nothing.
    Nobody,
    /// They are asked, and the answer comes when the same is tried again.
    Later,
}

/// Who is asked: a person at a terminal, through a client, or by a host's own means.
pub trait Approver {
    /// Asks, and waits for the answer.
    fn ask(&mut self, question: &Question<'_>) -> Answer;
}

/// Where there is nobody to ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&mut self, _: &Question<'_>) -> Answer {
        Answer::Nobody
    }
}
