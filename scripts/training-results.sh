#!/bin/bash
# The long runs behind docs/training.md, and a table of what came of them.
#   scripts/training-results.sh                 all parts, with build/release/bin
#   scripts/training-results.sh BIN_DIR toys    one part
# Parts: nanogpt names toys induction gradients warmup pooling exact. By the environment:
#   TEXT=shakespeare.txt   tinyshakespeare: needed by nanogpt, gradients, warmup, pooling, exact
#   NAMES=names.txt        one name a line: needed by names
#   OUT=DIR                checkpoints, reports and PART.tsv (default build/training-results)
#   SEEDS='0 1 2'          THREADS=N (default all cores)         QUICK=N: N steps only, so bars are missed
# A run whose command and file are still in OUT is not done again. Exit status 1: a bar was missed.
set -euo pipefail

parts='nanogpt names toys induction gradients warmup pooling exact'
bin=build/release/bin
if [ $# -gt 0 ] && [ -d "$1" ]; then
  bin=$1
  shift
fi
out=${OUT:-build/training-results}
seeds=${SEEDS:-0 1 2}
threads=${THREADS:-$(nproc)}
mkdir -p "$out"
missed=0

fail() {
  echo "training-results.sh: $1" >&2
  exit "$2"
}

need() { [ -r "${!1:-}" ] || fail "set $1 to a file: $2" 3; }

# NAME OPTION...: trains into NAME.h5 and NAME.txt. Training that diverges is a result too.
train() {
  local name=$1 command status=0 options=()
  shift
  while [ $# -gt 0 ]; do
    case "${QUICK:+quick} $1" in
      'quick --steps' | 'quick --eval-every' | 'quick --warmup' | 'quick --stop-after') shift ;;
      *) options+=("$1") ;;
    esac
    shift
  done
  if [ -n "${QUICK:-}" ]; then options+=(--steps "$QUICK" --eval-every "$QUICK"); fi
  command="tinygpt-train ${options[*]}"
  [ -s "$out/$name.txt" ] && [ "$(cat "$out/$name.command" 2>/dev/null)" = "$command" ] && return
  [[ " $command " == *' --threads '* ]] || options+=(--threads "$threads")
  rm -f "$out/$name.command"
  "$bin/tinygpt-train" "${options[@]}" -q -o "$out/$name.h5" \
    >"$out/$name.txt" 2>"$out/$name.err" || status=$?
  [ $status -le 1 ] || fail "$name: $(cat "$out/$name.err")" $status
  if [ $status -eq 1 ]; then cat "$out/$name.err" >>"$out/$name.txt"; fi
  echo "$command" >"$out/$name.command"
}

# NAME WORD: the number after WORD in a report ("loss", "accuracy"), nan where there is none.
value() { awk -v word="$2" '$1 == word && $2 + 0 == $2 {v = $2} END {print v == "" ? "nan" : v}' "$out/$1.txt"; }
# NAME STEP [COLUMN]: from the table of evaluations.
at_step() { awk -v step="$2" -v c="${3:-2}" '$1 == step {v = $c} END {print v == "" ? "nan" : v}' "$out/$1.txt"; }
mean() { awk '{for (i = 1; i <= NF; ++i) s += $i; printf "%.4f", s / NF}' <<<"$*"; }
median() { tr ' ' '\n' <<<"$*" | sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

# LABEL SUMMARY BAR VALUES...: a row of the part's table. SUMMARY: mean or median; BAR: '<= 1.95',
# '>= 0.99', or '-' for none.
row() {
  local label=$1 summary=$2 bar=$3 met=-
  shift 3
  local figure
  figure=$($summary "$@")
  if [ "$bar" != - ]; then
    met=$(awk -v f="$figure" -v o="${bar% *}" -v b="${bar#* }" \
      'BEGIN {print f == "nan" ? "no" : (o == "<=" ? f <= b : f >= b) ? "yes" : "no"}')
    [ "$met" = yes ] || missed=1
  fi
  printf '%s\t%s\t%s %s\t%s\t%s\n' "$label" "$*" "$summary" "$figure" "$bar" "$met" >>"$table"
}

# Prints tsv with its columns in line.
aligned() {
  awk -F'\t' '{n = NF > n ? NF : n
               for (i = 1; i <= NF; ++i) {c[NR, i] = $i; if (length($i) > w[i]) w[i] = length($i)}}
              END {for (r = 1; r <= NR; ++r) {
                     line = ""
                     for (i = 1; i <= n; ++i) line = line sprintf("%-" (w[i] + 2) "s", c[r, i])
                     sub(/ +$/, "", line); print line}}' "$1"
}

begin() {
  part=$1
  table=$out/$1.tsv
  printf '#%s\tseeds %s\tsummary\tbar\tmet\n' "$1" "$seeds" >"$table"
}

