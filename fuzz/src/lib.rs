//! Properties that must hold for any bytes: one function per parser of untrusted input.
//!
//! The runner in this crate calls them with generated inputs on the stable toolchain. `libfuzzer/` calls the
//! same functions with coverage feedback.

mod codecs;
mod hook;
mod settings;

pub use codecs::{check_acp, check_claude, check_codex, check_openai};
pub use hook::check_hook;
pub use settings::check_settings;

use metier_journal::verify_export;
use metier_policy::{Allowlist, Anchors, Denylist, Guard, GuardMode, GuardedSkill, ToolCall, Verdict};
use metier_scan::{RiskLevel, ScanVerdict, Subject, SubjectEntry, scan};
use metier_skill::{
    Diagnostic, Manifest, ManifestFile, Origin, Profile, Reading, Rules, Tier, ToolRules, apply_fixes,
    body_of, read,
};
use metier_store::{
    ArchiveLayout, ArchiveLimits, GIT_HOST, ManifestKind, Marketplace, PluginManifest, PluginSource,
    SkillIndex, SourceAddress, StoreError, unpack,
};
use serde_json::Value;

/// Reads the bytes in every profile and checks the properties. The error names the one that was violated.
pub fn check_read(bytes: &[u8]) -> Result<(), String> {
    for rules in [Rules::strict(), Rules::standard(), Rules::lenient()] {
        for origin in [Origin::directory("my-skill"), Origin::file("my-skill.md")] {
            let reading = read(bytes, origin, &rules);
            check_reading(&reading, &rules)
                .map_err(|what| format!("{:?}, {origin:?}: {what}", rules.profile))?;
            check_fixes(&reading, origin, &rules)
                .map_err(|what| format!("{:?}, {origin:?}: {what}", rules.profile))?;
        }
    }
    Ok(())
}

fn check_reading(reading: &Reading, rules: &Rules) -> Result<(), String> {
    if let Some(skill) = &reading.skill
        && skill.body != *body_of(&reading.text)
    {
        return Err("the body read alone differs from the body of the skill".to_owned());
    }
    let has_error = reading.diagnostics.iter().any(Diagnostic::is_error);
    if reading.is_valid() == has_error {
        return Err(format!("is_valid() is {}, but there are errors: {has_error}", reading.is_valid()));
    }
    for found in &reading.diagnostics {
        if reading.text.get(found.span.range()).is_none() || found.line == 0 || found.column == 0 {
            return Err(format!("a finding is outside the text: {found:?}"));
        }
    }
    // A name that the profile only warns about is written unchanged, and reads back the same.
    let (true, Some(skill)) = (reading.is_valid(), &reading.skill) else { return Ok(()) };
    let written = skill.to_skill_md();
    let directory = if rules.profile == Profile::Lenient { "my-skill" } else { skill.name.as_str() };
    let again = read(written.as_bytes(), Origin::directory(directory), rules);
    // Escapes can make the frontmatter longer than the limit for reading.
    let is_longer = written.len() > rules.limits.frontmatter_bytes;
    match again.skill {
        Some(again) if again == *skill => Ok(()),
        _ if is_longer => Ok(()),
        again => Err(format!("written as {written:?}, which parses as {again:?} instead of {skill:?}")),
    }
}

fn check_fixes(reading: &Reading, origin: Origin<'_>, rules: &Rules) -> Result<(), String> {
    let (mut text, mut count) = apply_fixes(&reading.text, &reading.diagnostics);
    for _ in 0..10 {
        if count == 0 {
            return Ok(());
        }
        let again = read(text.as_bytes(), origin, rules);
        if reading.is_valid() && !again.is_valid() {
            return Err(format!("a fix made a valid skill invalid: {text:?}"));
        }
        (text, count) = apply_fixes(&again.text, &again.diagnostics);
    }
    Err(format!("applying fixes does not terminate: {text:?}"))
}

