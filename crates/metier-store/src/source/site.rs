//! Skills of a site that publishes an index below `/.well-known/`.

use metier_skill::Digest;
use url::Url;

use super::address::WELL_KNOWN;
use super::download::{http, parse_url};
use super::index::{IndexArtifact, IndexEntry, SkillIndex};
use super::tree::{FileTree, check_digest};
use super::{FetchContext, FetchedSource, SkillSource, SourceAddress, SourcePlace};
use crate::StoreError;
use crate::archive::{ArchiveLimits, name as path_name};
use crate::candidate::some;
use crate::http::{Answer, Http, failed, shown};
use crate::install::SkillSelection;
use crate::staging::Basket;

/// The largest index, in bytes.
const INDEX_MAX: u64 = 8 << 20;

/// A site, as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteSource {
    url: String,
    /// Whether the user typed the URL.
    is_typed: bool,
}

impl SiteSource {
    pub(super) const fn new(url: String, is_typed: bool) -> Self {
        Self { url, is_typed }
    }

    /// The first index that exists: below the path of the site or at its root, at the current place or at the old one.
    fn index(&self, http: &Http<'_>) -> Result<(Answer, SkillIndex), StoreError> {
        let site = parse_url(&self.url)?;
        let root = site.origin().ascii_serialization();
        let mut places = Vec::new();
        for known in WELL_KNOWN {
            for base in [self.url.as_str(), &root] {
                places.push(format!("{base}{known}/index.json"));
            }
        }
        places.dedup();
        for place in &places {
            let url = parse_url(place)?;
            let answer = http.ask(&url, INDEX_MAX)?;
            match answer.status {
                200 => {
                    let index = SkillIndex::parse(&answer.bytes).map_err(|reason| failed(&url, reason))?;
                    return Ok((answer, index));
                }
                401 | 403 | 404 | 410 => {}
                status => return Err(failed(&url, format!("the server answered {status}"))),
            }
        }
        let problem = format!("publishes no skills: it has no `{}/index.json`", WELL_KNOWN[0]);
        Err(StoreError::Source { text: self.url.clone(), problem })
    }
}

impl SkillSource for SiteSource {
    fn name(&self) -> String {
        SourceAddress::from(SourcePlace::Site { url: self.url.clone() }).to_string()
    }

    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        let http = http(&self.url, self.is_typed, fetching);
        (fetching.progress)(&format!("reading the skills of {}", self.url));
        let (answer, index) = self.index(&http)?;
        let (mut notes, mut chosen, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &index.entries {
            let name = match entry {
                Ok(entry) => &entry.name,
                Err(problem) => &problem.name,
            };
            let is_wanted = match wanted {
                SkillSelection::At(names) => names.contains(name),
                wanted => wanted.has(name),
            };
            if names.contains(name) {
                return Err(failed(&answer.url, format!("two skills have the name `{name}`")));
            }
            names.push(name.clone());
            match entry {
                Ok(entry) if is_wanted => chosen.push(entry),
                Err(problem)
                    if is_wanted && !matches!(wanted, SkillSelection::All | SkillSelection::Only) =>
                {
                    return Err(failed(&answer.url, format!("`{name}` {}", problem.reason)));
                }
                Err(problem) if is_wanted => notes.push(format!("skipped `{name}`: it {}", problem.reason)),
                _ => {}
            }
        }
        if *wanted == SkillSelection::Only && chosen.len() > 1 {
            let names: Vec<&str> = chosen.iter().map(|entry| entry.name.as_str()).collect();
            let (count, names) = (names.len(), some(names.iter()));
            return Err(StoreError::Several { source_name: self.name(), count, names });
        }
        if chosen.is_empty() && matches!(wanted, SkillSelection::All | SkillSelection::Only) {
            let reason = if notes.is_empty() { "it lists no skills".to_owned() } else { notes.join("; ") };
            return Err(failed(&answer.url, reason));
        }
        let mut limits = fetching.limits;
        for entry in chosen {
            (fetching.progress)(&format!("downloading {}", entry.name));
            let tree = download(&http, &answer.url, entry, &limits)?;
            limits.total_bytes = limits.total_bytes.saturating_sub(tree.bytes());
            tree.put(basket, Some(&entry.name))?;
        }
        if !index.has_digests {
            notes.push(format!("{} has no digests, so its skills were not verified", shown(&answer.url)));
        }
        let resolved = Some(Digest::of(&answer.bytes).to_string());
        Ok(FetchedSource { resolved, skills: names, source_notes: notes, ..FetchedSource::default() })
    }
}

/// The files of one skill, verified if the index has digests.
fn download(
    http: &Http<'_>,
    index: &Url,
    entry: &IndexEntry,
    limits: &ArchiveLimits,
) -> Result<FileTree, StoreError> {
    let join = |text: &str| {
        let url =
            index.join(text).map_err(|_| failed(index, format!("`{}` has an invalid URL", entry.name)))?;
        let is_fine = url.host().is_some() && url.username().is_empty() && url.password().is_none();
        is_fine.then_some(url).ok_or_else(|| failed(index, format!("`{}` has an invalid URL", entry.name)))
    };
    let get = |url: &str, digest: &Digest, most: u64| {
        let url = join(url)?;
        let answer = http.get(&url, most)?;
        check_digest(&shown(&url), &answer.bytes, digest)?;
        Ok::<_, StoreError>((url, answer.bytes))
    };
    match &entry.artifact {
        IndexArtifact::SkillMd(url, digest) => {
            let (_, bytes) = get(url, digest, limits.file_bytes)?;
            Ok(FileTree::of_file("SKILL.md", bytes))
        }
        IndexArtifact::Archive(url, digest) => {
            let (url, bytes) = get(url, digest, limits.archive_bytes)?;
            let tree = FileTree::unpacked(&bytes, limits)?;
            if tree.root_skill() == Ok(None) {
                return Err(failed(&url, "the archive has no `SKILL.md` at its root".to_owned()));
            }
            Ok(tree)
        }
        IndexArtifact::Files(files) => {
            let mut tree = FileTree::default();
            let mut left = limits.file_bytes;
            for file in files {
                path_name::check(file.as_bytes(), limits.depth)?;
                let mut url = index.join(".").map_err(|_| failed(index, "it has no directory".to_owned()))?;
                if let Ok(mut parts) = url.path_segments_mut() {
                    parts.pop_if_empty().push(&entry.name).extend(file.split('/'));
                }
                let answer = http.get(&url, left)?;
                left = left.saturating_sub(answer.bytes.len() as u64);
                tree.add(file.clone(), answer.bytes);
            }
            Ok(tree)
        }
    }
}
