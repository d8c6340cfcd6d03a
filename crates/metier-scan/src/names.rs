//! Finds names that imitate those of well-known skills.

use super::text::View;

/// Popular skills of known publishers. Short names are left out, because too many names are similar to them.
const KNOWN: &[&str] = &[
    "algorithmic-art",
    "artifacts-builder",
    "brainstorming",
    "brand-guidelines",
    "canvas-design",
    "clawhub",
    "code-review",
    "content-research-writer",
    "dispatching-parallel-agents",
    "doc-coauthoring",
    "executing-plans",
    "finishing-a-development-branch",
    "frontend-design",
    "internal-comms",
    "mcp-builder",
    "playwright",
    "receiving-code-review",
    "requesting-code-review",
    "security-review",
    "skill-creator",
    "skill-installer",
    "slack-gif-creator",
    "subagent-driven-development",
    "systematic-debugging",
    "test-driven-development",
    "theme-factory",
    "using-git-worktrees",
    "using-superpowers",
    "vercel-react-best-practices",
    "verification-before-completion",
    "web-artifacts-builder",
    "web-design-guidelines",
    "webapp-testing",
    "writing-plans",
    "writing-skills",
];

/// The known name that this one imitates; `None` if there is none or the name is equal.
pub(super) fn imitated(name: &str) -> Option<&'static str> {
    let read = String::from_utf8(View::read(name.as_bytes()).text).ok()?;
    let plain = read.replace(['_', ' ', '.'], "-").replace('0', "o").replace('1', "l");
    KNOWN.iter().copied().find(|known| {
        *known != name && (plain == *known && plain != name.to_ascii_lowercase() || is_near(&plain, known))
    })
}

/// Whether the names differ by one inserted, removed, replaced or swapped letter.
fn is_near(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() {
        (one.as_bytes(), other.as_bytes())
    } else {
        (other.as_bytes(), one.as_bytes())
    };
    if long.len() - short.len() > 1 || short.len() < 6 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (short, long) = (&short[same..], &long[same..]);
    match (short, long) {
        // `skill` and `skills` can be two legitimate names.
        ([], [extra]) => *extra != b's',
        ([a, rest @ ..], [b, others @ ..]) if short.len() == long.len() => {
            rest == others
                || matches!((rest, others), ([c, rest @ ..], [d, others @ ..]) if a == d && b == c && rest == others)
        }
        (short, [_, rest @ ..]) => short == rest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_the_names_themselves_are_not() {
        for name in [
            "skill-creater",
            "clawhubb",
            "skill-craetor",
            "frontend-desing",
            "mcp_builder",
            "skill-cre\u{430}tor",
            "p1aywright",
        ] {
            assert!(imitated(name).is_some(), "{name}");
        }
        for name in ["skill-creator", "code-reviews", "pdf", "my-skill", "frontend", "web-design"] {
            assert_eq!(imitated(name), None, "{name}");
        }
    }
}
