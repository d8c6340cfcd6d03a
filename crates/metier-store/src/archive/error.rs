//! Every way in which an archive can lie, each with a code of its own.

/// Why an archive is not unpacked. What was handed out before must be thrown away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// An entry has a name that must not become a path.
    #[error("`{entry}` in the archive {problem}")]
    Name {
        /// The name, with what cannot be shown escaped.
        entry: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// An entry is something else than a plain file or a directory, or not what its headers say.
    #[error("`{entry}` in the archive {problem}")]
    Entry {
        /// Its name, with what cannot be shown escaped.
        entry: String,
        /// What is wrong with it.
        problem: EntryProblem,
    },
    /// It is neither ZIP nor tar.
    #[error(
        "this is no archive: it looks like {looks_like}; ZIP (`.zip`, `.skill`), tar and tar.gz can be read"
    )]
    UnknownFormat {
        /// What the first bytes are known for.
        looks_like: &'static str,
    },
    /// There is not one file in it.
    #[error("the archive has no files")]
    Empty,
    /// It ends too early.
    #[error("the archive is cut off: {what}; get it again")]
    Truncated {
        /// What is missing.
        what: &'static str,
    },
    /// A header is not one.
    #[error("the archive is damaged at byte {at}: {what}")]
    Malformed {
        /// What was expected or found.
        what: &'static str,
        /// Where in the archive; in a tar.gz, where in what it unpacks to.
        at: u64,
    },
    /// The archive itself is too large.
    #[error("the archive has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// More files and directories than allowed, directories that only names mention included.
    #[error("the archive has more than {limit} files and directories")]
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// All its files together are too large.
    #[error("the archive's files have more than {limit} bytes in all")]
    UnpacksTooLarge {
        /// The limit.
        limit: u64,
    },
    /// All of it unpacks to far more than it has, as only bombs do.
    #[error("the archive unpacks to more than {limit} times its size")]
    Ratio {
        /// The limit.
        limit: u64,
    },
    /// Something else begins the file, so that it can pass for something else.
    #[error(
        "the ZIP archive does not begin at the first byte of the file; other programs may see another file in it"
    )]
    LeadingData,
    /// Something follows the end.
    #[error("there is something after the end of the archive, from byte {at} on")]
    TrailingData {
        /// Where it begins; in a tar.gz, after its gzip stream or in what that unpacks to.
        at: u64,
    },
    /// More than one record says where the list of files is.
    #[error("the ZIP archive has two ends; programs would disagree on what is in it")]
    TwoEnds,
    /// It is one part of several.
    #[error("the ZIP archive is split over several files; put it together first")]
    MultiDisk,
    /// The two ends of a large archive disagree.
    #[error("the ZIP archive's 64-bit end record {what}")]
    Zip64 {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The list of files has another length than the end says.
    #[error("the ZIP archive says that it has {said} entries, and lists {listed}")]
    EntryCount {
        /// What its end says.
        said: u64,
        /// What was found before the list ended, or one more than was said.
        listed: u64,
    },
    /// More than one gzip stream, of which some programs see only the first.
    #[error("the gzip file has several members; programs would disagree on what is in it")]
    GzipMembers,
    /// What was unpacked is not what was packed.
    #[error("the gzip file is damaged: its checksum or its length is wrong; get it again")]
    GzipChecksum,
    /// No folder has a `SKILL.md`.
    #[error("there is no skill in the archive: no folder has a `SKILL.md`")]
    NoSkill,
    /// The folder is missing, and with it the skill's name.
    #[error("`{file}` is at the root of the archive; pack the skill's folder, not what is in it")]
    SkillAtRoot {
        /// The file.
        file: String,
    },
    /// One skill was expected.
    #[error("the archive has {count} skills where one was expected: `{first}`, `{second}`{}; choose one", if *count > 2 { ", …" } else { "" })]
    SeveralSkills {
        /// How many there are.
        count: usize,
        /// Where the first is.
        first: String,
        /// Where the second is.
        second: String,
    },
    /// Something lies beside the skills' folders.
    #[error("`{file}` in the archive is in no skill's folder")]
    OutsideSkill {
        /// The first such file.
        file: String,
    },
}

