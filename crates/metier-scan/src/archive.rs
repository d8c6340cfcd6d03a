//! Lists the names in an archive inside a skill, and whether it is encrypted, without unpacking it.

/// What is known about an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Listing {
    pub(super) names: Vec<String>,
    pub(super) is_encrypted: bool,
    /// Whether the list is complete.
    pub(super) is_whole: bool,
}

/// The most entries that are listed.
const MOST: usize = 5_000;

/// The entries of a ZIP archive, from its central directory.
pub(super) fn zip(bytes: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let Some(end) = memchr::memmem::rfind(bytes, b"PK\x05\x06") else { return listing };
    let (Some(count), Some(start)) = (number(bytes, end + 10, 2), number(bytes, end + 16, 4)) else {
        return listing;
    };
    let mut at = start;
    for _ in 0..count.min(MOST) {
        let header = bytes.get(at..at.saturating_add(46)).filter(|header| header.starts_with(b"PK\x01\x02"));
        let Some(header) = header else { return listing };
        let length = |field: usize| number(header, field, 2).unwrap_or(0);
        listing.is_encrypted |= length(8) & 1 == 1;
        let Some(name) = bytes.get(at + 46..at + 46 + length(28)) else { return listing };
        listing.names.push(String::from_utf8_lossy(name).into_owned());
        at += 46 + length(28) + length(30) + length(32);
    }
    listing.is_whole = count <= MOST && count != 0xffff;
    listing
}

/// The entries of a tar archive.
pub(super) fn tar(bytes: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let mut at = 0_usize;
    while let Some(header) = bytes.get(at..at.saturating_add(512)) {
        if header.iter().all(|byte| *byte == 0) {
            listing.is_whole = true;
            return listing;
        }
        let until = |field: &[u8]| field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        let name = &header[..100];
        listing.names.push(String::from_utf8_lossy(&name[..until(name)]).into_owned());
        let size = std::str::from_utf8(&header[124..135]).ok().map(str::trim);
        let size = size.and_then(|size| usize::from_str_radix(size.trim_end_matches('\0'), 8).ok());
        let Some(size) = size.filter(|_| listing.names.len() < MOST) else { return listing };
        at = at.saturating_add(512).saturating_add(size.div_ceil(512).saturating_mul(512));
    }
    listing
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

impl Listing {
    /// A name that points outside of the directory where the archive is unpacked.
    pub(super) fn escaping(&self) -> Option<&str> {
        let leaves = |name: &&String| {
            name.starts_with(['/', '\\'])
                || name.contains(':')
                || name.split(['/', '\\']).any(|part| part == "..")
        };
        self.names.iter().find(leaves).map(String::as_str)
    }

    /// A name of a file that can be executed or read by an agent: everything except known harmless types.
    pub(super) fn readable(&self) -> Option<&str> {
        const HARMLESS: &[&str] = &[
            "png", "jpg", "jpeg", "gif", "webp", "ico", "bmp", "tif", "tiff", "csv", "tsv", "parquet", "npy",
            "wav", "mp3", "mp4", "ttf", "otf", "woff", "woff2", "rels", "xml", "stl",
        ];
        let is_read =
            |name: &&String| !name.ends_with('/') && !HARMLESS.contains(&super::kind::ending(name).as_str());
        self.names.iter().find(is_read).map(String::as_str)
    }

    /// A name of a program or a script, which documents should not contain.
    pub(super) fn runnable(&self) -> Option<&str> {
        const ENDINGS: &[&str] =
            &["exe", "dll", "sh", "py", "js", "ps1", "bat", "cmd", "vbs", "msi", "jar", "hta", "lnk", "scr"];
        let runs = |name: &&String| ENDINGS.contains(&super::kind::ending(name).as_str());
        self.names.iter().find(runs).map(String::as_str)
    }

    /// Whether a document contains macros, controls or embedded objects.
    pub(super) fn has_macros(&self) -> bool {
        self.names.iter().map(|name| name.to_ascii_lowercase()).any(|name| {
            name.ends_with("vbaproject.bin") || name.contains("/activex/") || name.contains("embeddings/ole")
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive that contains only names.
    pub(crate) fn made(names: &[&str], flags: u16) -> Vec<u8> {
        let mut bytes = b"PK\x03\x04".to_vec();
        let start = u32::try_from(bytes.len()).unwrap();
        for name in names {
            let mut header = [0; 46];
            header[..4].copy_from_slice(b"PK\x01\x02");
            header[8..10].copy_from_slice(&flags.to_le_bytes());
            header[28..30].copy_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
            bytes.extend(header);
            bytes.extend(name.bytes());
        }
        let mut end = [0; 22];
        end[..4].copy_from_slice(b"PK\x05\x06");
        end[10..12].copy_from_slice(&u16::try_from(names.len()).unwrap().to_le_bytes());
        end[16..20].copy_from_slice(&start.to_le_bytes());
        bytes.extend(end);
        bytes
    }

    #[test]
    fn names_are_listed() {
        let listing = zip(&made(&["a.txt", "../b.sh"], 0));
        assert_eq!(listing.names, ["a.txt", "../b.sh"]);
        assert!(listing.is_whole && !listing.is_encrypted);
        assert_eq!(
            (listing.escaping(), listing.runnable(), listing.readable()),
            (Some("../b.sh"), Some("../b.sh"), Some("a.txt"))
        );
        assert!(zip(&made(&["a"], 1)).is_encrypted);
        assert!(!zip(b"PK\x03\x04 and nothing more").is_whole);
        let mut header = vec![0; 1536];
        header[..5].copy_from_slice(b"x.exe");
        header[124..135].copy_from_slice(b"00000000000");
        let listing = tar(&header);
        assert!(listing.is_whole && listing.runnable() == Some("x.exe"));
    }
}
