//! What must hold whatever the bytes: one function a reader of foreign bytes.
//!
//! The runner of this crate calls them with made-up inputs on the stable toolchain; `libfuzzer/` calls the same
//! functions with coverage feedback.

use metier_skill::{Diagnostic, Origin, Profile, Reading, Rules, apply_fixes, read};

/// Reads the bytes in every profile and checks what must hold. Says what does not.
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
    let has_error = reading.diagnostics.iter().any(Diagnostic::is_error);
    if reading.is_valid() == has_error {
        return Err(format!("valid is {}, but an error is {has_error}", reading.is_valid()));
    }
    for found in &reading.diagnostics {
        if reading.text.get(found.span.range()).is_none() || found.line == 0 || found.column == 0 {
            return Err(format!("a finding lies outside the text: {found:?}"));
        }
    }
    // A name that the profile only warns about is written as it was, and read back the same.
    let (true, Some(skill)) = (reading.is_valid(), &reading.skill) else { return Ok(()) };
    let written = skill.to_skill_md();
    let directory = if rules.profile == Profile::Lenient { "my-skill" } else { skill.name.as_str() };
    let again = read(written.as_bytes(), Origin::directory(directory), rules);
    // Escapes can make the frontmatter longer than what may be read.
    let is_longer = written.len() > rules.limits.frontmatter_bytes;
    match again.skill {
        Some(again) if again == *skill => Ok(()),
        _ if is_longer => Ok(()),
        again => Err(format!("written as {written:?}, which reads as {again:?}, not {skill:?}")),
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
    Err(format!("fixes do not come to an end: {text:?}"))
}
