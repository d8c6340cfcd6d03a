//! tar and tar.gz archives that lie.

use crate::common::{SKILL_MD, noise};
use crate::hostile::Case;
use crate::tar_writer::{TarEntry, file, gzip, gzip_around, open_tar, other, pax, tar};

/// A good file, and then these.
fn with(entries: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
    tar([file("a/SKILL.md", SKILL_MD)].into_iter().chain(entries))
}

fn gnu_name(name: &str) -> TarEntry {
    TarEntry { kind: b'L', magic: *b"ustar  \0", ..file("././@LongLink", format!("{name}\0")) }
}

pub(crate) fn names() -> Vec<Case> {
    let prefixed = TarEntry { prefix: b"..".to_vec(), ..file("evil", "x") };
    vec![
        ("tar: ..", with([file("../evil", "x")]), "archive-name-parent"),
        ("tar: .. after ./", with([file("./../evil", "x")]), "archive-name-parent"),
        ("tar: .. in the prefix", with([prefixed]), "archive-name-parent"),
        (
            "tar: .. in pax",
            with([pax(b'x', &[("path", "../evil")]), file("a/b", "x")]),
            "archive-name-parent",
        ),
        ("tar: .. in a long name", with([gnu_name("a/../../evil"), file("a/b", "x")]), "archive-name-parent"),
        ("tar: absolute", with([file("/evil", "x")]), "archive-name-absolute"),
        (
            "tar: absolute in pax",
            with([pax(b'x', &[("path", "/evil")]), file("a/b", "x")]),
            "archive-name-absolute",
        ),
        ("tar: absolute after ./", with([file(".//evil", "x")]), "archive-name-absolute"),
        ("tar: dot part", with([file("a/./b", "x")]), "archive-name-component"),
        ("tar: no name", with([file("", "x")]), "archive-name-component"),
        (
            "tar: zero byte in pax",
            with([pax(b'x', &[("path", "a/b\0c")]), file("a/b", "x")]),
            "archive-name-control",
        ),
        ("tar: not UTF-8", with([file(b"a/\xe9", "x")]), "archive-name-not-utf8"),
        ("tar: device", with([file("a/COM1.txt", "x")]), "archive-name-windows"),
        (
            "tar: long name",
            with([gnu_name(&["d"; 600].join("/")), file("a/b", "x")]),
            "archive-name-too-long",
        ),
        ("tar: duplicate", with([file("a/SKILL.md", "x")]), "archive-duplicate"),
        ("tar: duplicate after ./", with([file("./a/SKILL.md", "x")]), "archive-duplicate"),
        ("tar: case", with([file("a/Skill.md", "x")]), "archive-case-collision"),
        (
            "tar: composed",
            with([file("a/\u{e9}", "x"), file("a/e\u{301}", "x")]),
            "archive-unicode-collision",
        ),
        ("tar: file and folder", with([other("a/SKILL.md", b'5')]), "archive-file-and-folder"),
        ("tar: through a file", with([file("a/SKILL.md/x", "x")]), "archive-file-and-folder"),
        ("tar: deep", with([file(["d"; 12].join("/"), "x")]), "archive-too-deep"),
    ]
}

