//! Errors for refused archives: one code for each problem.

/// Why an archive was refused. Files that were already passed to the writer must be discarded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The name of an entry cannot become a path.
    #[error("`{entry}` in the archive {problem}")]
    Name {
        /// The name, with unprintable characters escaped.
        entry: String,
        /// The problem.
        problem: NameProblem,
    },
    /// An entry is not a regular file or directory, or its headers are wrong.
    #[error("`{entry}` in the archive {problem}")]
    Entry {
        /// Its name, with unprintable characters escaped.
        entry: String,
        /// The problem.
        problem: EntryProblem,
    },
    /// The file is neither ZIP nor tar.
    #[error(
        "not an archive: the file looks like {looks_like}; supported: ZIP (`.zip`, `.skill`), tar and tar.gz"
    )]
    UnknownFormat {
        /// What the first bytes look like.
        looks_like: &'static str,
    },
    /// The archive contains no files.
    #[error("the archive contains no files")]
    Empty,
    /// The archive ends too early.
    #[error("the archive is truncated: {what}; download it again")]
    Truncated {
        /// What is missing.
        what: &'static str,
    },
    /// A header is invalid.
    #[error("the archive is damaged at byte {at}: {what}")]
    Malformed {
        /// What was expected or found.
        what: &'static str,
        /// The offset in the archive; in a tar.gz, the offset in the decompressed data.
        at: u64,
    },
    /// The archive itself is too large.
    #[error("the archive is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// Too many files and directories, including directories that appear only in paths.
    #[error("the archive contains more than {limit} files and directories")]
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// The files together are too large.
    #[error("the files in the archive are larger than {limit} bytes in total")]
    UnpacksTooLarge {
        /// The limit.
        limit: u64,
    },
    /// The whole archive has a compression ratio that is typical of bombs.
    #[error("the archive unpacks to more than {limit} times its size")]
    Ratio {
        /// The limit.
        limit: u64,
    },
    /// The file starts with other data, so that programs can take it for something else.
    #[error(
        "the ZIP archive does not start at the first byte of the file; other programs may read different content"
    )]
    LeadingData,
    /// Data follows the end of the archive.
    #[error("unexpected data after the end of the archive, at byte {at}")]
    TrailingData {
        /// Where the data starts; in a tar.gz, after the gzip stream or in the decompressed data.
        at: u64,
    },
    /// There are several end records, which point to different lists of files.
    #[error("the ZIP archive has two end records; programs may read different content")]
    TwoEnds,
    /// The archive is one part of a split archive.
    #[error("the ZIP archive is split into several files; join them first")]
    MultiDisk,
    /// The two end records of a ZIP64 archive contradict each other.
    #[error("the ZIP archive's 64-bit end record {what}")]
    Zip64 {
        /// What is wrong with the record.
        what: &'static str,
    },
    /// The list of files has another length than the end record says.
    #[error("the ZIP archive lists {listed} entries, but its end record says {said}")]
    EntryCount {
        /// The number in the end record.
        said: u64,
        /// The number of entries found before the list ended, or one more than the end record says.
        listed: u64,
    },
    /// Several gzip streams, of which some programs read only the first.
    #[error("the gzip file has several members; programs may read different content")]
    GzipMembers,
    /// The checksum of the gzip stream is wrong.
    #[error("the gzip file is damaged: its checksum or length is wrong; download it again")]
    GzipChecksum,
    /// No folder contains a `SKILL.md`.
    #[error("the archive contains no skill: no folder has a `SKILL.md`")]
    NoSkill,
    /// The skill is at the root of the archive, so its folder and its name are missing.
    #[error("`{file}` is at the root of the archive; pack the skill's folder itself, not only its content")]
    SkillAtRoot {
        /// The file.
        file: String,
    },
    /// Exactly one skill was expected.
    #[error("the archive has {count} skills where one was expected: `{first}`, `{second}`{}; choose one", if *count > 2 { ", …" } else { "" })]
    SeveralSkills {
        /// How many there are.
        count: usize,
        /// The folder of the first one.
        first: String,
        /// The folder of the second one.
        second: String,
    },
    /// A file outside of the skills' folders.
    #[error("`{file}` in the archive is outside of the skills' folders")]
    OutsideSkill {
        /// The first such file.
        file: String,
    },
}

