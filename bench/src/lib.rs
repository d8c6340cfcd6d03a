//! Generates skills for benchmarks, with the size distribution of published skills.
//!
//! Half of them have a `SKILL.md` of more than 5.6 kB, and 1 in 20 has one of more than 20 kB. Half consist of
//! a single file, and 1 in 5 contains scripts. The same seed gives the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

pub mod catalog;
pub mod hits;
pub mod http;
pub mod mcp;
pub mod peers;
pub mod run;
pub mod table;

/// A small pseudo-random number generator: `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % limit as u64).unwrap_or(0)
    }

    /// True with a probability of 1 in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the given values.
    pub fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }
}

const WORDS: &[&str] = &[
    "agent", "answer", "branch", "build", "cache", "check", "client", "code", "command", "commit", "config",
    "data", "deploy", "design", "document", "error", "example", "export", "file", "format", "function",
    "guide", "handle", "import", "input", "issue", "library", "list", "log", "merge", "message", "metric",
    "model", "module", "note", "output", "package", "page", "parse", "path", "plan", "project", "prompt",
    "query", "read", "record", "release", "report", "request", "review", "rule", "schema", "script",
    "search", "server", "session", "skill", "source", "step", "store", "style", "table", "task", "team",
    "test", "token", "tool", "trace", "type", "update", "user", "value", "version", "view", "workflow",
    "write",
];

/// Writes `count` skills below a directory.
pub fn generate(directory: &Path, count: usize, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    for index in 0..count {
        let name = format!("{}-{}-{index}", random.pick(WORDS), random.pick(WORDS));
        let skill = directory.join(&name);
        fs::create_dir_all(&skill)?;
        let mut resources = Vec::new();
        // With the scripts below, half of all skills are left with nothing but `SKILL.md`.
        if random.below(8) < 3 {
            for number in 0..=random.below(4) {
                resources.push(format!("references/{}-{number}.md", random.pick(WORDS)));
            }
        }
        if random.once_in(5) {
            resources.push(format!("scripts/{}.sh", random.pick(WORDS)));
        }
        fs::write(skill.join("SKILL.md"), skill_md(&name, &resources, &mut random))?;
        for path in &resources {
            resource(&skill.join(path), &mut random)?;
        }
    }
    Ok(())
}

fn resource(path: &Path, random: &mut Random) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent)?;
    if path.extension().is_some_and(|ending| ending == "sh") {
        fs::write(path, "#!/usr/bin/env bash\nset -eu\necho done\n")?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
        return Ok(());
    }
    let mut text = String::from("# Details\n\n");
    paragraphs(&mut text, 2_000, random);
    fs::write(path, text)
}

/// One `SKILL.md` that is valid in every profile.
pub fn skill_md(name: &str, resources: &[String], random: &mut Random) -> String {
    let mut text = format!("---\nname: {name}\n");
    let words = 15 + random.below(30);
    let _ = match random.below(3) {
        0 => writeln!(text, "description: Use when you {}.", sentence(words, random)),
        1 => writeln!(text, "description: \"Use when: {}.\"", sentence(words, random)),
        _ => writeln!(
            text,
            "description: >-\n  Use when you {}\n  or {}.",
            sentence(words, random),
            sentence(8, random)
        ),
    };
    if random.once_in(3) {
        text.push_str("license: MIT\n");
    }
    if random.once_in(4) {
        text.push_str("allowed-tools: Read Grep Bash(git:*)\n");
    }
    if random.once_in(5) {
        let _ = write!(
            text,
            "metadata:\n  author: {}\n  version: \"1.{}\"\n",
            random.pick(WORDS),
            random.below(30)
        );
    }
    let _ = write!(text, "---\n\n# {name}\n\n");
    for path in resources {
        let _ = writeln!(text, "- See [`{path}`]({path}) for {}.", sentence(4, random));
    }
    // Half below 5.6 kB, 1 in 20 beyond 20 kB.
    let size = match random.below(20) {
        0 => 20_000 + random.below(10_000),
        1..=9 => 5_600 + random.below(9_000),
        _ => 600 + random.below(5_000),
    };
    paragraphs(&mut text, size, random);
    text
}

fn paragraphs(text: &mut String, size: usize, random: &mut Random) {
    let end = text.len() + size;
    while text.len() < end {
        let words = 8 + random.below(16);
        let _ = match random.below(8) {
            0 => writeln!(text, "\n## {}\n", sentence(3, random)),
            1 => writeln!(
                text,
                "```sh\n{} --{} {}\n```",
                random.pick(WORDS),
                random.pick(WORDS),
                random.pick(WORDS)
            ),
            2 | 3 => writeln!(text, "- **{}**: {}", random.pick(WORDS), sentence(words, random)),
            _ => writeln!(text, "{}. {}.", sentence(words, random), sentence(words, random)),
        };
    }
}

fn sentence(words: usize, random: &mut Random) -> String {
    (0..words).map(|_| random.pick(WORDS)).collect::<Vec<_>>().join(" ")
}