/// Parses the text of a source: what it is written as parses as the same source.
pub fn check_source(bytes: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let Ok(source) = SourceAddress::parse(text, GIT_HOST) else { return Ok(()) };
    let written = source.to_string();
    match SourceAddress::parse(&written, GIT_HOST) {
        Ok(again) if again == source => Ok(()),
        again => Err(format!("written as {written:?}, which parses as {again:?} instead of {source:?}")),
    }
}

/// Parses a file as a marketplace, a manifest and an index: no path that is accepted leads out of its directory.
pub fn check_plugin(bytes: &[u8]) -> Result<(), String> {
    let is_below = |path: &str| !path.starts_with('/') && path.split(['/', '\\']).all(|part| part != "..");
    let mut paths = Vec::new();
    if let Ok(found) = Marketplace::parse(bytes) {
        paths.extend(found.plugin_root);
        for entry in found.entries.into_iter().flatten() {
            paths.extend(entry.skills.into_iter().flatten());
            match entry.source {
                PluginSource::Path(path) => paths.push(path),
                PluginSource::Git { path, .. } => paths.extend(path),
                _ => {}
            }
        }
    }
    for kind in [ManifestKind::AgentPlugins, ManifestKind::Claude, ManifestKind::Cursor] {
        paths.extend(PluginManifest::parse(bytes, kind).into_iter().flat_map(|found| found.skills));
    }
    let _ = SkillIndex::parse(bytes);
    let out = paths.iter().find(|path| !is_below(path));
    out.map_or(Ok(()), |path| Err(format!("the path {path:?} leads out of its directory")))
}

/// Decides a tool call and checks the properties. The bytes are a tool, rules and an input, separated by
/// U+001F.
pub fn check_policy(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.splitn(3, '\u{1f}');
    let mut part = || parts.next().unwrap_or_default();
    let (tool, rules, input) = (part(), part(), part());
    let input =
        serde_json::from_str(input).ok().filter(Value::is_object).unwrap_or_else(|| Value::from(input));
    let call = ToolCall::new(tool, input);
    let places = Anchors::new("/repo", "/me").with_skill("/me/skill");
    let tools = ToolRules::split(rules);
    let list = Allowlist::new(&tools, &places);
    let skill = GuardedSkill::new("x", Tier::ThirdParty).allowing(list.clone());
    let decide = |mode| Guard::new(mode, vec![skill.clone()]).decide(&call);
    let strict = decide(GuardMode::Allowlist);
    if strict.verdict != decide(GuardMode::Allowlist).verdict {
        return Err("two decisions about the same call differ".to_owned());
    }
    if (strict.verdict == Verdict::Allow) != (list.find(&call).is_ok() || strict.code.as_str() == "own-tool")
    {
        return Err(format!("the guard and the list disagree: {strict:?}"));
    }
    if decide(GuardMode::Advisory).verdict == Verdict::Deny
        || decide(GuardMode::PreApprove).verdict != Verdict::Ask
    {
        let is_own = strict.code.as_str() == "own-tool";
        if !is_own {
            return Err("advisory or pre-approve mode gives a wrong verdict".to_owned());
        }
    }
    // A call that is both allowed and denied is denied. `Edit` rules allow reading, but do not deny it.
    let denied = Denylist::new(&tools, &places).find(&call).is_some();
    if call.name() == "Bash" && strict.verdict == Verdict::Allow && !denied {
        return Err(format!("allowed, but not denied by the same rules: {strict:?}"));
    }
    serde_json::to_string(&strict).map(drop).map_err(|error| error.to_string())
}

/// Verifies an exported journal and checks the properties: an intact journal has as many lines as records, and
/// every prefix of it is intact.
pub fn check_export(bytes: &[u8]) -> Result<(), String> {
    let verify = |mut bytes: &[u8]| verify_export(&mut bytes, &[]).map_err(|error| error.to_string());
    let found = verify(bytes)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        // Compressed: another text can have the same content.
        return Ok(());
    }
    // The first line may say where the records begin.
    let start = usize::from(found.first > 0);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let records = usize::try_from(found.records).unwrap_or(usize::MAX);
    if found.damage.is_none() && (records + start != lines.len() || bytes.last() != Some(&b'\n')) {
        return Err(format!("{} lines verify as intact, but with {records} records", lines.len()));
    }
    let whole = lines.get(..records + start).ok_or("more records than lines")?.concat();
    let again = verify(&whole)?;
    if records > 0 && (again.damage.is_some() || again.root != found.root) {
        return Err(format!("{records} records verify as intact, but not on their own: {again:?}"));
    }
    Ok(())
}

