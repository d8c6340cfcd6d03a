//! A skill that may be installed: found in a source, validated, scanned, and its signature checked. This module does
//! not decide whether it is installed.

use std::collections::{BTreeMap, BTreeSet};

use metier_catalog::read_requires;
use metier_scan::{ScanReport, ScanVerdict, SubjectFiles};
use metier_skill::{Code, Limits, Location, Profile, Rules, Skill, Tier};
use rayon::prelude::*;

use crate::archive::{ArchiveError, ArchiveLayout};
use crate::install::{InstallOptions, SkillSelection};
use crate::lock::LockedSkill;
use crate::provenance::{Provenance, ScanSummary, ValidSignature};
use crate::signature::{Signer, verify};
use crate::source::{FetchedSource, SkillSource};
use crate::staging::{Basket, Staged};
use crate::{SignatureError, StoreError};

/// How many names an error lists.
const NAMES_SHOWN: usize = 8;

/// A skill that may be installed.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) locked: LockedSkill,
    pub(crate) provenance: Provenance,
    pub(crate) staged: Staged,
    pub(crate) report: ScanReport,
    /// The key that signed it, trusted or not.
    pub(crate) key: Option<String>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Candidate {
    /// Sets the trust tier that the user chose earlier.
    pub(crate) fn trust(&mut self, tier: Tier) {
        (self.locked.tier, self.provenance.tier) = (tier, tier);
        "asked".clone_into(&mut self.provenance.tier_from);
    }
}

/// The requested skills of a source, each validated and scanned. Findings of the scan do not stop anything here.
pub(crate) fn candidates(
    source: &dyn SkillSource,
    fetched: &FetchedSource,
    basket: &Basket<'_>,
    wanted: &SkillSelection,
    profile: Profile,
    options: &InstallOptions,
) -> Result<Vec<Candidate>, StoreError> {
    let layout = basket.layout().or_else(|error| match error {
        // The source has skills, but none of the requested ones; or it has none any more.
        StoreError::Archive(ArchiveError::NoSkill)
            if !fetched.skills.is_empty() || matches!(wanted, SkillSelection::At(_)) =>
        {
            Ok(ArchiveLayout::default())
        }
        StoreError::Archive(ArchiveError::NoSkill) if !fetched.is_single => {
            let problem = "contains no skill: no folder in it has a `SKILL.md`".to_owned();
            Err(StoreError::Source { text: source.name(), problem })
        }
        error => Err(error),
    })?;
    let folders = chosen(source, fetched, &layout, wanted)?;
    let is_only = layout.skills().len() == 1;
    let candidate = |folder: &&str| {
        let signature = match &fetched.signature {
            Some(beside) if is_only => Some(beside.clone()),
            _ => basket.signature(folder).map_err(|error| match error {
                StoreError::Signature(source) => {
                    StoreError::SignatureOf { name: (*folder).to_owned(), source }
                }
                error => error,
            })?,
        };
        candidate(source, fetched, folder, basket.skill(folder), signature, profile, options)
    };
    folders.par_iter().map(candidate).collect()
}

/// The requested folders.
fn chosen<'l>(
    source: &dyn SkillSource,
    fetched: &FetchedSource,
    layout: &'l ArchiveLayout,
    wanted: &SkillSelection,
) -> Result<Vec<&'l str>, StoreError> {
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for folder in layout.skills() {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        if let Some(other) = named.insert(name, folder)
            && wanted.has(name)
        {
            let (first, second) = (other.to_owned(), folder.clone());
            return Err(StoreError::Twice { name: name.to_owned(), first, second });
        }
    }
    let all = if fetched.skills.is_empty() { layout.skills() } else { &fetched.skills };
    let has = all.iter().map(|folder| folder.rsplit('/').next().unwrap_or(folder));
    let has: BTreeSet<&str> = has.collect();
    let missing = |name: &String| StoreError::NoSuchSkill {
        source_name: source.name(),
        name: name.clone(),
        has: some(has.iter()),
    };
    match wanted {
        SkillSelection::All => Ok(named.into_values().collect()),
        SkillSelection::Only => {
            // Other files next to the only skill of an archive point to another format; signatures are fine.
            let is_stray = |file: &&String| {
                file.strip_suffix(".sig")
                    .is_none_or(|folder| !layout.skills().iter().any(|skill| skill == folder))
            };
            if let Some(file) = layout
                .outside()
                .iter()
                .find(is_stray)
                .filter(|_| fetched.is_single && layout.skills().len() == 1)
            {
                return Err(ArchiveError::OutsideSkill { file: file.clone() }.into());
            }
            match layout.skills() {
                [only] => Ok(vec![only]),
                several => Err(StoreError::Several {
                    source_name: source.name(),
                    count: several.len(),
                    names: some(named.keys()),
                }),
            }
        }
        SkillSelection::At(paths) => paths
            .iter()
            .map(|path| {
                let found = layout.skills().iter().find(|folder| *folder == path).map(String::as_str);
                found.ok_or_else(|| missing(path))
            })
            .collect(),
        // A name that is given twice counts once.
        SkillSelection::Named(names) => names
            .iter()
            .enumerate()
            .filter(|(at, name)| !names[..*at].contains(name))
            .map(|(_, name)| name)
            .map(|name| named.get(name.as_str()).copied().ok_or_else(|| missing(name)))
            .collect(),
    }
}