/// What is wrong with the name of an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// `..`
    #[error("leaves the archive's folder with `..`")]
    Parent,
    /// `/x`, `C:\x`, `\\server`
    #[error("is an absolute path")]
    Absolute,
    /// A backslash, which is a separator on some systems and a normal character on others.
    #[error("has a backslash in its name; pack it again with `/` between folders")]
    Backslash,
    /// An empty part, `a//b` or `a/./b`.
    #[error("has an empty part or `.` in its name")]
    Component,
    /// A control character or a zero byte.
    #[error("has a control character in its name")]
    Control,
    /// An invisible character, or one that changes the text direction.
    #[error("has an invisible character in its name")]
    Invisible,
    /// Not UTF-8.
    #[error("has a name that is not UTF-8; pack it again with names in UTF-8")]
    NotUtf8,
    /// Longer than file systems allow.
    #[error("has a name that is too long: at most {part} bytes per part and {all} in total")]
    TooLong {
        /// The most bytes of one part.
        part: usize,
        /// The most bytes of the whole name.
        all: usize,
    },
    /// Not allowed on Windows.
    #[error("has a name that Windows does not allow: {why}; rename it")]
    Windows {
        /// The reason.
        why: &'static str,
    },
    /// Too deeply nested.
    #[error("is nested more than {limit} folders deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A duplicate name.
    #[error("appears twice")]
    Duplicate,
    /// A name that differs only in case.
    #[error("differs from `{other}` only in case and is the same file on some systems; rename one of them")]
    CaseCollision {
        /// The last part of the other name.
        other: String,
    },
    /// A name that differs only in its Unicode normalization.
    #[error(
        "looks the same as `{other}` but is encoded differently (Unicode normalization); rename one of them"
    )]
    UnicodeCollision {
        /// The last part of the other name.
        other: String,
    },
    /// A file that is also used as a folder.
    #[error("is both a file and a folder")]
    FileAndFolder,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// A symbolic link.
    #[error("is a symbolic link; pack the file it points to")]
    SymbolicLink,
    /// A hard link.
    #[error("is a hard link; pack it again without links (`tar --hard-dereference`)")]
    HardLink,
    /// A device, FIFO or socket.
    #[error("is a {kind}, which skills must not contain")]
    Special {
        /// The kind of file.
        kind: &'static str,
    },
    /// An entry type that is unknown, or that belongs to another archive format.
    #[error("has the unknown entry type {0:?}", char::from(*.kind))]
    UnknownType {
        /// The type.
        kind: u8,
    },
    /// The name says file and the permissions say folder, or the reverse.
    #[error("is a folder by its name but a file by its type, or the reverse")]
    TypeDiffers,
    /// A folder with content.
    #[error("is a folder with content")]
    FolderWithData,
    /// The entry is encrypted.
    #[error("is encrypted; pack it again without a password")]
    Encrypted,
    /// A compression method other than stored and deflate.
    #[error("uses an unsupported compression method ({method}); pack it again with standard ZIP compression")]
    Method {
        /// The number of the method.
        method: u16,
    },
    /// Two headers give the entry different names.
    #[error("has another name in its second header; programs may use different names")]
    NameDiffers,
    /// The size in a header is wrong, or two headers disagree on it.
    #[error("has a size that does not match its headers")]
    SizeDiffers,
    /// Two headers disagree on something else.
    #[error("has two headers that disagree on {what}")]
    HeaderDiffers {
        /// What they disagree on.
        what: &'static str,
    },
    /// The checksum is wrong.
    #[error("is damaged: its checksum is wrong; download the archive again")]
    Checksum,
    /// The compressed data is invalid.
    #[error("is damaged: it cannot be decompressed; download the archive again")]
    Corrupt,
    /// The entry shares bytes with another entry.
    #[error("shares bytes with another entry, which is typical of archive bombs")]
    Overlap,
    /// Unused bytes between this entry and the next.
    #[error("is followed by bytes that do not belong to any entry")]
    Gap,
    /// The file is too large.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A compression ratio that is typical of bombs.
    #[error("unpacks to more than {limit} times its size, which is typical of archive bombs")]
    Ratio {
        /// The limit.
        limit: u64,
    },
    /// ZIP64 sizes that contradict the header.
    #[error("has 64-bit sizes that contradict its header")]
    Zip64,
    /// The checksum of a tar header is wrong.
    #[error("has a header with a wrong checksum; download the archive again")]
    HeaderChecksum,
    /// A sparse file.
    #[error("is a sparse file; pack it again without `--sparse`")]
    Sparse,
    /// An extended tar header that is invalid or contradicts the header it extends.
    #[error("has an extended header that {what}")]
    Extension {
        /// The problem.
        what: &'static str,
    },
}

