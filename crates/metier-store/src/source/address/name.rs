//! Names in registries: npm packages, OCI artifacts, skills of `ClawHub`, plugins of marketplaces.

use metier_skill::Digest;

use super::{OciAddress, SourceAddress, SourcePlace, skill_name, split_fragment, web, wrong};
use crate::StoreError;

/// The longest name of an npm package.
const PACKAGE_MAX: usize = 214;
/// The longest name of an OCI repository.
const REPOSITORY_MAX: usize = 255;

/// `npm:package[@range][#skill]`.
pub(super) fn npm(text: &str, rest: &str) -> Result<SourceAddress, StoreError> {
    let (rest, skill) = split_fragment(rest);
    let from = usize::from(rest.starts_with('@'));
    let (package, range) = match rest[from..].split_once('@') {
        Some((package, range)) => (&rest[..from + package.len()], Some(range)),
        None => (rest, None),
    };
    let name = match package.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
        Some(Some((scope, name))) if is_package(scope) => name,
        Some(_) => "",
        None => package,
    };
    if package.len() > PACKAGE_MAX || !is_package(name) {
        return Err(wrong(text, "is not `npm:package[@range][#skill]` with a valid name of a package"));
    }
    let is_range = |range: &str| {
        !range.is_empty()
            && range.chars().all(|c| c.is_ascii_alphanumeric() || " .-+_^~<>=|*".contains(c))
            && range.trim() == range
    };
    if range.is_some_and(|range| !is_range(range)) {
        return Err(wrong(text, "has an invalid version, range or tag after `@`"));
    }
    let skill = chosen(text, skill)?;
    let (package, range) = (package.to_owned(), range.map(str::to_owned));
    Ok(SourceAddress { place: SourcePlace::Npm { package, range }, skill })
}

/// Whether this is one part of the name of a package: lower case, and not hidden.
fn is_package(part: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && !part.starts_with(['.', '_', '-']) && part.chars().all(is_letter)
}

/// `oci://registry/name[:tag][@digest][#skill]`.
pub(super) fn oci(text: &str, rest: &str) -> Result<SourceAddress, StoreError> {
    let (rest, skill) = split_fragment(rest);
    let form = "is not `oci://registry/name[:tag][@sha256:digest]`";
    let place = rest.strip_prefix("//").ok_or_else(|| wrong(text, form))?;
    let (place, digest) = match place.split_once('@') {
        Some((place, digest)) => (place, Some(digest)),
        None => (place, None),
    };
    let (registry, name) = place.split_once('/').ok_or_else(|| wrong(text, form))?;
    web::check_authority(text, registry)?;
    let (repository, tag) = match name.split_once(':') {
        Some((name, tag)) => (name, Some(tag)),
        None => (name, None),
    };
    let is_part = |part: &str| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_inner = |c: char| is_letter(c) || matches!(c, '.' | '_' | '-');
        part.starts_with(is_letter) && part.ends_with(is_letter) && part.chars().all(is_inner)
    };
    if repository.len() > REPOSITORY_MAX || !repository.split('/').all(is_part) {
        return Err(wrong(text, "has an invalid name of a repository"));
    }
    let is_tag = |tag: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_inner = |c: char| is_letter(c) || matches!(c, '.' | '-');
        tag.len() <= 128 && tag.starts_with(is_letter) && tag.chars().all(is_inner)
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err(wrong(text, "has an invalid tag"));
    }
    let digest = digest.map(str::parse::<Digest>).transpose();
    let digest =
        digest.map_err(|_| wrong(text, "has an invalid digest after `@`; only `sha256:` is supported"))?;
    let skill = chosen(text, skill)?;
    let (registry, repository, tag) = (registry.to_owned(), repository.to_owned(), tag.map(str::to_owned));
    let place = SourcePlace::Oci(OciAddress { registry, repository, tag, digest });
    Ok(SourceAddress { place, skill })
}

/// `clawhub:[@owner/]slug[@version]`.
pub(super) fn clawhub(text: &str, rest: &str) -> Result<SourceAddress, StoreError> {
    let (owner, rest) = match rest.strip_prefix('@') {
        Some(owned) => match owned.split_once('/') {
            Some((owner, rest)) => (Some(owner), rest),
            None => (Some(""), ""),
        },
        None => (None, rest),
    };
    let (slug, version) = rest.split_once('@').map_or((rest, None), |(slug, version)| (slug, Some(version)));
    let is_name = |name: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        name.len() <= 128
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(is_letter)
    };
    let is_version = |version: &str| {
        is_name(version) || (!version.contains(['/', '#']) && version.parse::<semver::Version>().is_ok())
    };
    if !owner.is_none_or(is_name) || !is_name(slug) || !version.is_none_or(is_version) {
        return Err(wrong(text, "is not `clawhub:[@owner/]skill[@version]`"));
    }
    let (owner, version) = (owner.map(str::to_owned), version.map(str::to_owned));
    Ok(SourcePlace::ClawHub { owner, slug: slug.to_owned(), version }.into())
}

/// `plugin@marketplace`.
pub(super) fn plugin(text: &str, plugin: &str, marketplace: &str) -> Result<SourceAddress, StoreError> {
    if plugin.is_empty() {
        let hint = if text.contains('/') { format!("; did you mean `npm:{text}`?") } else { String::new() };
        return Err(wrong(text, &format!("has nothing before `@`{hint}")));
    }
    if !is_plugin_name(plugin) || marketplace.is_empty() || marketplace.starts_with(['@', '-']) {
        return Err(wrong(text, "is not `plugin@marketplace`"));
    }
    let (plugin, marketplace) = (plugin.to_owned(), marketplace.to_owned());
    Ok(SourcePlace::Plugin { plugin, marketplace }.into())
}

/// Whether this can be the name of a plugin.
pub(crate) fn is_plugin_name(name: &str) -> bool {
    let is_odd = |c: char| {
        c.is_whitespace() || c.is_control() || "@:/\\#".contains(c) || metier_skill::is_invisible(c)
    };
    !name.is_empty() && name.len() <= 128 && !name.starts_with(['-', '.']) && !name.contains(is_odd)
}

fn chosen(text: &str, skill: Option<&str>) -> Result<Option<String>, StoreError> {
    skill.map(|skill| skill_name(text, skill, || "write one after `#`".to_owned())).transpose()
}
