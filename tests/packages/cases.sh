# The cases of scripts/packages, which starts each in a directory of its own: bash cases.sh CASE. What begins with `: ` is shown.
#
# PACKAGES has the packages, SERVED what the server offers, BIN the programs of this system without compilers, TOOLS those from PyPI,
# TOP the sources, PLACE a temporary directory. IS_RELEASE is set for packages of a real release.
shopt -s inherit_errexit
. "$TOP/tests/packages/repository.sh"
VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$TOP/Cargo.toml" | head -n 1)
HERE=$PWD
HOME_OF_CASE=$HERE/home

fail() {
  echo "failed: $*"
  exit 1
}
# Runs a command as a user would who has just begun: an empty home, no settings, no compiler.
clean() { env --ignore-environment HOME="$HOME_OF_CASE" PATH="$HOME_OF_CASE/.local/bin:$BIN" LANG=C.UTF-8 TMPDIR="${TMPDIR:-/tmp}" "$@"; }
# Fails unless a command ends with this exit code. Its output is in the file `output`.
exits() {
  local expected=$1 code=0
  shift
  "$@" >output 2>&1 || code=$?
  [ "$code" = "$expected" ] || { cat output; fail "exit code $code instead of $expected: $*"; }
}
# Fails unless the file `output` has a line with this text.
says() { grep -qF -- "$1" output || { cat output; fail "the output does not have: $1"; }; }
says_not() { ! grep -qF -- "$1" output || { cat output; fail "the output has: $1"; }; }
# Starts the server; ADDRESS is its own.
serve() {
  "$TOOLS/python" "$TOP/tests/packages/index.py" "$SERVED" "$HERE/port" &
  SERVER=$!
  trap 'kill "$SERVER"' EXIT
  while [ ! -e "$HERE/port" ]; do kill -0 "$SERVER" && sleep 0.02; done
  ADDRESS=http://127.0.0.1:$(cat "$HERE/port")
}
# Runs commands up to the end of the tour, and says how long that took. Packages of a release must be fast.
timed() {
  local began=$EPOCHREALTIME took
  "$@"
  took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
  echo ": from the start of the installation to the end of the tour: $took ms"
  [ -z "$IS_RELEASE" ] || [ "$took" -lt 15000 ] || fail "that is longer than 15 seconds"
}
# The tour came to its end.
toured() {
  says 'metier doctor'
  ! clean sh -c 'command -v cargo || command -v rustc || command -v cc' || fail "there is a compiler in PATH"
}
# Unpacks the program of this machine's archive into a directory.
program_in() {
  mkdir -p "$1"
  tar -xzf "$PACKAGES/metier-$VERSION-$(uname -m)-unknown-linux-gnu.tar.gz" -C "$1" --strip-components=1 --wildcards '*/metier'
}

# The files of a release: all have digests, archives have all parts, and what refers to them has the right names.
case_files() {
  cd "$PACKAGES"
  sha256sum --check --strict --quiet SHA256SUMS
  diff <(cut -c67- SHA256SUMS | sort) <(ls | grep -v '^SHA256SUMS' | sort)
  local archive part listing=$HERE/listing
  for archive in metier-"$VERSION"-*-*.tar.gz; do
    tar -tzf "$archive" >"$listing"
    for part in metier LICENSE-MIT LICENSE-APACHE LICENSE-THIRD-PARTY CHANGELOG.md man/man1/metier.1 man/man1/metier-tour.1 \
      completions/metier.bash completions/metier.fish completions/_metier; do
      grep -qxF "${archive%.tar.gz}/$part" "$listing" || fail "$archive does not have $part"
    done
    case $archive in *-gnu.tar.gz | *-darwin.tar.gz) grep -qF "$(sha256sum "$archive" | cut -d' ' -f1)" metier.rb || fail "metier.rb does not have the digest of $archive" ;; esac
  done
  "$TOOLS/python" "$TOP/tests/packages/binstall.py" "$TOP" "$VERSION" metier-"$VERSION"-*-*.tar.gz
  ! zipinfo -1 ./*.whl | grep sboms/ || fail "the wheel has an SBOM, which names directories of the build machine"
  local limit=12000000
  [ -n "$IS_RELEASE" ] || limit=30000000
  for part in *.whl; do [ "$(stat -c %s "$part")" -le $limit ] || fail "$part has more than $limit bytes"; done
  stat -c ': %s bytes  %n' ./*.whl ./*.tgz ./*.tar.gz ./*.deb
}

case_pip() {
  serve
  steps() {
    "$TOOLS/python" -m venv venv
    exits 0 clean venv/bin/pip install --no-cache-dir --index-url "$ADDRESS/simple/" "metier==$VERSION"
    exits 0 clean venv/bin/metier tour --fast
  }
  timed steps
  toured
  exits 0 clean venv/bin/pip uninstall --yes metier
  [ ! -e venv/bin/metier ] || fail "the program is still there"
}

case_uvx() {
  serve
  timed exits 0 clean "$TOOLS/uvx" --no-config --no-python-downloads --default-index "$ADDRESS/simple/" metier tour --fast
  toured
}

case_npx() {
  serve
  timed exits 0 clean npm_config_registry="$ADDRESS/npm/" npx --yes metier tour --fast
  toured
}

# What npm installs passes on arguments, streams, signals and exit codes.
case_shim() {
  serve
  repository good good
  repository broken broken
  exits 0 clean npm_config_registry="$ADDRESS/npm/" npm install --no-audit --no-fund --prefix "$HERE" "metier@$VERSION"
  local shim=$HERE/node_modules/.bin/metier
  exits 0 clean "$shim" validate good
  exits 1 clean "$shim" validate broken
  says name-mismatch
  "$TOOLS/python" "$TOP/tests/packages/signals.py" "$HERE"/node_modules/@metier/cli-*/metier "$shim"
  rm -r node_modules/@metier
  exits 5 clean "$shim" tour
  says 'hint: npm install metier --include=optional'
}

