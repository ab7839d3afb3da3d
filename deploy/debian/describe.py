#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes manual pages: of what a program's --help says, or of a page in Markdown; for man, or for the site.

    describe.py manual --section=N PROGRAM     > PROGRAM.N
    describe.py manuals --section=N --folder=DIR PROGRAM     PROGRAM.N, and PROGRAM-COMMAND.N of each subcommand
    describe.py markdown --section=N PROGRAM   > PROGRAM.md
    describe.py page NAME.md                   > NAME.N

With --configuration the page is that of the program's configuration file, whose keys are its long options:
holdfastd.toml(5) of holdfastd. --see-also='holdfast(1), ...' ends a page for man with the names of others.
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


# A heading within a text of the author's: "EXIT STATUS".
_CAPITALS = re.compile(r"^[A-Z][A-Z ]+$")


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


# ---- The configuration file of a program: each long option is a key.

_NO_KEYS = ("--help", "--version", "--config", "--check-config")
# "UINT:INT in [4 - 64]=16", "ADDRESS=unix:/a ...": the kind of the value, what it may be, the default, whether several.
_VALUE = re.compile(r"^(?P<kind>HOST:PORT|[A-Z-]+)(?::(?P<allowed>.*?))?(?:=(?P<default>[^=\])]*?))?(?P<several> \.\.\.)?$")
_RANGE = re.compile(r"^INT in \[(.*) - (.*)\]$")
_NUMBERS = ("INT", "UINT", "N")


def _allowed(value):
    """A sentence about what the value may be."""
    text = value["allowed"] or ""
    if bounds := _RANGE.match(text):
        return f" From {bounds[1]} to {bounds[2]}."
    if text.startswith("SIZE"):
        return ' Bytes, or a size such as "8GiB".'
    return f" One of {text.strip('{}').replace(',', ', ')}." if text.startswith("{") else ""


def _literal(value):
    """The default as TOML has it, or the kind of the value."""
    text = value["default"] or value["kind"]
    is_number = text.isdigit() and text == str(int(text))  # "0600" is none
    literal = text if is_number or text in _NUMBERS else f'"{text}"'
    return f"[{literal}]" if value["several"] else literal


def _key(entry):
    flag, _, rest = entry.term.partition(" ")
    name = flag.split(",")[-1].removeprefix("--")
    if not rest:
        return Entry(f"{name} = false", entry.text)
    value = _VALUE.match(rest)
    return Entry(f"{name} = {_literal(value)}", entry.text + _allowed(value))


def configuration(command):
    """The page of the configuration file of the program that `command` describes."""
    name = command.path[0]
    keys = [
        (heading, [_key(entry) for entry in entries if entry.flags and entry.flags[-1] not in _NO_KEYS])
        for heading, entries in command.sections
    ]
    summary = (
        f"{name}.toml - configuration file of {name}\n\n"
        f"A file of TOML without tables, which --config=FILE names. Each key is a long option of {name}(8) without its\n"
        "dashes, and is shown here with its default, or with the kind of its value in capitals. The command line wins\n"
        "over the file. An unknown key or a wrong value is told with its file, line and column; --check-config checks\n"
        "the file and does nothing else."
    )
    notes = [lines for heading, lines in _parts(command.notes) if heading == "CONFIGURATION FILE"]
    example = ["EXAMPLE", *(line[4:] for line in notes[0] if line.startswith(" " * 6))] if notes else []
    return Command([f"{name}.toml"], summary, sections=[one for one in keys if one[1]], notes=example)


# ---- A page in Markdown, for man: paragraphs, code, tables of two columns and lists.


def _inline(text):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|\*\*.*?\*\*)", text)
    bold = [f"\\fB{_roff(p.strip('`*'))}\\fP" if p[:1] in ("`", "*") and p[-1:] == p[:1] else _roff(p) for p in parts]
    return "".join(bold)


def _page_line(line, rows):
    """The roff of a line outside of code; `rows` counts those of the table that it is in."""
    if line.startswith("## "):
        return f".SH {_roff(line[3:].upper())}"
    if line.startswith("|"):
        term, text = (cell.strip() for cell in line.strip("|").split(" | ", 1))
        return None if rows < 2 else f".TP\n{_inline(term)}\n{_inline(text.rstrip('| '))}"
    if line.startswith("- "):
        return f".IP \\(bu 2\n{_inline(line[2:])}"
    return _inline(line.strip()) if line else ".PP"


