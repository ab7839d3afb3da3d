#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy with the checks of .clang-tidy and Clang's analysis of locks over C++ files.

Nearly all of clang-tidy's time goes to the headers that a file includes. So many files become one, whose headers are
read once for all. Two files of a group must not give the same name to two things. The script finds such names in the
text: constants get other names in the group, and two files with the same function or type go into two groups. A file
that does not compile with the others all the same is read again, by itself.
"""

import argparse
import collections
import concurrent.futures
import functools
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

LARGEST = 80  # files of a group, which then takes some 2 GB.
# Files that are known not to go with most others. They are read together; the list saves a try, and need not be right.
ODD = (
    "/not_served.cc",
    "client/examples/converge.cc",
    "client/examples/mandelbrot.cc",
    "client/bench/remote_figures.cc",
    "deploy/slurm/plugin.cc",
    "server/executor/recovery/module_variables.cc",
    "server/rpc/callback_thread.cc",
    "tests/core/software/fuzz/ptx_target.cc",
    "tests/server/executor/hold_set_test.cc",
)
# Tests go without Clang's analyzer, which would take longer than all else, and without advice for speed. They look at
# what was moved from, since that is what some are about.
FOR_TESTS = "--checks=-clang-analyzer-*,-performance-*,-bugprone-use-after-move"

UNNAMED = re.compile(r'^namespace \{\n(.*?)^\}  ""\n', re.MULTILINE | re.DOTALL)  # "" was a comment.
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\((\w+), *(\w+)", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
TYPE = re.compile(r"\b(?:class|struct|enum class|enum|union) (?:\w+\(.*?\) )?(\w+)")
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
RAW_TEXT = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
INCLUDE = re.compile(r'^#include (?:".*/.*\.h"|<.*>)', re.MULTILINE)
# Declarations of a header, at the beginning of a line.
DECLARED = re.compile(
    r"^(?:(?:class|struct|enum class|enum|using) (?:\w+\(.*?\) )?(\w+)|[A-Za-z_][\w:<>,*& ]*[ *&](\w+)\()", re.MULTILINE
)
OF_GOOGLETEST = re.compile(
    "(?:::)?testing::"
    "(Test|With|Value|UnitTest|TempDir|ElementsAre|IsEmpty|HasSubstr|Range|PrintTo|InitGoogle|internal)"
)


def at_top(text):
    """Returns the text outside of braces and template parameters, with a semicolon for what was in braces."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", re.sub(r"^template <.*>\n", "", text, flags=re.MULTILINE)):
        if part == "}":
            depth -= 1
            kept.append(";" if depth == 0 else "")
        elif depth == 0:
            kept.append(part)
        depth += part == "{"
    return "".join(kept)


class Source:
    """A file, and the names that it gives in its unnamed namespaces."""

    def __init__(self, path):
        self.path = path
        self.is_test = path.startswith("tests/")
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.includes = set(INCLUDE.findall(RAW_TEXT.sub("", self.text)))
        code = COMMENT_OR_TEXT.sub('""', self.text)
        self.names = {"_".join(test) for test in TEST.findall(code)}
        self.names.update(re.findall("^BENCHMARK_MAIN", code, re.MULTILINE))
        # A list that a file makes functions from: another file makes others.
        self.names.update(re.findall(r'^#include "(.*\.inc)"', self.text, re.MULTILINE))
        self.constants = set()  # And tables of Python's types.
        for body in UNNAMED.findall(code):
            for statement in at_top(body).split(";"):
                self._declare(" ".join(statement.split()))

    def _declare(self, statement):
        if re.match(r"using [\w:]+$|namespace |static_assert|friend |constexpr struct$", statement):
            return
        if named := re.match(r"using (\w+) =", statement) or TYPE.search(statement):
            self.names.add(named[1])
        elif named := re.match(r"[^=\[(]*?(\w+) ?(\([^=]*\))", statement):
            # With its parameters: functions of one name and other parameters go together.
            if not named[1].isupper() and named[1] != "operator":
                self.names.add(named[1] + named[2])
        elif names := re.findall(r"[A-Za-z_]\w*", re.split(r"[=\[]", statement, maxsplit=1)[0]):
            renamed = re.match("k[A-Z]", names[-1]) or re.match("Py|constexpr Py", statement)
            qualified = f"::{names[-1]}" in self.text
            (self.constants if renamed and not qualified else self.names).add(names[-1])

    def as_member(self, number):
        """Returns the file's lines without its includes, and with names of its own."""
        own = f"file_{number}"
        text = self.text
        if self.constants:
            constant = "|".join(sorted(self.constants))
            text = re.sub(rf"(?<![\w.:>])({constant})\b(?!\w)", rf"\1_of_{own}", text)
        lines = []
        for line in text.splitlines():
            if line in self.includes:
                line = ""
            elif line == "namespace {":
                line = f"namespace {own} {{"
            elif line == "}  // namespace":
                line = f"}}  using namespace {own};"
            line = re.sub(r"^int main\(", f"int main_of_{own}(", line)
            # GoogleTest is not looked for in holdfast::testing, which some files have and others do not.
            lines.append(OF_GOOGLETEST.sub(r"::testing::\1", line))
        return lines