/// What is wrong with an entry's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameProblem {
    /// `..`
    #[error("leads out of its folder with `..`")]
    Parent,
    /// `/x`, `C:\x`, `\\server`
    #[error("is an absolute path")]
    Absolute,
    /// A backslash, which is a separator to some systems and a letter to others.
    #[error("has a backslash in its name; pack it again with `/` between folders")]
    Backslash,
    /// Nothing, `a//b` or `a/./b`.
    #[error("has an empty part or `.` in its name")]
    Component,
    /// A control character or a zero byte.
    #[error("has a control character in its name")]
    Control,
    /// A character that nobody sees, or that turns the others round.
    #[error("has an invisible character in its name")]
    Invisible,
    /// Not UTF-8.
    #[error("has a name that is not UTF-8; pack it again with names in UTF-8")]
    NotUtf8,
    /// Longer than file systems take.
    #[error("has a name that is too long: at most {part} bytes a part and {all} in all")]
    TooLong {
        /// The most bytes of a part.
        part: usize,
        /// The most bytes of the whole.
        all: usize,
    },
    /// Not a name on Windows.
    #[error("has a name that Windows cannot have: {why}; rename it")]
    Windows {
        /// Why not.
        why: &'static str,
    },
    /// Too many folders above it.
    #[error("is more than {limit} folders deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The same name again.
    #[error("is there twice")]
    Duplicate,
    /// The same name but for case.
    #[error("differs from `{other}` only in case, and is the same file on some systems; rename one")]
    CaseCollision {
        /// The other's last part.
        other: String,
    },
    /// The same name but for how its characters are composed.
    #[error("looks the same as `{other}` and differs in how its characters are composed; rename one")]
    UnicodeCollision {
        /// The other's last part.
        other: String,
    },
    /// A file that has files in it.
    #[error("is both a file and a folder")]
    FileAndFolder,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryProblem {
    /// A symbolic link.
    #[error("is a symbolic link; pack the file that it leads to")]
    SymbolicLink,
    /// A hard link.
    #[error("is a hard link; pack it again without links (`tar --hard-dereference`)")]
    HardLink,
    /// A device, FIFO or socket.
    #[error("is a {kind}, which no skill needs")]
    Special {
        /// Which.
        kind: &'static str,
    },
    /// A type of entry that nobody knows, or that belongs to another kind of archive.
    #[error("has the unknown type {0:?}", char::from(*.kind))]
    UnknownType {
        /// The type.
        kind: u8,
    },
    /// The name says file and the permissions folder, or the other way.
    #[error("is a folder by its name and a file by its type, or the other way round")]
    TypeDiffers,
    /// A folder has no content.
    #[error("is a folder with content")]
    FolderWithData,
    /// A password is needed.
    #[error("is encrypted; pack it again without a password")]
    Encrypted,
    /// Neither stored nor deflated.
    #[error(
        "is compressed in a way that is not supported (method {method}); pack it again with plain ZIP compression"
    )]
    Method {
        /// The method's number.
        method: u16,
    },
    /// Two headers have two names for it.
    #[error("has another name in its second header; programs would disagree on what it is called")]
    NameDiffers,
    /// Two headers disagree, or its content has another length.
    #[error("has another size than its headers say, or they disagree")]
    SizeDiffers,
    /// Two headers disagree in something else.
    #[error("has two headers that disagree on {what}")]
    HeaderDiffers {
        /// On what.
        what: &'static str,
    },
    /// Another content than was packed.
    #[error("is damaged: its checksum is wrong; get the archive again")]
    Checksum,
    /// What should be compressed is not.
    #[error("is damaged: it cannot be decompressed; get the archive again")]
    Corrupt,
    /// Its bytes are those of another entry, too.
    #[error("shares bytes with another entry, as only bombs do")]
    Overlap,
    /// Bytes before the next entry belong to nobody.
    #[error("is followed by bytes that belong to no entry")]
    Gap,
    /// One file is too large.
    #[error("has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It unpacks to far more than it has.
    #[error("unpacks to more than {limit} times its size, as only bombs do")]
    Ratio {
        /// The limit.
        limit: u64,
    },
    /// 64-bit sizes that are not where they must be.
    #[error("has 64-bit sizes that contradict its header")]
    Zip64,
    /// The header of a tar entry does not have its own sum.
    #[error("has a header whose checksum is wrong; get the archive again")]
    HeaderChecksum,
    /// A file with holes.
    #[error("is a sparse file; pack it again without `--sparse`")]
    Sparse,
    /// A tar header that only extends the next one, and is wrong or contradicts it.
    #[error("has an extended header that {what}")]
    Extension {
        /// What is wrong.
        what: &'static str,
    },
}

impl ArchiveError {
    /// The stable code.
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

    /// A name that is refused.
    pub(crate) fn name(name: &[u8], problem: NameProblem) -> Self {
        Self::Name { entry: shown(name), problem }
    }

    /// An entry that is refused.
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

/// The most characters of a name in a message.
const SHOWN: usize = 200;

/// A foreign name as it may stand in a message: in one line, not too long, nothing hidden.
pub(super) fn shown(name: &[u8]) -> String {
    // More bytes than those characters can have are not looked at.
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
