//! Digests of whole skills, used to detect identical copies. A skill is read again only if the metadata of its
//! files changed.
//!
//! The digests are cached on disk beside the index and trusted under the same conditions: checksum, purpose and
//! file times must match. One file serves all roots, because copies can be in different roots.

use std::collections::HashMap;
use std::fs;
use std::hash::Hasher as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_skill::{Digest, Folder, Limits, SymlinkPolicy, Tree};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::CatalogError;
use crate::stamp::{Moment, is_settled};

const MAGIC: &[u8; 16] = b"metier-trees-01\n";

/// Larger files were not written by metier.
const SIZE_MAX: u64 = 64 << 20;

/// The maximum number of cached skills. If there are more, only those of the last scan are kept.
const KNOWN_MAX: usize = 20_000;

/// Digests of skills, by directory.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    file: Option<PathBuf>,
    purpose: String,
    /// `None` until the first digest is requested; most catalogs have no copies.
    known: Option<HashMap<PathBuf, Known>>,
    is_unsaved: bool,
    /// When the current scan started.
    now: Option<Moment>,
    /// How many skills were read completely since then.
    digested: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    /// A digest over the paths and metadata of all files.
    listing: [u8; 32],
    digest: [u8; 32],
    /// When it was read.
    when: Moment,
    /// Whether the last scan asked for it.
    #[serde(skip)]
    is_used: bool,
}

impl Trees {
    /// Uses the cache in the directory of an index, if there is one.
    pub(crate) fn new(index: Option<&Path>, limits: &Limits) -> Self {
        let purpose = format!("{} {limits:?}", env!("CARGO_PKG_VERSION"));
        Self { file: index.map(|directory| directory.join("trees.cache")), purpose, ..Self::default() }
    }

    /// Starts a scan.
    pub(crate) fn begin(&mut self, now: SystemTime) {
        (self.now, self.digested) = (Some(now.into()), 0);
        self.known.iter_mut().flatten().for_each(|(_, known)| known.is_used = false);
    }

    /// How many skills were read completely since the scan started.
    pub(crate) fn digested(&self) -> usize {
        self.digested
    }

    /// The digest of the skill in a directory; `None` if it has none.
    pub(crate) fn digest(&mut self, directory: &Path, limits: &Limits) -> Option<Digest> {
        if self.known.is_none() {
            self.known = Some(self.load().unwrap_or_default());
        }
        let known = self.known.get_or_insert_default();
        // Each skill is checked only once per scan.
        if let Some(known) = known.get(directory).filter(|known| known.is_used) {
            return Some(Digest::from_bytes(known.digest));
        }
        let tree = Tree::of_directory(directory, limits, SymlinkPolicy::Skip).ok()?;
        tree.within(limits).ok()?;
        let listing = *listing(&tree).as_bytes();
        let newest = tree.files.iter().map(|file| file.stamp.changed).max().unwrap_or(i64::MIN);
        if let Some(known) = known.get_mut(directory)
            && known.listing == listing
            && is_settled(newest, known.when)
        {
            known.is_used = true;
            return Some(Digest::from_bytes(known.digest));
        }
        self.digested += 1;
        let digest = Folder::open(directory).and_then(|folder| folder.manifest(limits)).ok()?.digest();
        if let Some(when) = self.now {
            let fresh = Known { listing, digest: *digest.as_bytes(), when, is_used: true };
            known.insert(directory.to_owned(), fresh);
            self.is_unsaved = true;
        }
        Some(digest)
    }

    /// Writes the cache, if there is a place for it.
    pub(crate) fn save(&mut self) -> Result<(), CatalogError> {
        let (Some(file), Some(known), true) = (&self.file, &mut self.known, self.is_unsaved) else {
            return Ok(());
        };
        if known.len() > KNOWN_MAX {
            known.retain(|_, known| known.is_used);
        }
        let Some(bytes) = encode(&self.purpose, known) else { return Ok(()) };
        let write = || -> io::Result<()> {
            let directory = file.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let mut written = tempfile::Builder::new().suffix(".tmp").tempfile_in(directory)?;
            written.write_all(&bytes)?;
            written.persist(file).map(drop).map_err(|error| error.error)
        };
        write().map_err(CatalogError::write(file))?;
        self.is_unsaved = false;
        Ok(())
    }

    fn load(&self) -> Option<HashMap<PathBuf, Known>> {
        let file = self.file.as_ref()?;
        if fs::metadata(file).ok()?.len() > SIZE_MAX {
            return None;
        }
        let bytes = fs::read(file).ok()?;
        let (checksum, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        if hash(rest) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let (purpose, known): (String, HashMap<PathBuf, Known>) = postcard::from_bytes(rest).ok()?;
        (purpose == self.purpose).then_some(known)
    }
}

fn encode(purpose: &str, known: &HashMap<PathBuf, Known>) -> Option<Vec<u8>> {
    let rest = postcard::to_stdvec(&(purpose, known)).ok()?;
    Some([MAGIC, hash(&rest).to_le_bytes().as_slice(), &rest].concat())
}

/// Changes whenever a file is added, removed, replaced or changed.
fn listing(tree: &Tree) -> Digest {
    let mut text = Vec::with_capacity(tree.files.len() * 80);
    for file in &tree.files {
        let stamp = file.stamp;
        let numbers = [stamp.inode, file.size, u64::from(file.executable)];
        text.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        text.extend([stamp.modified, stamp.changed].iter().flat_map(|time| time.to_le_bytes()));
        text.extend((file.path.as_os_str().len() as u64).to_le_bytes());
        text.extend_from_slice(file.path.as_os_str().as_bytes());
    }
    // If a file cannot be read, there is no digest, and reading is tried again each time.
    text.extend((tree.skipped.len() as u64).to_le_bytes());
    Digest::of(&text)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = XxHash3_64::with_seed(0);
    hash.write(bytes);
    hash.finish()
}
