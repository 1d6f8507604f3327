#!/bin/bash
# Installs BUILD with DESTDIR, moves the tree to PLACE, and runs what was installed from there, with
# nothing of the source tree in reach: installed_test.sh BUILD PLACE.
set -euo pipefail
build=$1
place=$2
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

DESTDIR=$staged cmake --install "$build" --prefix /usr > /dev/null
# Under the prefix and nowhere else.
[ "$(ls "$staged")" = usr ] || fail "outside of the prefix: $(ls "$staged")"
rm -rf "$place"
mv "$staged/usr" "$place"
cd /

programs=$(ls "$place/bin")
[ "$(wc -w <<< "$programs")" -ge 10 ] || fail "programs: $programs"
for program in $programs; do
  "$place/bin/$program" --version | grep -q '(attntools)' || fail "$program does not run"
  [ -s "$place/share/man/man1/$program.1" ] || fail "$program has no man page"
  [ -s "$place/share/bash-completion/completions/$program" ] || fail "$program: no completion"
done
# What programs know of mistakes and models is in them.
"$place/bin/attn-check" --explain missing-scale | grep -q '^missing-scale' || fail '--explain'
"$place/bin/kvcache-size" --model llama-3.1-8b --tokens 8192 | grep -q '^1 GiB' || fail '--model'
# A prefix that ends in /usr is Debian's, whose zsh has a folder for packages.
[ -s "$place/share/zsh/vendor-completions/_attntools" ] || fail 'zsh completion'
# Links between the pages hold where they were put.
docs=$place/share/doc/attntools
for page in "$docs"/*.md "$docs"/docs/*.md; do
  for link in $(grep -o '](\([^)#:]*\))' "$page" | sed 's/](\(.*\))/\1/'); do
    [ -e "$(dirname "$page")/$link" ] || fail "$page: no $link"
  done
done
# The code that a page shows is that of the file it tells of.
shown=$(awk '/^```(cpp|cmake)$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$docs/docs/own-tool.md")
if grep -Fxv -f <(cat "$docs"/docs/own-tool/*) <<< "$shown"; then
  fail 'own-tool.md shows lines that its files do not have'
fi
# Two folders of one project may each find the package.
mkdir -p "$staged/two/a" "$staged/two/b"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(two CXX)' 'add_subdirectory(a)' \
  'add_subdirectory(b)' > "$staged/two/CMakeLists.txt"
echo 'find_package(attntools REQUIRED)' | tee "$staged/two/a/CMakeLists.txt" > "$staged/two/b/CMakeLists.txt"
cmake -G Ninja -S "$staged/two" -B "$staged/two/build" -DCMAKE_PREFIX_PATH="$place" > "$staged/said" 2>&1 ||
  fail "$(cat "$staged/said")"
# Nothing names the folder it was built from.
if grep -rlF "$(cd "$build/../.." && pwd)/" "$place/lib/cmake" "$place/share" "$place/include"; then
  fail 'files that name the source tree'
fi
