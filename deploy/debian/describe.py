#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a manual page of what a program's --help says, of each subcommand too: for man, or for the site.

    describe.py manual --section=N PROGRAM     > PROGRAM.N
    describe.py markdown --section=N PROGRAM   > PROGRAM.md
"""

import argparse
import dataclasses
import os
import re
import subprocess

_HEADING = re.compile(r"^(\S.*):$")
_ENTRY = re.compile(r"^  (\S.*)$")
# The text of an entry whose term is too long to have it beside itself.
_TEXT_BELOW = re.compile(r"^ {12,}(\S.*)$")


@dataclasses.dataclass
class Entry:
    term: str
    text: str

    @property
    def flags(self):
        """The option's spellings: ["-h", "--help"]; none for positionals and subcommands."""
        return re.findall(r"(?:^|,)(--?[A-Za-z][\w-]*)", self.term.split(" ")[0])

    @property
    def takes_value(self):
        return bool(self.flags) and " " in self.term


@dataclasses.dataclass
class Command:
    path: list  # ["holdfast", "collection", "ls"]
    summary: str = ""
    usage: str = ""
    sections: list = dataclasses.field(default_factory=list)  # (heading, [Entry])
    notes: list = dataclasses.field(default_factory=list)  # lines that belong to none
    commands: list = dataclasses.field(default_factory=list)

    @property
    def options(self):
        return [e for _, entries in self.sections for e in entries if e.flags]

    @property
    def positionals(self):
        return [e for name, entries in self.sections if name == "Positionals" for e in entries]


def _is_list(heading, lines):
    """Whether CLI11 made the section: one that an author wrote has a text of its own."""
    first = next((line for line in lines if line), "")
    return heading in ("Positionals", "Subcommands") or re.match(r"^  -", first) is not None


def parse(path, text):
    """The command that `text`, its --help, describes, without its subcommands."""
    before, _, after = text.partition("Usage: ")
    command = Command(path, summary=before.strip(), usage=after.split("\n")[0])
    lines = after.split("\n")[1:]
    entries = None
    # Where texts begin; every command has this option.
    column = re.search(r"^  -h,--help +", text, re.MULTILINE).end()
    column -= text.rfind("\n", 0, column) + 1
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading and _is_list(heading.group(1), lines[number + 1 :]):
            entries = []
            command.sections.append((heading.group(1), entries))
        elif entries is not None and _TEXT_BELOW.match(line) and entries:
            more = _TEXT_BELOW.match(line).group(1)
            entries[-1].text = f"{entries[-1].text}\n{more}".strip()
        elif entries is not None and _ENTRY.match(line):
            alone = _TEXT_BELOW.match("".join(lines[number + 1 : number + 2]))
            end = len(line) if alone else column
            entries.append(Entry(line[:end].strip(), line[end:].strip()))
        elif line.strip() or command.notes:
            entries = None if line.strip() else entries
            command.notes.append(line)
    return command


def _help_of(program, words):
    return subprocess.run(
        [program, *words, "--help"], capture_output=True, text=True, check=True
    ).stdout


def describe(program, words=()):
    """The program's command `words`, with all subcommands."""
    command = parse([os.path.basename(program), *words], _help_of(program, words))
    for heading, entries in command.sections:
        if heading == "Subcommands":
            names = [entry.term.split(" ")[0] for entry in entries]
            command.commands = [describe(program, (*words, name)) for name in names]
    return command


def all_commands(command):
    """The command and, after it, its subcommands, the outer ones first."""
    yield command
    for inner in command.commands:
        yield from all_commands(inner)


# ---- Manual page.


def _roff(text):
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def _manual_entries(sections, level):
    for heading, entries in sections:
        yield f".{level} {_roff(heading)}"
        for entry in entries:
            yield ".TP"
            yield f".B {_roff(entry.term)}"
            yield "\n.br\n".join(_roff(line) for line in entry.text.split("\n"))


def _manual_notes(notes):
    if not any(notes):
        return
    yield ".PP"
    yield ".nf"
    for line in "\n".join(notes).strip("\n").split("\n"):
        yield _roff(line) if line else ""
    yield ".fi"


def _upper(sections):
    return [(heading.upper(), entries) for heading, entries in sections]


def _own_notes(inner, outer):
    """The notes without those that every command has from the program's own."""
    common = "\n".join(outer.notes).strip()
    return "\n".join(inner.notes).replace(common, "").split("\n")


def manual(command, section, version):
    """The page's lines, one for the program and all of its subcommands."""
    name = command.path[0]
    first, *rest = command.summary.split("\n")
    title = first.removeprefix(f"{name} - ").rstrip(".")
    yield f".TH {name.upper()} {section} \"\" \"{version}\" \"Holdfast\""
    yield ".SH NAME"
    yield f"{name} \\- {_roff(title)}"
    yield ".SH SYNOPSIS"
    yield f".B {_roff(command.usage)}"
    if any(rest):
        yield ".SH DESCRIPTION"
        yield from (_roff(line) for line in "\n".join(rest).strip().split("\n"))
    yield from _manual_entries(_upper(command.sections), "SH")
    for inner in list(all_commands(command))[1:]:
        yield f".SH {_roff(' '.join(inner.path).upper())}"
        yield _roff(inner.summary)
        yield ".PP"
        yield f".B {_roff(inner.usage)}"
        yield from _manual_entries(inner.sections, "SS")
        yield from _manual_notes(_own_notes(inner, command))
    yield ".SH NOTES"
    yield from _manual_notes(command.notes)


# ---- The same page for the site, in Markdown with definition lists.


def _plain(text):
    """Text without the characters that Markdown has a meaning for."""
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", text)


def _markdown_entries(sections):
    for heading, entries in sections:
        yield f"**{heading}**"
        yield ""
        for entry in entries:
            yield f"`{entry.term}`"
            yield ": " + "\\\n  ".join(map(_plain, entry.text.split("\n"))) if entry.text else ": …"
            yield ""


def _markdown_notes(notes):
    if any(notes):
        yield from ("```text", *"\n".join(notes).strip("\n").split("\n"), "```", "")


def _markdown_command(command, notes):
    yield from (_plain(command.summary), "", "```text", command.usage, "```", "")
    yield from _markdown_entries(command.sections)
    yield from _markdown_notes(notes)


def markdown(command, section):
    """The page's lines, with a heading for each subcommand."""
    yield f"# {command.path[0]}({section})"
    yield from _markdown_command(command, command.notes)
    for inner in list(all_commands(command))[1:]:
        yield f"## {' '.join(inner.path)}"
        yield from _markdown_command(inner, _own_notes(inner, command))


def _main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("form", choices=["manual", "markdown"])
    parser.add_argument("--section", default="1", help="of the manual")
    parser.add_argument("program")
    arguments = parser.parse_args()
    program = describe(arguments.program)
    if arguments.form == "markdown":
        print("\n".join(markdown(program, arguments.section)))
        return
    version = subprocess.run(
        [arguments.program, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    print("\n".join(manual(program, arguments.section, version or program.path[0])))


if __name__ == "__main__":
    _main()