impl ArchiveError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Name { problem, .. } => problem.code(),
            Self::Entry { problem, .. } => problem.code(),
            Self::UnknownFormat { .. } => "archive-unknown-format",
            Self::Empty => "archive-empty",
            Self::Truncated { .. } => "archive-truncated",
            Self::Malformed { .. } => "archive-malformed",
            Self::TooLarge { .. } => "archive-too-large",
            Self::TooManyEntries { .. } => "archive-too-many-entries",
            Self::UnpacksTooLarge { .. } => "archive-unpacks-too-large",
            Self::Ratio { .. } => "archive-ratio",
            Self::LeadingData => "archive-leading-data",
            Self::TrailingData { .. } => "archive-trailing-data",
            Self::TwoEnds => "archive-two-ends",
            Self::MultiDisk => "archive-multi-disk",
            Self::Zip64 { .. } => "archive-zip64",
            Self::EntryCount { .. } => "archive-entry-count",
            Self::GzipMembers => "archive-gzip-members",
            Self::GzipChecksum => "archive-gzip-checksum",
            Self::NoSkill => "archive-no-skill",
            Self::SkillAtRoot { .. } => "archive-skill-at-root",
            Self::SeveralSkills { .. } => "archive-several-skills",
            Self::OutsideSkill { .. } => "archive-outside-skill",
        }
    }

    /// An error about the name of an entry.
    pub(crate) fn name(name: &[u8], problem: NameProblem) -> Self {
        Self::Name { entry: shown(name), problem }
    }

    /// An error about an entry.
    pub(crate) fn entry(name: &[u8], problem: EntryProblem) -> Self {
        Self::Entry { entry: shown(name), problem }
    }
}

impl NameProblem {
    const fn code(&self) -> &'static str {
        match self {
            Self::Parent => "archive-name-parent",
            Self::Absolute => "archive-name-absolute",
            Self::Backslash => "archive-name-backslash",
            Self::Component => "archive-name-component",
            Self::Control => "archive-name-control",
            Self::Invisible => "archive-name-invisible",
            Self::NotUtf8 => "archive-name-not-utf8",
            Self::TooLong { .. } => "archive-name-too-long",
            Self::Windows { .. } => "archive-name-windows",
            Self::TooDeep { .. } => "archive-too-deep",
            Self::Duplicate => "archive-duplicate",
            Self::CaseCollision { .. } => "archive-case-collision",
            Self::UnicodeCollision { .. } => "archive-unicode-collision",
            Self::FileAndFolder => "archive-file-and-folder",
        }
    }
}

impl EntryProblem {
    const fn code(&self) -> &'static str {
        match self {
            Self::SymbolicLink => "archive-symbolic-link",
            Self::HardLink => "archive-hard-link",
            Self::Special { .. } => "archive-special-file",
            Self::UnknownType { .. } => "archive-unknown-type",
            Self::TypeDiffers => "archive-type-differs",
            Self::FolderWithData => "archive-folder-with-data",
            Self::Encrypted => "archive-encrypted",
            Self::Method { .. } => "archive-method",
            Self::NameDiffers => "archive-name-differs",
            Self::SizeDiffers => "archive-size-differs",
            Self::HeaderDiffers { .. } => "archive-header-differs",
            Self::Checksum => "archive-checksum",
            Self::Corrupt => "archive-corrupt",
            Self::Overlap => "archive-overlap",
            Self::Gap => "archive-gap",
            Self::TooLarge { .. } => "archive-file-too-large",
            Self::Ratio { .. } => "archive-ratio",
            Self::Zip64 => "archive-zip64",
            Self::HeaderChecksum => "archive-header-checksum",
            Self::Sparse => "archive-sparse",
            Self::Extension { .. } => "archive-extension",
        }
    }
}

/// The longest name in a message, in characters.
const SHOWN: usize = 200;

/// An untrusted name for use in messages: on one line, shortened, with unprintable characters escaped.
pub(super) fn shown(name: &[u8]) -> String {
    // Bytes beyond the longest possible name are not converted.
    let name = String::from_utf8_lossy(name.get(..8 * SHOWN).unwrap_or(name));
    let mut text = String::new();
    for (count, c) in name.chars().enumerate() {
        if count == SHOWN {
            text.push('…');
            break;
        }
        if metier_skill::is_invisible(c) || c == '\n' || c == '\t' {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}