@functools.cache
def marks(path):
    """Returns the headers of a file that change what others read: they take macros of cuda.h away, or give the name of
    a macro to another. The file itself may be one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = {path} if re.search("#undef cu|#define EXPECT_OK", text) else set()
    for header in re.findall(r'^#include "((?:core|client|server|tests)/.*\.h)"', text, re.MULTILINE):
        if os.path.exists(header):
            found |= marks(header)
    return frozenset(found)


def of_headers():
    """Returns the names that the project's headers declare, by namespace."""
    names = collections.defaultdict(set)
    for path in glob.glob("[cdpst]*/**/*.h", recursive=True):
        with open(path, encoding="utf-8") as file:
            code = COMMENT_OR_TEXT.sub('""', file.read())
        declared = {one or other for one, other in DECLARED.findall(code)}
        for namespace in NAMESPACE.findall(code):
            names[namespace] |= declared
    return names


def clash(some, others):
    """Tells whether two sets of names have one that files cannot share. Functions of one name and other parameters
    overload each other, but a type hides a function of its name."""
    functions = [{name.split("(")[0] for name in names if "(" in name} for names in (some, others)]
    return bool(some & others or some & functions[1] or others & functions[0])


def groups(sources):
    """Divides sources into lists that may be read as one. Files that give a name of a header to something of their own
    are by themselves: the other files may include that header."""
    found, headers = [], of_headers()
    for source in sources:
        own = {name.split("(")[0] for name in source.names}
        repeats = any(own & headers[namespace] for namespace in NAMESPACE.findall(source.text))
        opened = frozenset(re.findall(r"^using namespace ([\w:]+);", source.text, re.MULTILINE))
        odd = source.path.endswith(ODD)
        kind = (source.is_test, marks(source.path), opened, repeats, odd)
        for of_kind, members, names in found:
            if of_kind == kind and len(members) < LARGEST and not clash(names, source.names):
                break
        else:
            members, names = [], set()
            found.append((kind, members, names))
        members.append(source)
        names |= source.names
    return [members for _, members, _ in found]


def as_one(sources):
    """Returns the text of a file for all sources, and for each of its lines the source and its line."""
    if len(sources) == 1:
        lines = sources[0].text.splitlines()
        return "\n".join(lines) + "\n", [(sources[0], number + 1) for number in range(len(lines))]
    # Headers come first, so that none sees a file's own names.
    lines = sorted(set().union(*(source.includes for source in sources)))
    origin = [(None, 0)] * len(lines)
    for number, source in enumerate(sources):
        member = source.as_member(number)
        lines += member
        origin += [(source, line + 1) for line in range(len(member))]
    return "\n".join(lines) + "\n", origin


def run(command, path, origin):
    """Runs a compiler on the file of a group. Returns each finding with the source that it is in, or None if all is
    well. A crash is a finding, too."""
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if os.environ.get("VERBOSE"):
        print(f"{command[0]}: {time.monotonic() - start:.0f} s, exit status {done.returncode}", file=sys.stderr)
    if done.returncode == 0:
        return None
    findings = []
    for line in done.stdout.splitlines():
        source = None
        if line.startswith(path + ":"):
            _, number, rest = line.split(":", 2)
            source, number = origin[int(number) - 1]
            line = f"{source.path if source else 'an include'}:{number}:{rest}"
        if re.search(r"(warning|error):", line):
            findings.append((line, source))
        elif source and findings and not findings[-1][1]:
            # A note: the source asks for the part of a header that the error is in.
            findings[-1] = (findings[-1][0], source)
    return findings or [(done.stdout, None)]


def lint(sources, flags, folder):
    """Runs clang-tidy over sources as one. Returns its findings."""
    text, origin = as_one(sources)
    with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=folder, delete=False) as file:
        file.write(text)
    checks = [FOR_TESTS] if sources[0].is_test else []
    tidy = ["clang-tidy", "--quiet", "--config-file=.clang-tidy", *checks, file.name, "--", "-Wfatal-errors", *flags]
    findings = run(tidy, file.name, origin)
    if findings is None:
        return []
    if len(sources) == 1 or not any("clang-diagnostic-error" in line for line, _ in findings):
        return [line for line, _ in findings]
    # Files that do not go with the others are read later; where the compiler names none, half of them.
    compiler = ["clang++", "-fsyntax-only", "-w", "-ferror-limit=0", *flags, file.name]
    errors = run(compiler, file.name, origin) or []
    at_fault = {source.path for _, source in errors if source}
    later = [source for source in sources if source.path in at_fault]
    if not 0 < len(later) < len(sources):
        later = sources[len(sources) // 2 :]
    if os.environ.get("VERBOSE"):
        why = errors[0][0] if errors else "clang++ finds no error"
        print(f"{len(sources)} files, read later: {sorted(at_fault)}: {why}", file=sys.stderr)
    kept = [source for source in sources if source not in later]
    return lint(kept, flags, folder) + lint(later, flags, folder)


def main():
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(
        usage="%(prog)s FILE... -- COMPILER_FLAG...",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="+", metavar="FILE", help="a C++ file of the tree")
    files = parser.parse_args(sys.argv[1:end]).file
    sources, flags = [Source(path) for path in files], sys.argv[end + 1 :]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda group: lint(group, flags, folder), groups(sources))
        lines = sorted({line for group in found for line in group})
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