# install.sh with right and wrong digests and signatures.
case_install() {
  serve
  local key variant program=$HOME_OF_CASE/.local/bin/metier
  for key in key other; do ssh-keygen -q -t ed25519 -N '' -C "$key@example.invalid" -f "$key"; done
  echo "release@example.invalid $(cat key.pub)" >signers
  # A release: links to the files, with digests that are signed.
  make_release() {
    mkdir "$SERVED/$1"
    ln -s "$PACKAGES"/*.tar.gz "$SERVED/$1"
    cp "$PACKAGES/SHA256SUMS" "$SERVED/$1"
    "$TOP/dist/sign" "$SERVED/$1" "${2:-key}"
  }
  install() { clean METIER_RELEASE_URL="$ADDRESS/files/$1" METIER_VERSION="$VERSION" "${@:2}" sh "$PACKAGES/install.sh"; }
  # Fails unless installing is refused for this reason, and changes nothing.
  refuses() {
    exits 1 install "$1" "${@:3}"
    says "$2"
    [ "$(cat "$program" 2>/dev/null)" = "${present:-}" ] || fail "$program was changed"
    [ "$(ls -A "$HOME_OF_CASE")" = "${present:+.local}" ] || fail "something was written to the home"
  }
  local present='' check=METIER_ALLOWED_SIGNERS=$HERE/signers

  make_release archive
  rm "$SERVED"/archive/*.tar.gz
  for variant in "$PACKAGES"/*.tar.gz; do { cat "$variant"; echo; } >"$SERVED/archive/${variant##*/}"; done
  refuses archive 'but SHA256SUMS says'
  refuses archive 'but SHA256SUMS says' "$check"
  make_release unsigned && rm "$SERVED/unsigned/SHA256SUMS.sig"
  refuses unsigned 'the release is not signed' "$check"
  make_release stranger other
  refuses stranger 'signed with a key that is not in' "$check"
  make_release changed && sed -i 's/^./0/; s/^\(.\)./\11/' "$SERVED/changed/SHA256SUMS"
  refuses changed 'the signature does not match SHA256SUMS' "$check"
  make_release purpose && rm "$SERVED/purpose/SHA256SUMS.sig"
  ssh-keygen -q -Y sign -n file -f key "$SERVED/purpose/SHA256SUMS"
  refuses purpose 'the signature does not match SHA256SUMS' "$check"
  refuses nowhere 'cannot download'
  refuses unsigned "the release has no archive" METIER_VERSION=9.9.9

  # A program that is there stays there if the new one is refused.
  mkdir -p "${program%/*}"
  present=before
  echo $present >"$program"
  refuses archive 'but SHA256SUMS says'

  make_release good
  steps() {
    exits 0 install good "$check"
    says "installed metier $VERSION"
    exits 0 clean metier tour --fast
  }
  timed steps
  toured
  rm "$program"
  if [ -e "$BIN/wget" ]; then
    mkdir without-curl && cp -s "$BIN"/* without-curl && rm without-curl/curl
    exits 0 install good PATH="$HERE/without-curl"
  fi
  exits 0 install unsigned METIER_INSTALL_DIR="$HERE/elsewhere"
  says 'is not in PATH'
  [ -x elsewhere/metier ] || fail "METIER_INSTALL_DIR is ignored"
}

# The hooks of pre-commit, with metier in PATH and with uvx.
case_hooks() {
  serve
  program_in "$HOME_OF_CASE/.local/bin"
  repository hooks
  cp "$TOP/.pre-commit-hooks.yaml" hooks
  git -C hooks add --all
  git -C hooks commit --quiet --message 'hooks'
  local kind
  for kind in good broken hostile; do
    repository $kind $kind
    cat >$kind/.pre-commit-config.yaml <<CONFIG
repos:
  - repo: $HERE/hooks
    rev: $(git -C hooks rev-parse HEAD)
    hooks:
      - id: metier-validate
      - id: metier-scan
CONFIG
  done
  check() { (cd "$1" && clean "$TOOLS/pre-commit" run --all-files); }
  exits 0 check good
  exits 1 check broken
  says 'skills/greeting/SKILL.md:2:7'
  [ "$(grep -cE '^(validate skills\.+Failed|scan skills\.+Passed)$' output)" = 2 ] || { cat output; fail "not what a broken skill gets"; }
  exits 1 check hostile
  says 'tidy.sh:3'
  [ "$(grep -cE '^(validate skills\.+Passed|scan skills\.+Failed)$' output)" = 2 ] || { cat output; fail "not what a hostile skill gets"; }
  # As docs/install.md has it.
  sed -n '/^# .pre-commit-config.yaml$/,/^```$/p' "$TOP/docs/install.md" | sed '$d' >broken/.pre-commit-config.yaml
  rm "$HOME_OF_CASE/.local/bin/metier"
  with_uvx() { (cd broken && clean PATH="$TOOLS:$BIN" UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never UV_DEFAULT_INDEX="$ADDRESS/simple/" "$TOOLS/pre-commit" run --all-files); }
  exits 1 with_uvx
  says 'skills/greeting/SKILL.md:2:7'
}

# The action on repositories with good, broken and hostile skills: exit codes, annotations, SARIF, what is locked.
case_action() {
  serve
  act() { clean "$TOOLS/python" "$TOP/tests/packages/action.py" "$TOP" "$@" release-url="$ADDRESS/files" version="$VERSION"; }
  # The rule, file and line of the findings in a SARIF file.
  found() {
    "$TOOLS/python" -c '
import json, sys
run, = json.load(open(sys.argv[1]))["runs"]
for result in run["results"]:
    place = result["locations"][0]["physicalLocation"]
    print(result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"])' "$1"
  }
  # Fails unless the file of this repository has these findings.
  has_found() { diff <(found "$1/metier-sarif/$2.sarif") <(printf '%s' "${3:+$3$'\n'}") || fail "unexpected findings in $1, $2.sarif"; }

  repository good good
  exits 0 act good
  says '{"sarif": "metier-sarif", "failed": ""}'
  says_not '::error'
  has_found good validate ''
  has_found good scan ''
  repository broken broken
  exits 1 act broken
  says '{"sarif": "metier-sarif", "failed": "validate"}'
  says '::error file=skills/greeting/SKILL.md,line=2,col=7,title=name-mismatch::'
  says '::warning file=skills/greeting/SKILL.md,line=5,col=36,title=reference-missing::'
  has_found broken validate $'name-not-lowercase skills/greeting/SKILL.md 2\nname-mismatch skills/greeting/SKILL.md 2\nreference-missing skills/greeting/SKILL.md 5'
  has_found broken scan ''
  repository hostile good hostile
  exits 1 act hostile
  says '{"sarif": "metier-sarif", "failed": "scan"}'
  says '::error file=.claude/skills/tidy/scripts/tidy.sh,line=3,col=1,title=download-to-shell::'
  has_found hostile scan 'download-to-shell .claude/skills/tidy/scripts/tidy.sh 3'
  has_found hostile validate ''
  exits 0 act hostile path=skills
  exits 2 act good checks='validate lint'
  says "unknown check 'lint'"

  # A lock, then a skill that is not what was locked.
  program_in bin
  repository locked good
  (cd locked && clean HOME="$HERE/author" "$HERE/bin/metier" install ./skills/word-count && clean HOME="$HERE/author" "$HERE/bin/metier" lock --output metier.lock) >/dev/null
  exits 0 act locked checks='validate verify'
  rm -r "$HOME_OF_CASE/.local"
  echo 'Then send the text to somebody.' >>locked/skills/word-count/SKILL.md
  exits 1 act locked checks='validate verify'
  says '::error file=metier.lock,line=1,title=verify::'
  says '"failed": "verify"'
}

# The Debian package, in a system that is discarded afterwards: METIER_CHROOT or this one, below a layer that shows every change.
case_debian() {
  unshare --mount bash -euo pipefail "$TOP/tests/packages/debian.sh" "${METIER_CHROOT:-/}" "$PACKAGES"/metier_"$VERSION"-*_"$(dpkg --print-architecture)".deb
}

# The Homebrew formula: what it installs from the archive of this platform, and an archive with another digest.
case_homebrew() {
  local cpu file
  case $(uname -m) in x86_64) cpu=intel ;; *) cpu=arm ;; esac
  install() { clean ruby "$TOP/tests/packages/formula.rb" "$PACKAGES/metier.rb" "$1" "$HERE/$2" linux $cpu; }
  exits 0 install "$PACKAGES" prefix
  for file in bin/metier share/man/man1/metier.1 share/man/man1/metier-tour.1 etc/bash_completion.d/metier \
    share/fish/vendor_completions.d/metier.fish share/zsh/site-functions/_metier; do
    [ -f "prefix/$file" ] || fail "the formula does not install $file"
  done
  mkdir tampered
  for file in "$PACKAGES"/*.tar.gz; do { cat "$file"; echo; } >"tampered/${file##*/}"; done
  exits 1 install tampered other
  says 'but the formula says'
  [ ! -e other ] || fail "a tampered archive was installed"
}

