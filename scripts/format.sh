#!/bin/sh
# Formats the C++ sources, or with --check says which are not formatted (exit 1).
set -eu
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-14 || command -v clang-format) || {
  echo "format.sh: clang-format is missing: scripts/install-dependencies.sh --tidy" >&2
  exit 3
}
case "${1:-}" in
  --check) git ls-files -z '*.h' '*.cpp' | xargs -0 -r "$formatter" --dry-run --Werror ;;
  "") git ls-files -z '*.h' '*.cpp' | xargs -0 -r "$formatter" -i ;;
  *) echo "usage: format.sh [--check]" >&2; exit 2 ;;
esac
