#!/bin/zsh -f
# What zsh makes of keys typed at its prompt: complete_zsh.sh KEYS PATTERN. A tab completes; what then
# stands on the line, or in the list below it, is printed without blanks at the ends: as soon as
# PATTERN is in it, or after a minute, however busy the machine.
zmodload zsh/zpty
zpty shell "TERM=dumb COLUMNS=100 LINES=60 zsh -f -i"
zpty -w shell "fpath=(${0:A:h}/../../scripts/completion \$fpath)"
zpty -w shell 'autoload -Uz compinit && compinit -u -D; setopt no_beep no_always_last_prompt; LISTMAX=999'
zpty -w shell 'zstyle ":completion:*" list-packed no; PS1= PS2=; unset zle_bracketed_paste; print READY'
zpty -r -m shell ignored "*READY*READY*"
zpty -w -n shell "$1"
out=
repeat 600; do
  while zpty -r -t shell piece; do out+=$piece; done
  [[ $out == *$~2* ]] && break
  sleep 0.1
done
zpty -d shell
print -r -- ${out} | sed -e 's/\r//g' -e 's/\x1b\[[0-9;?]*[a-zA-Z]//g' -e 's/[[:space:]]*$//' -e '/^$/d'