/// Parses a manifest as stored by a store. Anything that is accepted must serialize to exactly the same bytes.
pub fn check_manifest(bytes: &[u8]) -> Result<(), String> {
    let Some(manifest) = Manifest::parse(bytes) else { return Ok(()) };
    if manifest.to_bytes() != bytes {
        return Err("a manifest has two serialized forms".to_owned());
    }
    let is_found = |file: &ManifestFile| manifest.get(&file.path) == Some(file);
    if manifest.files().iter().all(is_found) {
        Ok(())
    } else {
        Err("a file of a manifest cannot be looked up".to_owned())
    }
}

/// Unpacks an archive and checks the properties: every path is safe to write and occurs once, and unpacking
/// again gives the same result.
pub fn check_archive(bytes: &[u8]) -> Result<(), String> {
    let run = || {
        let files = std::sync::Mutex::new(std::collections::BTreeMap::new());
        let twice = std::sync::atomic::AtomicBool::new(false);
        let unpacked = unpack(bytes, &ArchiveLimits::default(), &|file| {
            let mut files = files.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if files.insert(file.path.to_owned(), (file.is_executable, file.bytes.to_vec())).is_some() {
                twice.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            Ok(())
        });
        let files = files.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        (unpacked, files, twice.into_inner())
    };
    let (unpacked, files, is_twice) = run();
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let wrong = files.keys().find(|path| {
        !std::path::Path::new(path).components().all(is_plain) || path.contains(['\\', '\0', ':'])
    });
    if let Some(path) = wrong {
        return Err(format!("{path:?} was unpacked"));
    }
    if is_twice {
        return Err("a path was unpacked twice".to_owned());
    }
    let Ok(unpacked) = unpacked else { return Ok(()) };
    if !unpacked.files.iter().eq(files.keys()) {
        return Err("the listing differs from the unpacked files".to_owned());
    }
    if let Ok(layout) = ArchiveLayout::of(unpacked.files.iter().map(String::as_str))
        && layout.skills().iter().any(|skill| skill.is_empty() || skill.starts_with('/'))
    {
        return Err(format!("a skill without a folder: {layout:?}"));
    }
    let (again, files_again, _) = run();
    match again.as_ref().map_err(StoreError::code) {
        Ok(again) if *again == unpacked && files_again == files => Ok(()),
        again => Err(format!("the second run gives {again:?}")),
    }
}

/// Scans a file under several names and checks the properties: findings are inside the file, the same bytes
/// give the same report, and the verdict follows from the findings.
pub fn check_scan(bytes: &[u8]) -> Result<(), String> {
    for path in ["SKILL.md", "scripts/run.sh", "data.json", "logo.png", "files.zip"] {
        let subject = Subject::new("my-skill", vec![SubjectEntry::file(path, bytes)]);
        let report = scan(&subject);
        if report != scan(&subject) {
            return Err(format!("{path}: two reports about the same bytes differ"));
        }
        for found in &report.findings {
            let is_inside = found.span.is_none_or(|span| bytes.get(span.range()).is_some());
            if !is_inside || found.line == 0 || found.column == 0 || found.excerpt.chars().count() > 120 {
                return Err(format!("{path}: a finding is outside the file: {found:?}"));
            }
        }
        let is_high = report.findings.iter().any(|found| found.severity == RiskLevel::High);
        if is_high && report.verdict() != ScanVerdict::Block
            || report.verdict() == ScanVerdict::Block && report.because().is_empty()
        {
            return Err(format!("{path}: the verdict does not follow from the findings: {report:?}"));
        }
    }
    Ok(())
}
