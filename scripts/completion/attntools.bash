# Completion of attntools' programs for bash: options, their words, lists of words, files. It asks
# the program itself (NAME --dump-options, which prints what lib/cli/option_dump.h says), so there
# is nothing to keep in step. Needs no bash-completion; source it, or install it under
# share/bash-completion/completions as each program's name.

# Candidates among the words that begin with the last argument go to COMPREPLY.
_attntools_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_attntools_files() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# A word after the last comma; those before it are not offered again.
_attntools_list() {
  local before='' word
  [[ $2 == *,* ]] && before=${2%,*},
  local words=()
  for word in $1; do
    [[ ,$before == *,"$word",* ]] || words+=("$before$word")
  done
  compopt -o nospace 2> /dev/null
  _attntools_words "${words[*]}" "$2"
}

_attntools() {
  COMPREPLY=()
  local program=${1/#\~\//$HOME/} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  # bash takes --format=js apart: "--format", "=", "js".
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  # An option's value, or the options that were not typed yet.
  local name letter kind times argument words options=()
  local typed=" ${COMP_WORDS[*]:1:COMP_CWORD-1} "
  while IFS=$'\t' read -r name letter kind times argument words _; do
    if [[ $kind != flag && ($before == "$name" || $before == "$letter") ]]; then
      case $kind in
        word) _attntools_words "$words" "$current" ;;
        words) _attntools_list "$words" "$current" ;;
        folder) _attntools_files -d "$current" ;;
        file | value) _attntools_files -f "$current" ;;
      esac
      return
    fi
    if [[ $times == many || ($typed != *" $name "* && $typed != *" $letter "*) ]]; then
      options+=("$name")
    fi
  done < <("$program" --dump-options 2> /dev/null)
  if [[ $current == -* && $typed != *' -- '* ]]; then
    _attntools_words "${options[*]}" "$current"
  else
    _attntools_files -f "$current"
  fi
}

complete -F _attntools attn-check kvcache-bench kvcache-size posenc-dump tensor-diff tensor-make \
  tensor-show tinygpt-generate tinygpt-import tinygpt-train