def page(text):
    """The lines of a page that begins with "# NAME(N): TITLE"."""
    first, *lines = text.rstrip("\n").split("\n")
    name, section, title = re.match(r"^# (\S+)\((\w+)\): (.*)$", first).groups()
    yield f'.TH {name.upper()} {section} "" "" "Holdfast"'
    yield from (".SH NAME", f"{name} \\- {_roff(title)}", ".SH DESCRIPTION")
    in_code, rows = False, 0
    for line in lines:
        if line.startswith("```"):
            in_code = not in_code
            yield from (".PP", ".nf") if in_code else (".fi",)
            continue
        if in_code:
            yield _roff(line)
            continue
        made = _page_line(line, rows)
        rows = rows + 1 if line.startswith("|") else 0
        if made:
            yield made


# ---- Manual page.


def _roff(text):
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def _manual_entries(sections, level):
    for heading, entries in sections:
        yield f".{level} {_roff(heading)}"
        for entry in entries:
            yield ".TP"
            # Quotation marks would be the macro's own.
            yield ".B " + _roff(entry.term).replace('"', "\\(dq")
            yield "\n.br\n".join(_roff(line) for line in entry.text.split("\n"))


def _manual_text(lines):
    """Lines as they are."""
    if not any(lines):
        return
    yield ".PP"
    yield ".nf"
    for line in "\n".join(lines).strip("\n").split("\n"):
        yield _roff(line) if line else ""
    yield ".fi"


def _parts(notes):
    """The notes as pairs of a heading in capitals, or "", and the lines below it."""
    parts = [("", [])]
    for line in notes:
        if _CAPITALS.match(line):
            parts.append((line, []))
        else:
            parts[-1][1].append(line)
    return parts


def _manual_notes(notes):
    """A section of the manual for each part; those without a heading are "NOTES"."""
    for heading, lines in sorted(_parts(notes), key=lambda part: part[0] == ""):
        if any(lines):
            yield f".SH {_roff(heading or 'NOTES')}"
            yield from _manual_text(lines)


def _upper(sections):
    return [(heading.upper(), entries) for heading, entries in sections]


def _own_notes(inner, outer):
    """The notes without those that every command has from the program's own."""
    common = "\n".join(_parts(outer.notes)[0][1]).strip()
    return "\n".join(inner.notes).replace(common, "").split("\n")


def _see_also(others):
    if others:
        yield ".SH SEE ALSO"
        yield _roff(others)


def manual(command, section, version, others="", program=None):
    """The page's lines, one for the command and all of its subcommands; `others` are pages to see also. `program`: the
    whole program, if the command is one of its subcommands."""
    name = "-".join(command.path)
    program = program or command
    first, *rest = command.summary.split("\n")
    title = first.removeprefix(f"{name} - ").rstrip(".")
    yield f".TH {name.upper()} {section} \"\" \"{version}\" \"Holdfast\""
    yield ".SH NAME"
    yield f"{name} \\- {_roff(title)}"
    if command.usage:
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
        yield from _manual_text(_own_notes(inner, program))
    yield from _manual_notes(command.notes if command is program else _own_notes(command, program))
    yield from _see_also(others)


def manuals(program, section, version, others=""):
    """Pairs of a page's name and its lines: one for the program, and one for each of its subcommands."""
    pages = {"-".join(command.path): command for command in program.commands}
    alone = dataclasses.replace(program, commands=[])
    own = f"{program.path[0]}({section})"
    below = ", ".join(f"{name}({section})" for name in pages)
    yield program.path[0], manual(alone, section, version, ", ".join(filter(None, (below, others))))
    for name, command in pages.items():
        yield name, manual(command, section, version, ", ".join(filter(None, (own, others))), program)


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
    yield from (_plain(command.summary), "")
    if command.usage:
        yield from ("```text", command.usage, "```", "")
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
    parser.add_argument("form", choices=["manual", "manuals", "markdown", "page"])
    parser.add_argument("--section", default="1", help="of the manual")
    parser.add_argument("--folder", default=".", help="where several pages are written to")
    parser.add_argument("--see-also", default="", help="other pages")
    parser.add_argument("--configuration", action="store_true", help="describe the program's configuration file")
    parser.add_argument("source", help="the program, or the page in Markdown")
    arguments = parser.parse_args()
    if arguments.form == "page":
        with open(arguments.source, encoding="utf-8") as file:
            print("\n".join([*page(file.read()), *_see_also(arguments.see_also)]))
        return
    program = describe(arguments.source)
    if arguments.configuration:
        program = configuration(program)
    if arguments.form == "markdown":
        print("\n".join(markdown(program, arguments.section)))
        return
    version = subprocess.run(
        [arguments.source, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if arguments.form == "manuals":
        for name, lines in manuals(program, arguments.section, version, arguments.see_also):
            with open(f"{arguments.folder}/{name}.{arguments.section}", "w", encoding="utf-8") as file:
                file.write("\n".join([*lines, ""]))
        return
    print("\n".join(manual(program, arguments.section, version or program.path[0], arguments.see_also)))


if __name__ == "__main__":
    _main()
