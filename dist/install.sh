#!/bin/sh
# Installs the program `metier` for this user: downloads the archive of this platform, checks its SHA-256 digest and
# copies the program to ~/.local/bin. Nothing is changed before the digest matches.
#
#   METIER_RELEASE_URL       where the files of the release are, without a slash at the end
#   METIER_VERSION           the version to install
#   METIER_INSTALL_DIR       where the program goes, instead of ~/.local/bin
#   METIER_ALLOWED_SIGNERS   a file of allowed signers (see ssh-keygen); then SHA256SUMS must have a valid signature
#
# Needs curl or wget, tar, and sha256sum or shasum.
set -eu

# The release script fills these in.
address=${METIER_RELEASE_URL:-@ADDRESS@}
version=${METIER_VERSION:-@VERSION@}

fail() {
  echo "error: $1" >&2
  [ $# -lt 2 ] || echo "hint: $2" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

case $address in @*) fail "the address of the release is not set" "METIER_RELEASE_URL=https://… sh install.sh" ;; esac
case $version in @*) fail "the version is not set" "METIER_VERSION=0.1.0 sh install.sh" ;; esac
directory=${METIER_INSTALL_DIR:-${HOME:?}/.local/bin}

case $(uname -m) in
  x86_64 | amd64) cpu=x86_64 ;;
  aarch64 | arm64) cpu=aarch64 ;;
  *) fail "no release for the processor $(uname -m)" "build it with cargo install" ;;
esac
case $(uname -s) in
  Linux)
    # Where the C library is not glibc, the program must not need it.
    if has getconf && getconf GNU_LIBC_VERSION >/dev/null 2>&1; then system=unknown-linux-gnu; else system=unknown-linux-musl; fi
    ;;
  Darwin) system=apple-darwin ;;
  *) fail "no release for $(uname -s)" "build it with cargo install" ;;
esac
name=metier-$version-$cpu-$system

# Downloads a file of the release; exit code 1 if it cannot.
download() {
  if has curl; then
    curl --fail --silent --show-error --location --output "$2" "$address/$1"
  elif has wget; then
    wget -q -O "$2" "$address/$1"
  else
    fail "neither curl nor wget is installed"
  fi
}
digest() {
  if has sha256sum; then sha256sum "$1"; elif has shasum; then shasum -a 256 "$1"; else fail "neither sha256sum nor shasum is installed"; fi |
    cut -d' ' -f1
}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

download SHA256SUMS "$place/SHA256SUMS" || fail "cannot download $address/SHA256SUMS"
if [ -n "${METIER_ALLOWED_SIGNERS:-}" ]; then
  has ssh-keygen || fail "ssh-keygen is not installed, and METIER_ALLOWED_SIGNERS asks for a check of the signature"
  download SHA256SUMS.sig "$place/SHA256SUMS.sig" || fail "the release is not signed ($address/SHA256SUMS.sig does not exist)"
  signer=$(ssh-keygen -Y find-principals -f "$METIER_ALLOWED_SIGNERS" -s "$place/SHA256SUMS.sig" 2>/dev/null | head -n 1) || signer=
  [ -n "$signer" ] || fail "SHA256SUMS is signed with a key that is not in $METIER_ALLOWED_SIGNERS"
  ssh-keygen -Y verify -n metier-release -f "$METIER_ALLOWED_SIGNERS" -I "$signer" -s "$place/SHA256SUMS.sig" \
    <"$place/SHA256SUMS" >/dev/null 2>&1 || fail "the signature does not match SHA256SUMS; nothing was installed"
fi
expected=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\.tar\.gz\$/\1/p" "$place/SHA256SUMS")
[ -n "$expected" ] || fail "the release has no archive $name.tar.gz" "build it with cargo install"
download "$name.tar.gz" "$place/archive" || fail "cannot download $address/$name.tar.gz"
actual=$(digest "$place/archive")
[ "$actual" = "$expected" ] || fail "the SHA-256 digest of $name.tar.gz is $actual, but SHA256SUMS says $expected; nothing was installed"

tar -xzf "$place/archive" -C "$place" "$name/metier"
mkdir -p "$directory"
# A rename replaces a running program as well.
cp "$place/$name/metier" "$directory/.metier.$$"
chmod 755 "$directory/.metier.$$"
mv -f "$directory/.metier.$$" "$directory/metier"
echo "installed $("$directory/metier" --version) in $directory"
case ":${PATH:-}:" in
  *":$directory:"*) ;;
  *) echo "hint: $directory is not in PATH" ;;
esac
echo "next: metier tour"