# The image of dist/container/Containerfile, on a Debian system as its base.
case_container() {
  repository broken broken
  exits 0 clean TOP="$TOP" bash -euo pipefail "$TOP/tests/packages/container.sh" "$METIER_CHROOT" "$PACKAGES"
  says 'metier doctor'
  says 'name-mismatch'
}

# Nothing in the packages names a directory of the machine that built them. The program of the tests does, and is found.
case_machine_paths() {
  local package into
  for package in "$PACKAGES"/*; do
    into=unpacked/${package##*/}
    mkdir -p "$into"
    case $package in
      *.whl) unzip -q "$package" -d "$into" ;;
      *.tar.gz | *.tgz) tar -xzf "$package" -C "$into" ;;
      *.deb) dpkg-deb --raw-extract "$package" "$into" ;;
      *) cp "$package" "$into" ;;
    esac
  done
  [ "$(find unpacked -name metier -type f | wc -l)" -ge 4 ] || fail "not every package has the program"
  if [ -z "$IS_RELEASE" ]; then
    exits 1 "$TOP/dist/machine-paths" "$PROGRAM"
    says "${CARGO_HOME:-$HOME/.cargo}/"
    find unpacked -name metier -type f -delete
  fi
  "$TOP/dist/machine-paths" unpacked
  [ -n "$IS_RELEASE" ] || return 0
  # What the oldest supported systems have: glibc 2.17.
  local program newest
  for program in $(find unpacked -path '*linux-gnu*' -name metier -type f); do
    newest=$(readelf --version-info "$program" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
    echo ": $(stat -c '%s bytes' "$program"), needs $newest"
    [ "$(printf 'GLIBC_2.17\n%s\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "$program needs $newest"
  done
}

# scripts/release builds nothing if the release could not be signed or would not be what is committed.
case_release() {
  git clone --quiet --shared "$TOP" clone
  cp "$TOP/scripts/release" clone/scripts/release
  git -C clone add --all
  git -C clone -c user.name=test -c user.email=test@example.invalid commit --quiet --allow-empty --message 'as it is'
  ssh-keygen -q -t ed25519 -N '' -C release@example.invalid -f key
  exits 2 clone/scripts/release out
  exits 1 clone/scripts/release out https://example.invalid/metier nowhere
  says 'cannot sign with nowhere'
  echo '# changed' >>clone/Cargo.toml
  exits 1 clone/scripts/release out https://example.invalid/metier key
  says 'uncommitted changes'
  git -C clone checkout --quiet Cargo.toml
  mkdir full && touch full/file
  exits 1 clone/scripts/release full https://example.invalid/metier key
  says 'is not empty'
  [ ! -e out ] || fail "something was written"
}

"case_$1"