pub(crate) fn kinds() -> Vec<Case> {
    let link = |kind| TarEntry { link: b"/etc/passwd".to_vec(), ..other("a/link", kind) };
    let through = [TarEntry { link: b"/tmp".to_vec(), ..other("a/d", b'2') }, file("a/d/evil", "x")];
    let sparse = pax(b'x', &[("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "99999999999")]);
    let name_in_sparse = pax(b'x', &[("GNU.sparse.name", "../evil")]);
    vec![
        ("tar: symbolic link", with([link(b'2')]), "archive-symbolic-link"),
        ("tar: through a symbolic link", with(through), "archive-symbolic-link"),
        (
            "tar: long symbolic link",
            with([TarEntry { kind: b'K', ..file("x", "/etc\0") }, link(b'2')]),
            "archive-symbolic-link",
        ),
        ("tar: hard link", with([link(b'1')]), "archive-hard-link"),
        ("tar: character device", with([other("a/null", b'3')]), "archive-special-file"),
        ("tar: block device", with([other("a/disk", b'4')]), "archive-special-file"),
        ("tar: FIFO", with([other("a/fifo", b'6')]), "archive-special-file"),
        ("tar: contiguous", with([other("a/x", b'7')]), "archive-unknown-type"),
        ("tar: volume", with([other("a/x", b'V')]), "archive-unknown-type"),
        ("tar: continued", with([other("a/x", b'M')]), "archive-unknown-type"),
        ("tar: unknown", with([other("a/x", b'?')]), "archive-unknown-type"),
        ("tar: sparse", with([other("a/x", b'S')]), "archive-sparse"),
        ("tar: sparse in pax", with([sparse, file("a/x", "x")]), "archive-sparse"),
        ("tar: name in sparse", with([name_in_sparse, file("a/x", "x")]), "archive-sparse"),
        (
            "tar: folder with content",
            with([TarEntry { kind: b'5', ..file("a/d", "x") }]),
            "archive-folder-with-data",
        ),
        ("tar: file with a folder's name", with([file("a/d/", "x")]), "archive-type-differs"),
    ]
}

pub(crate) fn headers() -> Vec<Case> {
    let good = with([]);
    let size = |size: &[u8]| with([TarEntry { size: Some(size.to_vec()), ..file("a/x", "x") }]);
    let extended = |records: &[(&str, &str)]| with([pax(b'x', records), file("a/x", "x")]);
    let all = |records: &[(&str, &str)]| with([pax(b'g', records), file("a/x", "x")]);
    let broken = TarEntry { kind: b'x', ..file("pax", "99 path=x\n") };
    let long = TarEntry { kind: b'x', ..file("pax", vec![b'x'; 70_000]) };
    let extension = "archive-extension";
    vec![
        (
            "tar: wrong checksum",
            with([TarEntry { checksum_off_by: 1, ..file("a/x", "x") }]),
            "archive-header-checksum",
        ),
        (
            "tar: junk between entries",
            [good[..good.len() - 1_024].to_vec(), vec![b'x'; 512], vec![0; 1_024]].concat(),
            "archive-header-checksum",
        ),
        ("tar: size that is no number", size(b"zzzzzzzzzzz"), "archive-size-differs"),
        ("tar: negative size", size(&[0xff; 12]), "archive-size-differs"),
        ("tar: size of 8 GiB", size(b"77777777777"), "archive-file-too-large"),
        (
            "tar: size in base 256",
            size(b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"),
            "archive-file-too-large",
        ),
        ("tar: size larger than the rest", size(b"00000100000"), "archive-truncated"),
        ("tar: another size in pax", extended(&[("size", "513")]), "archive-size-differs"),
        ("tar: no size in pax", extended(&[("size", "-1")]), extension),
        ("tar: two sizes in pax", extended(&[("size", "1"), ("size", "1")]), extension),
        ("tar: two names in pax", extended(&[("path", "a/y"), ("path", "a/z")]), extension),
        (
            "tar: two extended names",
            with([gnu_name("a/y"), pax(b'x', &[("path", "a/z")]), file("a/x", "x")]),
            extension,
        ),
        ("tar: one name for all", all(&[("path", "a/y")]), extension),
        ("tar: one size for all", all(&[("size", "0")]), extension),
        ("tar: names that are not UTF-8", extended(&[("hdrcharset", "BINARY")]), extension),
        ("tar: broken pax", with([broken, file("a/x", "x")]), extension),
        ("tar: long pax", with([long, file("a/x", "x")]), extension),
        ("tar: pax before the end", with([pax(b'x', &[("path", "a/y")])]), "archive-truncated"),
        (
            "tar: too many pax headers",
            with((0..200).map(|_| pax(b'g', &[("comment", "x")]))),
            "archive-too-many-entries",
        ),
        (
            "tar: too many files",
            with((0..200).map(|number| file(format!("a/{number}"), ""))),
            "archive-too-many-entries",
        ),
        (
            "tar: large in all",
            with((0..7).map(|number| file(format!("a/{number}"), vec![7; 1 << 20]))),
            "archive-unpacks-too-large",
        ),
        ("tar: no end", open_tar([file("a/SKILL.md", SKILL_MD)]), "archive-truncated"),
        ("tar: half an end", good[..good.len() - 512].to_vec(), "archive-truncated"),
        ("tar: cut off in a header", good[..good.len() - 900].to_vec(), "archive-truncated"),
        ("tar: cut off in a file", good[..600].to_vec(), "archive-truncated"),
        (
            "tar: entry after half an end",
            [good[..good.len() - 512].to_vec(), good.clone()].concat(),
            "archive-trailing-data",
        ),
        ("tar: archive after the archive", [good.clone(), good.clone()].concat(), "archive-trailing-data"),
        (
            "tar: ZIP after the archive",
            [good.clone(), crate::zip_writer::zip([crate::zip_writer::file("x", "")]).bytes()].concat(),
            "archive-trailing-data",
        ),
        ("tar: endless zeros", [good, vec![0; 2 << 20]].concat(), "archive-trailing-data"),
        ("tar: nothing in it", vec![0; 1_024], "archive-empty"),
        ("tar: only folders", tar([other("a", b'5')]), "archive-empty"),
    ]
}

pub(crate) fn gzips() -> Vec<Case> {
    let good = with([]);
    let packed = gzip(&good);
    let zeros = gzip(&[good.clone(), vec![0; 3 << 20]].concat());
    let bomb = gzip(&with([file("a/x", vec![0; 3 << 20])]));
    let deflated = miniz_oxide::deflate::compress_to_vec(&good, 6);
    let mut flagged = packed.clone();
    flagged[3] = 0x80;
    let mut method = packed.clone();
    method[2] = 7;
    let mut named = packed.clone();
    named[3] = 8;
    let mut broken = packed.clone();
    broken[10] = 0xff;
    let unknown = "archive-unknown-format";
    vec![
        ("gzip: two members", [packed.clone(), packed.clone()].concat(), "archive-gzip-members"),
        ("gzip: data after the end", [packed.clone(), b"evil".to_vec()].concat(), "archive-trailing-data"),
        ("gzip: zeros after the end", [packed.clone(), vec![0; 10]].concat(), "archive-trailing-data"),
        ("gzip: wrong checksum", gzip_around(&deflated, 1, good.len()), "archive-gzip-checksum"),
        ("gzip: wrong length", gzip_around(&deflated, crc32fast::hash(&good), 1), "archive-gzip-checksum"),
        ("gzip: cut off", packed[..packed.len() / 2].to_vec(), "archive-truncated"),
        ("gzip: cut off in the checksum", packed[..packed.len() - 3].to_vec(), "archive-truncated"),
        ("gzip: cut off in the header", packed[..6].to_vec(), "archive-truncated"),
        ("gzip: name without an end", named[..11].to_vec(), "archive-truncated"),
        ("gzip: broken stream", broken, "archive-malformed"),
        ("gzip: unknown flag", flagged, "archive-malformed"),
        ("gzip: unknown method", method, "archive-malformed"),
        ("gzip: bomb of zeros", zeros, "archive-ratio"),
        ("gzip: bomb in a file", bomb, "archive-ratio"),
        (
            "gzip: bomb in a header",
            gzip(&with([TarEntry { kind: b'L', ..file("x", vec![b'x'; 3 << 20]) }])),
            "archive-extension",
        ),
        ("gzip: text", gzip(b"some text\n"), "archive-truncated"),
        ("gzip: long text", gzip(&b"some text\n".repeat(100)), unknown),
        ("gzip: gzip", gzip(&[packed.clone(), noise(1_000)].concat()), unknown),
        ("gzip: .. in it", gzip(&with([file("../evil", "x")])), "archive-name-parent"),
        ("gzip: link in it", gzip(&with([other("a/l", b'2')])), "archive-symbolic-link"),
    ]
}
