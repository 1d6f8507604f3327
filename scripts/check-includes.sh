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

# folder of lib/check: its folders that it may include; the checks themselves, above them, any.
check_may_include() {
  case $1 in
    reference) echo reference ;;
    verdict) echo "reference verdict" ;;
    posenc) echo "verdict posenc" ;;
    cases) echo "reference verdict cases" ;;
    mistakes) echo "reference verdict cases mistakes" ;;
    laws) echo "reference verdict cases laws" ;;
    diagnosis) echo "reference verdict cases mistakes diagnosis" ;;
    layer) echo "reference verdict cases mistakes layer" ;;
    merge) echo "reference verdict cases . merge" ;;
    .) echo "reference verdict cases mistakes laws diagnosis ." ;;
  esac
}

# The folder of lib/check that a path names, "." for none.
check_folder() {
  case ${1#check/} in
    */*) part=${1#check/} && echo "${part%%/*}" ;;
    *) echo . ;;
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
    case $file:$header in
      lib/check/*:check/*)
        inner=$(check_folder "${file#lib/}")
        other=$(check_folder "$header")
        case " $(check_may_include "$inner") " in
          *" $other "*) ;;
          *) echo "$file: includes $header, which does not lie below check/$inner"; bad=1 ;;
        esac
        ;;
    esac
    only=$(door "$header")
    if [ -n "$only" ] && ! echo "$file" | grep -Eq "$only"; then
      echo "$file: includes $header, whose only door is $only"
      bad=1
    fi
  done
done
exit $bad
