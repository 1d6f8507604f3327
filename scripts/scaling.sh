#!/bin/bash
# The curves of docs/scaling.md: measures them on this machine and draws them.
#   scripts/scaling.sh BUILD_DIR [FOLDER [OPTION...]]   into FOLDER (default build/scaling); OPTIONs
#                                                       are those of tests/bench/scaling.py
# PYTHON names the Python with h5py and Matplotlib (default /usr/bin/python3, which has Debian's).
# On a busy machine, as root, "chrt -r 5 scripts/scaling.sh ..." lets nobody else come between.
set -euo pipefail

build=${1:?usage: scripts/scaling.sh BUILD_DIR [FOLDER [OPTION...]]}
out=${2:-build/scaling}
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}
mkdir -p "$out"

"$python" "$root/tests/bench/scaling.py" --build "$build" -o "$out/scaling.h5" "${@:3}" |
  tee "$out/scaling.txt"
draw() {
  local picture=$out/$1
  "$python" "$root/scripts/plot_scaling.py" "$out/scaling.h5" "${@:2}" -o "$picture.png" -o "$picture.pdf"
}
case " ${*:3} " in
  *" --only"*) draw scaling ;;
  *)
    draw scaling-training --curves threads,batch,sequence,width
    draw scaling-decoding --curves context,prompt
    ;;
esac
echo "# in $out:"
ls -- "$out"