# LABEL RUN WORD SUMMARY BAR OPTION...: trains RUN-SEED for each seed, and a row of WORD.
each_seed() {
  local label=$1 run=$2 word=$3 summary=$4 bar=$5 values=()
  shift 5
  for seed in $seeds; do
    train "$run-$seed" "$@" --seed "$seed"
    values+=("$(value "$run-$seed" "$word")")
  done
  row "$label" "$summary" "$bar" "${values[@]}"
}

# RUN STEP: a row of the losses at an earlier evaluation.
earlier() {
  local values=()
  for seed in $seeds; do values+=("$(at_step "$1-$seed" "$2")"); done
  row "  at step $2" mean - "${values[@]}"
}

part_nanogpt() {  # README of nanoGPT, on a CPU; its own code: 1.8982 over the whole split
  need TEXT 'tinyshakespeare'
  each_seed 'nanogpt-cpu, loss' nanogpt loss mean '<= 1.95' \
    --preset nanogpt-cpu --text "$TEXT" --eval-windows all
  for step in 0 250 500 1000 1500; do earlier nanogpt $step; done
}

part_names() {  # makemore's default transformer
  need NAMES 'one name a line'
  each_seed 'names, loss' names loss mean '<= 2.10' \
    --text "$NAMES" --lines --eval-windows all --depth 4 --heads 4 --dim 64 --seq-len 16 \
    --position learned --activation gelu_tanh --head-bias no \
    --batch 32 --lr 5e-4 --betas 0.9,0.99 --weight-decay 0.01 --steps 5000 --eval-every 500
  for step in 1000 2500; do earlier names $step; done
}

part_toys() {
  each_seed 'progressions, loss' progressions loss median '<= 0.21975' --task progressions
  local at300=()
  for seed in $seeds; do at300+=("$(at_step progressions-$seed 300 3)"); done
  row '  accuracy at step 300' median '>= 1' "${at300[@]}"
  each_seed 'copy, whole sequences' copy accuracy median '>= 0.99' --task copy
  each_seed 'reverse, whole sequences' reverse accuracy median '>= 0.99' --task reverse
  each_seed '  without positions: must fail' reverse-none accuracy median '<= 0.5' \
    --task reverse --position none
  each_seed 'sort, of all 729' sort accuracy median '>= 1' --task sort
  each_seed 'masked, determined tokens' masked accuracy median '>= 0.99' --task masked
  each_seed '  with a causal mask: must be worse' masked-causal accuracy median '<= 0.9' \
    --task masked --arch decoder
}

# Ten distinct tokens, twice and a half: the strongest head of the last block.
induction_weight() {
  "$bin/tinygpt-generate" "$out/$1.h5" -q --color never --show --new-tokens 1 \
    --dump-attention "$out/$1-maps.h5" \
    --prompt '3 17 8 12 0 5 14 9 11 6 3 17 8 12 0 5 14 9 11 6 3 17 8 12' >"$out/$1-maps.txt"
  awk '$1 == "block" && $3 + 0 == $3 {m = 0; for (i = 3; i <= NF; ++i) if ($i > m) m = $i; v = m}
       END {print v == "" ? "nan" : v}' "$out/$1-maps.txt"
}

part_induction() {
  each_seed '2 blocks, accuracy' induction accuracy median '>= 0.98' --task induction
  local weights=()
  for seed in $seeds; do weights+=("$(induction_weight induction-$seed)"); done
  row '  weight on previous occurrence + 1' median '>= 0.5' "${weights[@]}"
  each_seed '1 block, accuracy: must be below' induction-one accuracy median '<= 0.8' \
    --task induction --depth 1
}

# 'A B ...' 'C D ...': A / C, B / D ...
ratios() {
  awk -v above="$1" -v below="$2" 'BEGIN {n = split(above, a, " "); split(below, b, " ")
                                          for (i = 1; i <= n; ++i) printf "%.3f ", a[i] / b[i]}'
}

# NAME BLOCK: the norm of the gradient by the MLP's output matrix, at the first update.
gradient_of() { awk -v block="blocks.$2" '$1 == block {v = $4} END {print v == "" ? "nan" : v}' "$out/$1.txt"; }

part_gradients() {  # Xiong et al. 2020, figure 3: the MLP's second matrix, before any update
  need TEXT 'any text'
  local norm depth
  local -A lasts
  for norm in pre post; do
    for depth in 2 6 12 24; do
      local first=() last=()
      for seed in $seeds; do
        train "gradients-$norm-$depth-$seed" --text "$TEXT" --eval-windows 1 --init xavier \
          --norm $norm --depth $depth --steps 1 --log-gradients --seed "$seed"
        first+=("$(gradient_of gradients-$norm-$depth-$seed 0)")
        last+=("$(gradient_of gradients-$norm-$depth-$seed $((depth - 1)))")
      done
      lasts[$norm$depth]=${last[*]}
      row "$norm, $depth blocks, first" mean - "${first[@]}"
      row "$norm, $depth blocks, last" mean - "${last[@]}"
    done
  done
  row 'pre: last of 24 blocks / last of 2' mean '<= 0.6' $(ratios "${lasts[pre24]}" "${lasts[pre2]}")
  row 'post: last of 24 blocks / last of 2' mean '>= 0.8' $(ratios "${lasts[post24]}" "${lasts[post2]}")
  row 'post / pre: last of 24 blocks' mean '>= 3' $(ratios "${lasts[post24]}" "${lasts[pre24]}")
}

