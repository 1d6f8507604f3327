#!/usr/bin/env python3
"""Writes the man pages, by help2man, from each program's --help and docs/man/NAME.h2m.

    scripts/man_pages.py BIN            write docs/man/NAME.1 for every program in the folder BIN
    scripts/man_pages.py --check BIN    say which would change; exit 1 if one would

Usage and options are left to help2man; examples, notes and exit status are laid out here, because
it would fill their lines.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGES = TOP / "docs" / "man"


# What roff takes for its own, or draws as a typographer would, which no shell understands.
LITERALLY = str.maketrans({"\\": "\\e", "-": "\\-", '"': "\\(dq", "'": "\\(aq", "`": "\\(ga",
                           "^": "\\(ha", "~": "\\(ti"})


def roff(text):
    text = text.translate(LITERALLY)
    return "\\&" + text if text[:1] == "." else text


def sections(help_text):
    """The parts of a help: summary, usage, examples, option groups, notes, exit status."""
    paragraphs = help_text.rstrip("\n").split("\n\n")
    parts = {"summary": paragraphs[0], "usage": paragraphs[1], "examples": "", "options": [],
             "notes": [], "status": ""}
    in_options = True
    for paragraph in paragraphs[2:]:
        first = paragraph.split("\n", 1)[0]
        if first == "Examples:":
            parts["examples"] = paragraph.split("\n", 1)[1]
        elif first == "Exit status:":
            parts["status"] = paragraph.split("\n", 1)[1]
        elif in_options:
            parts["options"].append(paragraph)
            in_options = first != "Common options:"
        else:
            parts["notes"].append(paragraph)
    return parts


def examples(text):
    """Lines of two blanks are commands, deeper ones what they show."""
    out = []
    for line in text.split("\n"):
        shows = line.startswith("      ")
        out.append(roff(line.strip()) if shows else f".TP\n.B {roff(line.strip())}")
    return "\n".join(out)


def notes(paragraphs):
    """Lines that begin with a blank stay as they are."""
    out = []
    for paragraph in paragraphs:
        kept = False
        out.append(".PP")
        for line in paragraph.split("\n"):
            if line.startswith(" ") != kept:
                kept = not kept
                out.append(".nf" if kept else ".fi")
            out.append(roff(line) if not kept else "\\&" + roff(line))
        if kept:
            out.append(".fi")
    return "\n".join(out)


def exit_status(text):
    return "\n".join(f".TP\n.B {code}\n{roff(what)}"
                     for code, what in re.findall(r"^  (\d)  (.*)$", text, re.M))


def page(program, version):
    name = program.name
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True,
                               env={**os.environ, "LC_ALL": "C"}).stdout
    parts = sections(help_text)
    summary = " ".join(parts["summary"].split()).removeprefix(f"{name}: ")
    include = (PAGES / f"{name}.h2m").read_text(encoding="utf-8")
    include += f"\n[EXAMPLES]\n{examples(parts['examples'])}\n"
    if parts["notes"]:
        include += f"\n[NOTES]\n{notes(parts['notes'])}\n"
    include += f"\n[EXIT STATUS]\n{exit_status(parts['status'])}\n"
    others = ",\n".join(f".BR {roff(other.stem)} (1)" for other in sorted(PAGES.glob("*.h2m"))
                        if other.stem != name)
    include += f"\n[SEE ALSO]\n{others}\n"
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "help").write_text("\n\n".join([parts["usage"], *parts["options"]]) + "\n")
        (work / "include").write_text(include, encoding="utf-8")
        (work / name).write_text(f'#!/bin/sh\ncat "{work}/help"\n')
        (work / name).chmod(0o755)
        made = subprocess.run(
            ["help2man", "--no-info", "--manual=attntools", f"--source=attntools {version}",
             f"--version-string={version}", f"--name={summary}", f"--include={work / 'include'}",
             work / name],
            capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
    # The month it was made in is nobody's business, and would differ next month.
    made = re.sub(r'^(\.TH \S+ "?1"?) "[^"]*"', r'\1 ""', made, flags=re.M)
    return re.sub(r'^\.\\" DO NOT MODIFY.*\n', "", made)


def main():
    check = sys.argv[1:2] == ["--check"]
    folders = sys.argv[2 if check else 1:]
    if len(folders) != 1 or folders[0].startswith("-"):
        sys.exit(__doc__)
    programs = sorted(path for path in pathlib.Path(folders[0]).iterdir()
                      if path.is_file() and os.access(path, os.X_OK))
    version = re.search(r"^project\(attntools VERSION ([0-9.]+)",
                        (TOP / "CMakeLists.txt").read_text(), re.M).group(1)
    stale = False
    for program in programs:
        made = page(program.resolve(), version)
        file = PAGES / f"{program.name}.1"
        if not check:
            file.write_text(made, encoding="utf-8")
            continue
        found = file.read_text(encoding="utf-8") if file.exists() else ""
        if found != made:
            stale = True
            print(f"{file.name} is not what {program.name} --help says; "
                  f"scripts/man_pages.py {folders[0]} writes it anew")
            diff = difflib.unified_diff(found.split("\n"), made.split("\n"), lineterm="", n=0)
            print("\n".join(list(diff)[:12]))
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
