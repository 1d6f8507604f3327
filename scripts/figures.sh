#!/bin/bash
# The tutorial's pictures from what our programs write, each command before it runs.
#   scripts/figures.sh BIN_DIR [FOLDER]       into FOLDER (default build/figures), data in FOLDER/data
# PYTHON names the Python with h5py and Matplotlib (default /usr/bin/python3, which has Debian's).
# A model that lies in FOLDER/data is not trained again: a second run takes seconds.
set -euo pipefail

bin=$(cd "${1:?usage: scripts/figures.sh BIN_DIR [FOLDER]}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
out=${2:-build/figures}
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$out/data"
out=$(cd "$out" && pwd)
cd "$out"
export PATH="$bin:$PATH"

# What a program reports is not wanted here.
run() {
  printf '$ %s\n' "$1"
  bash -c "set -e; $1" >/dev/null
}

# NAME SCRIPT ARGUMENT...: NAME.png and NAME.pdf.
plot() {
  local name=$1 script=$2
  shift 2
  set -- "$@" -o "$name.png" -o "$name.pdf"
  printf '$ scripts/%s %s\n' "$script" "$*"
  "$python" "$root/scripts/$script" "$@"
}

echo '# Six tokens, random projections: without and with a causal mask'
run 'attn-check --tokens 6 -o data/six-tokens.h5'
plot six-tokens plot_attention.py data/six-tokens.h5

echo '# Sinusoidal positions'
run 'posenc-dump --length 50 --dim 64 -q -o data/positions.h5'
plot positions plot_positions.py data/positions.h5

echo '# Rows through the key projection, with and without a cache, counted'
run 'kvcache-bench --dim 8 --heads 1 --tokens 1-512+1 --counts-only -q -o data/key-rows.h5'
plot key-rows plot_kvcache_counts.py data/key-rows.h5
plot key-rows-log plot_kvcache_counts.py data/key-rows.h5 --log

echo '# Cache sizes of 32 layers with 32, 8 and 1 key-value heads'
run 'kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens "128-131072*2,7168" -o data/cache-size.h5'
plot cache-size plot_kvcache_size.py data/cache-size.h5 --mark 4096,7168

echo '# A trained model: its loss, and where its heads look'
[ -s data/model.h5 ] || run 'tinygpt-train --preset tutorial --eval-every 20 -q -o data/model.h5'
plot loss plot_loss.py data/model.h5
plot loss-begin plot_loss.py data/model.h5 --until 300
run 'tinygpt-generate data/model.h5 --prompt "3 5" --new-tokens 10 --dump-attention data/heads.h5'
plot heads plot_attention.py data/heads.h5
plot heads-by-row plot_attention.py data/heads.h5 --scale row

echo '# Gradients before the first update, by where the norms stand and by depth'
cp "$root/LICENSE" data/text.txt
run 'for norm in pre post; do for depth in 2 6 12 24; do for seed in 0 1 2; do
    tinygpt-train --text data/text.txt --eval-windows 1 --init xavier --norm $norm --depth $depth \
      --steps 1 --log-gradients --seed $seed -q -o data/gradients-$norm-$depth-$seed.h5
  done; done; done'
drawn=$root/build/training-results
training() {
  printf '$ scripts/plot_training.py %s . %s\n' "$1" "$2"
  "$python" "$root/scripts/plot_training.py" "$1" . "$2" --as png --as pdf >/dev/null
}
training data gradients

for name in nanogpt warmup induction; do
  if compgen -G "$drawn/$name-*.h5" >/dev/null; then
    training "$drawn" $name
  else
    echo "# left out: $name, whose long runs scripts/training-results.sh makes"
  fi
done

echo "# in $out:"
ls -- *.png *.pdf
