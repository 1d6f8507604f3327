#!/bin/sh
# Turns the blocks of a Markdown file into a transcript for tests/tools/run_transcript:
#   readme-transcript.sh README.md > readme.transcript
# Each block is one case, in a folder that has a clone's data, scripts and tests. In a console
# block "$ " begins a command (a trailing backslash continues it on the next line), a line "..."
# stands for any lines, and the rest is what it prints. A block in sh is commands that succeed and
# say whatever they like; of "make TARGET" it is only asked whether there is such a target, for the
# test runs inside of one. A line "<!-- needs: COMMAND -->" before a block skips it where that fails.
set -eu
awk '
  function begin(kind) {
    inside = kind; cases += 1; print "== " FILENAME ":" NR
    if (needs != "") print "? " needs
    needs = ""
  }
  BEGIN {
    print "== what a clone has"
    print "$ ln -s \"$SOURCE\"/data \"$SOURCE\"/scripts \"$SOURCE\"/tests ."
  }
  /^<!-- needs: .* -->$/ { needs = $0; sub(/^<!-- needs: /, "", needs); sub(/ -->$/, "", needs) }
  /^```console$/   { begin("console"); next }
  /^```sh$/        { begin("sh"); print "$ set -e"; next }
  /^```/           { if (inside == "sh") print ">...\n!..."; inside = ""; next }
  inside == ""     { next }
  inside == "sh"   { sub(/^make /, "make -n -C \"$SOURCE\" "); print "$ " $0; next }
  continued        { print "$ " $0; continued = /\\$/; next }
  /^\$ /           { print; continued = /\\$/; next }
  /^\.\.\.$/       { print ">..."; next }
                   { print "> " $0 }
  END              { if (cases == 0) exit 1 }
' "$1"
