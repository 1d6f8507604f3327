#!/bin/sh
# Turns the console blocks of a Markdown file into a transcript for tests/tools/run_transcript:
#   readme-transcript.sh README.md > readme.transcript
# In a block, "$ " begins a command (a trailing backslash continues it on the next line), a line
# "..." stands for any lines, and the rest is what it prints. Each block is one case.
set -eu
awk '
  /^```console$/ { inside = 1; cases += 1; print "== " FILENAME ":" NR; next }
  /^```/         { inside = 0; next }
  !inside        { next }
  continued      { print "$ " $0; continued = /\\$/; next }
  /^\$ /         { print; continued = /\\$/; next }
  /^\.\.\.$/     { print ">..."; next }
                 { print "> " $0 }
  END            { if (cases == 0) exit 1 }
' "$1"
