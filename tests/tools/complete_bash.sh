#!/bin/bash
# What bash offers for a line typed so far, a candidate a line: complete_bash.sh WORD... where the
# last word is the one that stands under the cursor (empty after a blank). Words are as bash takes
# a line apart: --format=js is three.
set -u
source "$(dirname "$0")/../../scripts/completion/attntools.bash"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
# The function that `complete` named for this program, called as readline does.
handler=$(complete -p "${1##*/}" | sed 's/.*-F \([^ ]*\) .*/\1/')
"$handler" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sed '/^$/d'
