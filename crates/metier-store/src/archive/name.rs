//! Checks which names can become paths: relative, separated by `/`, and naming the same file on every system.

use metier_skill::VCS_DIRECTORIES;

use super::error::{ArchiveError, NameProblem};

/// The most bytes of one part of a name, the limit of file systems.
const PART_MAX: usize = 255;
/// The most bytes of a whole name, the limit of the strictest system.
const NAME_MAX: usize = 1_024;

/// The name as a path, if it is allowed. A directory's path has no trailing `/`.
pub(crate) fn check(name: &[u8], depth: usize) -> Result<&str, ArchiveError> {
    problem_of(name, depth).map_err(|problem| ArchiveError::name(name, problem))
}

fn problem_of(name: &[u8], depth: usize) -> Result<&str, NameProblem> {
    let too_long = NameProblem::TooLong { part: PART_MAX, all: NAME_MAX };
    if name.len() > NAME_MAX {
        return Err(too_long);
    }
    let name = std::str::from_utf8(name).map_err(|_| NameProblem::NotUtf8)?;
    let bytes = name.as_bytes();
    let has_drive = matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic());
    if has_drive || name.starts_with(['/', '\\']) {
        return Err(NameProblem::Absolute);
    }
    if name.split(['/', '\\']).any(|part| part == "..") {
        return Err(NameProblem::Parent);
    }
    if name.contains('\\') {
        return Err(NameProblem::Backslash);
    }
    if name.chars().any(char::is_control) {
        return Err(NameProblem::Control);
    }
    if name.chars().any(metier_skill::is_invisible) {
        return Err(NameProblem::Invisible);
    }
    for part in name.split('/') {
        if part.is_empty() || part == "." {
            return Err(NameProblem::Component);
        }
        if part.len() > PART_MAX {
            return Err(too_long);
        }
        windows(part)?;
    }
    if name.split('/').count() > depth + 1 {
        return Err(NameProblem::TooDeep { limit: depth });
    }
    Ok(name)
}

/// Device names, which are reserved with any extension; the numbered ones also with superscript digits.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Whether Windows allows a part of a name.
fn windows(part: &str) -> Result<(), NameProblem> {
    let refuse = |why| Err(NameProblem::Windows { why });
    if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return refuse("it contains one of `<>:\"|?*`");
    }
    if part.ends_with(['.', ' ']) {
        return refuse("it ends with a dot or a space");
    }
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_lowercase();
    let is_number = |rest: &str| matches!(rest, "¹" | "²" | "³") || matches!(rest.as_bytes(), [b'0'..=b'9']);
    let is_numbered = NUMBERED_DEVICES.iter().any(|device| stem.strip_prefix(device).is_some_and(is_number));
    if DEVICES.contains(&stem.as_str()) || is_numbered {
        return refuse("it is the name of a device");
    }
    // The short name of a directory such as `.git`, which would be that directory on Windows.
    let is_short =
        |known: &&str| part.strip_suffix("~1").is_some_and(|stem| stem.eq_ignore_ascii_case(&known[1..]));
    if VCS_DIRECTORIES.iter().any(is_short) {
        return refuse("it is the short name of a version-control directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str) -> &'static str {
        check(name.as_bytes(), 3).map_or_else(|error| error.code(), |_| "fine")
    }

    #[test]
    fn names_of_devices_are_refused_and_their_likes_are_not() {
        for name in ["CON", "nul.txt", "a/aux.tar.gz", "com1", "LPT9.md", "COM¹", "con .txt", "CONIN$"] {
            assert_eq!(code(name), "archive-name-windows", "{name}");
        }
        for name in ["console", "com", "com10", "nullable.rs", "a.con", "auxiliary", ".nul", "lpt-1"] {
            assert_eq!(code(name), "fine", "{name}");
        }
    }

    #[test]
    fn short_names_of_version_control_are_refused() {
        for name in ["git~1", "a/GIT~1/hooks/post-checkout", "a/Git~1", "svn~1/x"] {
            assert_eq!(code(name), "archive-name-windows", "{name}");
        }
        for name in ["git~", "git~10", "a/digit~1", "~1"] {
            assert_eq!(code(name), "fine", "{name}");
        }
    }

    #[test]
    fn what_starts_elsewhere_is_absolute_whatever_else_is_wrong() {
        for name in ["/x", "C:\\x", "c:x", "\\\\server\\x", "\\x", "//x"] {
            assert_eq!(code(name), "archive-name-absolute", "{name}");
        }
        for name in ["..", "a/../b", "a\\..\\b", "../x", "a/.."] {
            assert_eq!(code(name), "archive-name-parent", "{name}");
        }
        for name in ["...", "a/.../b", "..a/b", "a..b"] {
            assert_ne!(code(name), "archive-name-parent", "{name}");
        }
    }

    #[test]
    fn depth_counts_folders() {
        assert_eq!(code("a/b/c/file"), "fine");
        assert_eq!(code("a/b/c/d/file"), "archive-too-deep");
    }
}
