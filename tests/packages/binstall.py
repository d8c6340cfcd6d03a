"""Checks that the metadata for `cargo binstall` leads to the archives of a release and to the program in them.

Usage: binstall.py SOURCES VERSION ARCHIVE…
"""

import re
import sys
import tarfile
import tomllib
from pathlib import Path

manifest = tomllib.loads((Path(sys.argv[1]) / "crates/metier-cli/Cargo.toml").read_text())
metadata = manifest["package"]["metadata"]["binstall"]
version = sys.argv[2]
assert metadata["pkg-fmt"] == "tgz"
for archive in map(Path, sys.argv[3:]):
    target = archive.name.removeprefix(f"metier-{version}-").removesuffix(".tar.gz")
    values = {"repo": "https://example.invalid", "version": version, "target": target, "bin": manifest["bin"][0]["name"], "binary-ext": ""}

    def expand(template):
        return re.sub(r"\{ ([a-z-]+) \}", lambda match: values[match[1]], template)

    assert expand(metadata["pkg-url"]).rpartition("/")[2] == archive.name, f"pkg-url does not lead to {archive.name}"
    with tarfile.open(archive) as tar:
        assert tar.getmember(expand(metadata["bin-dir"])).isfile()