/// Some names, and how many more there are.
pub(crate) fn some<'a>(names: impl ExactSizeIterator<Item = &'a &'a str>) -> String {
    let more = names.len().saturating_sub(NAMES_SHOWN);
    let shown: Vec<String> = names.take(NAMES_SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn candidate(
    source: &dyn SkillSource,
    fetched: &FetchedSource,
    folder: &str,
    staged: Staged,
    signature: Option<String>,
    profile: Profile,
    options: &InstallOptions,
) -> Result<Candidate, StoreError> {
    let location = Location::find(&staged.directory)?;
    let (skill, about_rules) = valid(&location, folder, &profile.rules())?;
    let digest = staged.manifest.digest();
    let signer = signature.as_deref().map(|text| verify(text, &digest, &options.trust)).transpose();
    let (signer, key, mut notes) = match signer {
        Ok(signer) => {
            let key = signer.as_ref().map(|signer| signer.fingerprint.clone());
            (signer, key, Vec::new())
        }
        // A signature by an unknown key counts like no signature. Every other problem is an error.
        Err(SignatureError::UnknownKey { fingerprint, .. }) => {
            let name = skill.name.as_str();
            let note = format!(
                "`{name}` is signed by an unknown key, so the signature is ignored: {fingerprint}; if you know whose key it is, add it to \
                 `~/.config/metier/trusted-keys.toml`"
            );
            (None, Some(fingerprint), vec![note])
        }
        Err(source) => {
            return Err(StoreError::SignatureOf { name: skill.name.as_str().to_owned(), source });
        }
    };
    let report = SubjectFiles::read(&location, &Limits::default())?.scan();
    let (tier, tier_from) = tier(options.tier, signer.as_ref());
    let is_own = |note: &&String| fetched.folder.is_some() || note.starts_with(&format!("skipped {folder}/"));
    notes.extend(fetched.notes.iter().filter(is_own).cloned());
    notes.extend(about_rules.into_iter().map(|message| format!("`{}`: {message}", skill.name)));
    let path = match (&fetched.base, &fetched.folder) {
        (base, Some(_)) => base.clone(),
        (Some(base), None) => Some(format!("{base}/{folder}")),
        (None, None) => Some(folder.to_owned()),
    };
    let requires = skill
        .metadata_text()
        .into_iter()
        .find(|(key, value)| key == "requires" && !value.trim_start().starts_with('{'));
    let requires = requires
        .map(|(_, text)| read_requires(&text).into_iter().flatten().map(|one| one.to_string()).collect());
    let provenance = Provenance {
        source: source.name(),
        resolved: fetched.commit.clone().or_else(|| fetched.resolved.clone()),
        path: path.clone(),
        digest,
        time: options.time.clone(),
        who: options.who.clone(),
        tier,
        tier_from: tier_from.to_owned(),
        signature: signer.as_ref().zip(signature).map(|(signer, text)| ValidSignature {
            name: signer.name.clone(),
            fingerprint: signer.fingerprint.clone(),
            text,
        }),
        scan: scanned(&report, options.accept_risk),
        history: Vec::new(),
    };
    let locked = LockedSkill {
        name: skill.id.to_string(),
        version: skill.version().map(str::to_owned),
        tier,
        source: source.name(),
        reference: fetched.reference.clone(),
        commit: fetched.commit.clone(),
        path,
        digest,
        signer: signer.map(|signer| signer.fingerprint),
        profile,
        requires: requires.unwrap_or_default(),
        files: LockedSkill::lines(&staged.manifest),
    };
    Ok(Candidate { locked, provenance, staged, report, key, notes })
}

/// The skill if it is valid under these rules, with the notes for its user.
fn valid(location: &Location, folder: &str, rules: &Rules) -> Result<(Skill, Vec<String>), StoreError> {
    let reading = location.validate_with(rules, metier_policy::lint)?;
    let error = reading.diagnostics.iter().find(|found| found.is_error());
    let reason = error.map(|found| format!("{}:{}: {}", found.file, found.line, found.message));
    match (reading.skill, reason) {
        (Some(skill), None) => {
            let found = reading.diagnostics.into_iter().filter(|found| is_noted(found.code));
            Ok((skill, found.map(|found| found.message).collect()))
        }
        (_, reason) => Err(StoreError::Invalid {
            name: folder.to_owned(),
            reason: reason.unwrap_or_else(|| "it could not be read".to_owned()),
        }),
    }
}

/// Findings about a valid skill that its user should know: rules that do not do what they seem to, and text of a template.
const fn is_noted(code: Code) -> bool {
    code.is_about_tool_rule() || code.is_placeholder()
}

/// The trust tier: the one the user chose, else the signer's, else `third_party`.
fn tier(asked: Option<Tier>, signer: Option<&Signer>) -> (Tier, &'static str) {
    match (asked, signer) {
        (Some(tier), _) => (tier, "asked"),
        (None, Some(signer)) => (signer.tier, "signature"),
        (None, None) => (Tier::ThirdParty, "default"),
    }
}

fn scanned(report: &ScanReport, is_accepted: bool) -> ScanSummary {
    let mut rules: Vec<String> = report.findings.iter().map(|finding| finding.rule.to_owned()).collect();
    rules.sort_unstable();
    rules.dedup();
    let verdict = report.verdict();
    ScanSummary {
        verdict: verdict.as_str().to_owned(),
        rules,
        is_accepted: is_accepted && verdict == ScanVerdict::Block,
    }
}
