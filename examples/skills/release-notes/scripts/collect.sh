#!/usr/bin/env bash
# Prints the commits since a tag (default: the newest one), one a line: hash, date, subject.
set -euo pipefail

since=${1:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
range=HEAD
if [ -n "$since" ]; then
  range="$since..HEAD"
fi
git log --no-merges --date=short --format='%h %ad %s' "$range"
