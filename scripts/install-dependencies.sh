#!/bin/sh
# Installs what attntools needs from Debian's own archive.
#   scripts/install-dependencies.sh              install what is missing (as root)
#   scripts/install-dependencies.sh --check      exit 0 if nothing is missing
#   scripts/install-dependencies.sh --apt-line   print the line that installs everything
#   scripts/install-dependencies.sh --tidy       also what make format, tidy, tsan, man and all tests need
#   scripts/install-dependencies.sh --pages      only what scripts/attention_html.py and its test need
#   scripts/install-dependencies.sh --figures    also what make figures needs
#   scripts/install-dependencies.sh --deb        also what make deb needs
#   scripts/install-dependencies.sh --python     also what make tutorial needs
# Elsewhere than on Debian it does nothing: CMake and the scripts say by name what they miss.
set -eu

packages="g++ cmake ninja-build libboost-program-options-dev libopenblas-dev libfmt-dev
  libgtest-dev libgmock-dev libhdf5-dev libaec-dev libhwy-dev nlohmann-json3-dev libxxhash-dev
  zlib1g-dev libicu-dev"
tidy_packages="clang-14 clang-format-14 clang-tidy-14 libomp-14-dev libclang-rt-14-dev help2man zsh"
page_packages="python3-h5py chromium"
figure_packages="python3 python3-h5py python3-matplotlib"

# Of the packages named, those that are not installed.
missing() {
  command -v dpkg-query >/dev/null || return 0
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -q '^installed$' ||
      printf '%s ' "$package"
  done
}

case "${1:-}" in
  --apt-line) echo "apt-get install" $packages; exit 0 ;;
  --check) [ -z "$(missing $packages)" ]; exit ;;
  --tidy) packages="$packages $tidy_packages" ;;
  --pages) packages=$page_packages ;;
  --figures) packages="$packages $figure_packages" ;;
  --deb) packages="$packages file dpkg-dev" ;;
  --python) packages="$packages python3" ;;
  "") ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

wanted=$(missing $packages)
if [ -z "$wanted" ]; then exit 0; fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
  as_root=sudo
  if ! command -v sudo >/dev/null; then
    echo "missing, to be installed as root: apt-get install $wanted" >&2
    exit 1
  fi
fi
echo "installing from Debian's archive: $wanted" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted
}
# What apt-get says of a hundred packages is wanted only where it fails.
install >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
