#!/bin/sh
# Runs clang-tidy with the project's checks over every source that BUILD compiles.
set -eu
build=${1:?usage: tidy.sh BUILD_FOLDER}
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || {
  echo "tidy.sh: clang-tidy is missing: scripts/install-dependencies.sh --tidy" >&2
  exit 3
}
git ls-files -z 'lib/*.cpp' 'tools/*.cpp' |
  xargs -0 -r -n 4 -P "$(nproc)" "$tidy" -p "$build" --quiet
