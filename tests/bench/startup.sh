#!/bin/bash
# How long programs take to start: the median time of --help, and of a whole run of kvcache-size,
# beside a C program that does nothing. Prints figures, asserts none. All times hold the shell's
# own fork and wait, which the empty program shows.
#
#   tests/bench/startup.sh [BIN_FOLDER [RUNS]]
set -eu
cd "$(dirname "$0")/../.."
bin=${1:-build/release/bin}
runs=${2:-41}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' > "$work/empty.c"
"${CC:-cc}" -O2 -o "$work/empty" "$work/empty.c"

# Microseconds of each of $runs runs, after a few that warm the page cache; answers
# "median minimum" in milliseconds.
median_of() {
  local i start end
  for ((i = 0; i < 3; i++)); do "$@" > /dev/null 2>&1 < /dev/null; done
  for ((i = 0; i < runs; i++)); do
    start=${EPOCHREALTIME/[.,]/}
    "$@" > /dev/null 2>&1 < /dev/null
    end=${EPOCHREALTIME/[.,]/}
    echo $((end - start))
  done | sort -n | awk '{t[NR] = $1} END {
    m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
    printf "%8.2f %8.2f", m / 1000, t[1] / 1000}'
}

report() {
  local what=$1
  shift
  printf '%s  %s\n' "$(median_of "$@")" "$what"
}

echo "milliseconds of $runs runs, warm page cache"
echo "  median  minimum"
report "an empty C program" "$work/empty"
for program in "$bin"/*; do
  [ -x "$program" ] && [ -f "$program" ] || continue
  report "${program##*/} --help" "$program" --help
done
if [ -x "$bin/kvcache-size" ]; then
  report "kvcache-size --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000" \
    "$bin/kvcache-size" --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000
  report "the same, with -o to a file" \
    "$bin/kvcache-size" --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000 -o "$work/size.h5"
fi
