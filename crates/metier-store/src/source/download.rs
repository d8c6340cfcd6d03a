//! Skills in one file at a URL: an archive, or a `SKILL.md`.

use metier_skill::{Digest, SKILL_FILES};
use url::Url;

use super::address::{host_of, is_this_machine};
use super::tree::{FileTree, check_digest};
use super::{FetchContext, FetchedSource, SkillSource, SourceAddress, SourcePlace};
use crate::StoreError;
use crate::http::{Http, failed, shown};
use crate::install::SkillSelection;
use crate::staging::Basket;

/// A file at a URL, as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadSource {
    url: String,
    digest: Option<Digest>,
    /// Whether the user typed the URL.
    is_typed: bool,
}

impl DownloadSource {
    pub(super) const fn new(url: String, digest: Option<Digest>, is_typed: bool) -> Self {
        Self { url, digest, is_typed }
    }
}

/// Downloads from a URL that the user typed or that a file names. Only what the user typed may be an address of its own.
pub(super) fn http<'n>(url: &str, is_typed: bool, fetching: &'n FetchContext<'_>) -> Http<'n> {
    let host = host_of(url);
    let is_address =
        is_this_machine(host) || host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    Http::new(fetching, Some(host).filter(|_| is_typed && is_address))
}

/// A URL that the grammar has accepted.
pub(super) fn parse_url(text: &str) -> Result<Url, StoreError> {
    Url::parse(text).map_err(|error| StoreError::Source {
        text: text.to_owned(),
        problem: format!("is not a valid URL: {error}"),
    })
}

impl SkillSource for DownloadSource {
    fn name(&self) -> String {
        let place = SourcePlace::Download { url: self.url.clone(), digest: self.digest };
        SourceAddress::from(place).to_string()
    }

    fn fetch(
        &self,
        _: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        let url = parse_url(&self.url)?;
        let http = http(&self.url, self.is_typed, fetching);
        (fetching.progress)(&format!("downloading {}", shown(&url)));
        let answer = http.get(&url, fetching.limits.archive_bytes)?;
        if let Some(expected) = &self.digest {
            check_digest(&shown(&url), &answer.bytes, expected)?;
        }
        (fetching.progress)("unpacking");
        let resolved = Digest::of(&answer.bytes);
        let file = url.path().rsplit('/').next().unwrap_or_default();
        let tree = if SKILL_FILES.contains(&file) {
            FileTree::of_file(file, answer.bytes)
        } else {
            FileTree::unpacked(&answer.bytes, &fetching.limits)?
        };
        let (notes, mut source_notes) = (tree.notes.clone(), Vec::new());
        if self.digest.is_none() {
            source_notes.push(format!(
                "{} was not verified: no digest was given; write `#{resolved}` after the URL to get only this content",
                shown(&url)
            ));
        }
        let folder = tree.root_skill().map_err(|reason| failed(&url, reason))?;
        tree.put(basket, folder.as_deref())?;
        let resolved = Some(resolved.to_string());
        Ok(FetchedSource { resolved, folder, notes, source_notes, ..FetchedSource::default() })
    }
}
