#!/bin/sh
# Includes point down only, and each outside package has one door. Exit 1 names every line that
# breaks this.
set -eu
cd "$(dirname "$0")/.."

# folder: the folders of lib/ it may include.
may_include() {
  case $1 in
    core) echo core ;;
    ops | io | text | cli) echo "core $1" ;;
    nn) echo "core ops nn" ;;
    model) echo "core ops nn io text model" ;;
    train) echo "core ops nn io text model train" ;;
    check) echo "core ops nn io text model check" ;;
    sizing) echo "core io sizing" ;;
    bench) echo "core ops nn io text model bench" ;;
    tools) echo "core ops nn io text model train check sizing bench cli" ;;
  esac
}

# outside header: the files that may include it.
door() {
  case $1 in
    cblas*) echo '^lib/ops/gemm[^/]*$' ;;
    hdf5* | H5*) echo '^lib/io/' ;;
    boost/*) echo '^(lib/cli|tools)/' ;;
    hwy/*) echo '^lib/ops/' ;;
    omp*) echo '^lib/core/parallel\.' ;;
  esac
}

bad=0
for file in $(find lib tools -name '*.h' -o -name '*.cpp'); do
  case $file in
    tools/*) folder=tools ;;
    *) folder=${file#lib/} folder=${folder%%/*} ;;
  esac
  allowed=$(may_include "$folder")
  if [ -z "$allowed" ]; then
    echo "$file: the folder $folder is not in the table of $0"
    bad=1
  fi
  for header in $(sed -nE 's/^ *# *include *[<"]([^>"]+)[>"].*/\1/p' "$file"); do
    first=${header%%/*}
    if [ -d "lib/$first" ] && [ "$first" != "$header" ]; then
      case " $allowed " in
        *" $first "*) ;;
        *) echo "$file: includes $header, which lies above $folder"; bad=1 ;;
      esac
    fi
    only=$(door "$header")
    if [ -n "$only" ] && ! echo "$file" | grep -Eq "$only"; then
      echo "$file: includes $header, whose only door is $only"
      bad=1
    fi
  done
done
exit $bad