part_warmup() {
  need TEXT 'any text'
  local norm warmup bar
  for norm in pre post; do
    for warmup in 0 200; do
      bar='<= 2.5'
      if [ $norm-$warmup = post-0 ]; then bar='>= 3.2'; fi
      each_seed "$norm, warm-up $warmup, loss" warmup-$norm-$warmup loss mean "$bar" \
        --text "$TEXT" --init xavier --norm $norm --depth 6 --seq-len 32 --batch 16 \
        --lr 3e-3 --betas 0.9,0.98 --steps 400 --eval-every 25 --warmup $warmup
    done
  done
}

# RUN WORDS: the number after WORDS in a report on pooling.
pooled() { sed -n "s/^$2 *\([0-9.]*\).*/\1/p" "$out/$1.txt"; }

part_pooling() {  # Ainslie et al. 2023: 4 key-value heads into 2 and 1, then 5 % of the updates
  need TEXT 'tinyshakespeare'
  local heads
  for seed in $seeds; do
    train "nanogpt-$seed" --preset nanogpt-cpu --text "$TEXT" --eval-windows all --seed "$seed"
  done
  for heads in 2 1; do
    local before=() after=() later=()
    for seed in $seeds; do
      train "pooling-$heads-$seed" --init-from "$out/nanogpt-$seed.h5" --kv-heads $heads \
        --text "$TEXT" --eval-windows all --eval-every 100 --lr 1e-3 --warmup 10 --schedule linear \
        --min-lr 1e-4 --seed "$seed"
      before+=("$(pooled pooling-$heads-$seed 'held-out loss before pooling')")
      after+=("$(pooled pooling-$heads-$seed 'after pooling')")
      later+=("$(value pooling-$heads-$seed loss)")
    done
    row '4 key-value heads' mean - "${before[@]}"
    row "  pooled into $heads" mean - "${after[@]}"
    row "  and 100 steps more (5 %)" mean - "${later[@]}"
  done
}

# Are two checkpoints' parameters and losses the same? 1 or 0.
same_training() {
  local set
  for set in $("$bin/tensor-show" -i "$out/$1.h5" --list --format tsv |
    awk -F'\t' '$2 == "dataset" && $1 ~ /^\/(parameters|optimizer)\// || $1 == "/training/losses" {print $1}'); do
    for name in "$1" "$2"; do
      "$bin/tensor-show" -q -i "$out/$name.h5" --dataset "$set" --format tsv >"$out/$name.part"
    done
    cmp -s "$out/$1.part" "$out/$2.part" || { echo 0; return; }
  done
  echo 1
}

# RUN RUN: are two files the same to the byte? 1 or 0.
same_bytes() { cmp -s "$out/$1.h5" "$out/$2.h5" && echo 1 || echo 0; }

# Saves after each update and is killed, without any warning, in the midst of things.
killed() {
  local pid status=0
  rm -f "$out/$1.h5" "$out/exact-revived.command"
  "$bin/tinygpt-train" "${@:2}" -q --save-every 1 -o "$out/$1.h5" >/dev/null &
  pid=$!
  until [ -s "$out/$1.h5" ]; do sleep 0.1; done
  kill -KILL $pid
  wait $pid 2>/dev/null || status=$?
  [ $status -eq 137 ] || fail "$1 had ended before it was killed" 1
}

part_exact() {
  need TEXT 'any text'
  local how=(--text "$TEXT" --dropout 0.1 --schedule cosine --clip 1 --steps 100 --seed 1)
  train exact-whole "${how[@]}" --batch 32
  train exact-parts "${how[@]}" --batch 8 --accumulate 4
  row 'batch 8 x 4 = batch 32: parameters' mean '>= 1' "$(same_training exact-whole exact-parts)"
  train exact-one "${how[@]}" --batch 32 --threads 1
  row '1 thread: file' mean '>= 1' "$(same_bytes exact-whole exact-one)"
  train exact-stopped "${how[@]}" --batch 32 --stop-after 37
  train exact-resumed --resume "$out/exact-stopped.h5" --text "$TEXT"
  row 'stopped at 37, resumed: file' mean '>= 1' "$(same_bytes exact-whole exact-resumed)"
  killed exact-killed "${how[@]}" --batch 32
  train exact-revived --resume "$out/exact-killed.h5" --text "$TEXT"
  row 'killed, resumed: file' mean '>= 1' "$(same_bytes exact-whole exact-revived)"
}

for part in ${*:-$parts}; do
  case " $parts " in *" $part "*) ;; *) fail "no part is called $part: there are $parts" 2 ;; esac
done
for part in ${*:-$parts}; do
  begin "$part"
  "part_$part"
  aligned "$table"
  echo
done
exit $missed
