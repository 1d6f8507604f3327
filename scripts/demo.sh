#!/bin/bash
# The main job on real input, each command before what it prints: scripts/demo.sh BIN_DIR.
# Works in a folder of its own, needs nothing but the programs, takes about a minute.
set -euo pipefail
bin=$(cd "${1:?usage: scripts/demo.sh BIN_DIR}" && pwd)
export PATH="$bin:$PATH"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
text=/usr/share/common-licenses/GPL-3

say() { printf '\n# %s\n' "$1"; }
run() {
  printf '$ %s\n' "$1"
  bash -o pipefail -c "$1"
}

say 'Attention over three tokens that can be checked by hand'
run 'attn-check'

say 'A kernel that forgot to divide by sqrt(2): its mistake has a name, and the exit status is 1'
run "attn-check --q '2 0; 0 3; 1 1' --causal --scale 1 -q -o - > kernel.h5"
run "attn-check --q '2 0; 0 3; 1 1' --causal --out kernel.h5:/out | sed -n '/^verdict/,\$p'; echo \"status \${PIPESTATUS[0]}\""

say 'Position vectors, through a pipe to a picture'
run 'posenc-dump --length 50 --dim 64 -o - | tensor-show -i - --dataset /table --show'

say 'A tiny model learns arithmetic progressions; its file goes to disk and on to the next program'
run 'tinygpt-train --steps 300 -o - | tee model.h5 | tinygpt-generate -i - --prompt "3 5" --new-tokens 10 --show'
run 'tinygpt-generate model.h5 --prompt "8 1" --new-tokens 6'

say 'What a cache of keys and values takes: 2 GiB, a quarter with 8 heads, a thirty-second with 1'
run 'kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096'
run 'kvcache-size --layers 32 --kv-heads 32 --head-dim 128 --tokens 7168'
run 'kvcache-size --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000'
run 'kvcache-size -i model.h5 --tokens 12'

say 'What it saves: rows through the key projection while 512 tokens are decoded'
run 'kvcache-bench --counts-only --tokens 512'

say 'The same model on a real text, character by character'
run "tinygpt-train --text $text --position alibi --steps 400 -o gpl.h5"
run 'tinygpt-generate gpl.h5 --prompt "The " --new-tokens 300 --temperature 0.6 --seed 1 --echo'

say "The programs are in $bin; README.md says which question each answers."
