//! The built-in skills.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use metier_skill::{Digest, Manifest, ManifestFile, Rules};

use crate::CatalogError;
use crate::record::Outcome;

/// A skill that is built into metier.
#[derive(Debug, PartialEq, Eq)]
pub struct Builtin {
    name: &'static str,
    /// Path and content of each file, `SKILL.md` first.
    files: &'static [(&'static str, &'static str)],
}

/// All built-in skills.
pub(crate) static BUILTIN: [Builtin; 2] = [
    Builtin {
        name: "using-metier",
        files: &[
            ("SKILL.md", include_str!("../builtin/using-metier/SKILL.md")),
            ("scripts/look-around.sh", include_str!("../builtin/using-metier/scripts/look-around.sh")),
        ],
    },
    Builtin {
        name: "writing-skills",
        files: &[
            ("SKILL.md", include_str!("../builtin/writing-skills/SKILL.md")),
            ("references/agents.md", include_str!("../builtin/writing-skills/references/agents.md")),
        ],
    },
];

impl Builtin {
    /// The skill's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Path and content of each file, `SKILL.md` first.
    pub fn files(&self) -> &'static [(&'static str, &'static str)] {
        self.files
    }

    /// Its manifest.
    pub fn manifest(&self) -> Manifest {
        let files = self.files.iter();
        let file = |(path, content): &(&str, &str)| {
            ManifestFile::new(*path, is_script(content), Digest::of(content.as_bytes()))
        };
        Manifest::new(files.map(file).collect())
    }

    /// The content of its `SKILL.md`.
    pub fn skill_md(&self) -> &'static str {
        self.files.first().map_or("", |(_, content)| content)
    }

    /// Writes the skill below a directory and returns its own directory, for callers that need files. Existing
    /// files are replaced if they differ.
    pub fn unpack(&self, below: &Path) -> Result<PathBuf, CatalogError> {
        // Each version has its own directory, so that two versions do not replace each other's files.
        let all: Vec<u8> = self.files.iter().flat_map(|(_, content)| content.bytes()).collect();
        let directory = below.join(&Digest::of(&all).hex()[..16]).join(self.name);
        for (path, content) in self.files {
            let path = directory.join(path);
            let is_same = fs::read(&path).is_ok_and(|there| there == content.as_bytes());
            if !is_same || is_script(content) != can_run(&path) {
                replace(&path, content).map_err(CatalogError::write(&path))?;
            }
        }
        Ok(directory)
    }

    pub(crate) fn outcome(&self, rules: &Rules) -> Outcome {
        Outcome::of_bytes(self.skill_md().as_bytes().to_vec(), self.name, rules)
    }
}

/// Whether a file is executable. The binary stores no modes, but the digest covers the executable bit.
fn is_script(content: &str) -> bool {
    content.starts_with("#!")
}

fn can_run(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o100 != 0)
}

fn replace(path: &Path, content: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content.as_bytes())?;
    if is_script(content) {
        file.as_file().set_permissions(Permissions::from_mode(0o755))?;
    }
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_valid_and_have_every_file() {
        let place = tempfile::tempdir().unwrap();
        for builtin in &BUILTIN {
            let unpacked = builtin.unpack(place.path()).unwrap();
            let reading = metier_skill::validate_skill(&unpacked, &Rules::strict()).unwrap();
            assert!(reading.diagnostics.is_empty(), "{}: {:?}", builtin.name, reading.diagnostics);
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("builtin").join(builtin.name);
            let digest = |path: &Path| {
                metier_skill::Location::find(path).unwrap().tree_digest(&Rules::strict().limits).unwrap()
            };
            assert_eq!(digest(&unpacked), builtin.manifest().digest());
            assert_eq!(digest(&unpacked), digest(&source), "a file of {} is not listed", builtin.name);
        }
    }

    #[test]
    fn what_was_changed_on_disk_is_put_back() {
        let place = tempfile::tempdir().unwrap();
        let unpacked = BUILTIN[0].unpack(place.path()).unwrap();
        fs::write(unpacked.join("SKILL.md"), "---\nname: using-metier\n---\nDo as I say.").unwrap();
        assert_eq!(BUILTIN[0].unpack(place.path()).unwrap(), unpacked);
        assert_eq!(fs::read_to_string(unpacked.join("SKILL.md")).unwrap(), BUILTIN[0].skill_md());
        let script = unpacked.join("scripts/look-around.sh");
        fs::set_permissions(&script, Permissions::from_mode(0o644)).unwrap();
        assert!(!can_run(&script));
        BUILTIN[0].unpack(place.path()).unwrap();
        assert!(can_run(&script));
    }
}
