#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header with its comments as Doxygen reads them. Doxygen calls it for each (INPUT_FILTER):

    header_comments.py HEADER

A comment directly above a declaration, or behind it on its line, is its text. A line of dashes with a name, as
holdfast.h of the C interface has them, begins a group. The namespace is left out, which Breathe would show once for
each header.
"""

import re
import sys

from comment_text import comment_text, escaped

_SECTION = re.compile(r"^/\* -{8,} (.*) \*/$")
# What holdfast.h begins with has no such line.
FIRST_SECTION = "version and types"
_LINE_COMMENT = re.compile(r"^( *)// ?(.*)$")
# Behind a declaration: what stands behind #endif names a condition.
_BEHIND = re.compile(r"^(?!#(?!define))(.*[;,{}\w]) +(?://|/\*) (.*?)(?: \*/)?$")
_NAMESPACE = re.compile(r"^(namespace holdfast \{|}  // namespace holdfast)$")
# Declarations of messages, which are the protocol's.
_MESSAGES = re.compile(r"^namespace v1 \{\n(.*\n)*?}  // namespace v1$", re.MULTILINE)
# Macros that others are made of.
_PART_OF_MACRO = re.compile(r"^#define \w+_\((.*\\\n)*.*\n", re.MULTILINE)
# Lines that a comment above them does not describe.
_DECLARES_NOTHING = re.compile(r"^\s*($|#(?!define)|}|namespace|public:|private:|extern|/[/*])")
_NO_TEXT = re.compile(r"^(NOLINT|SPDX|namespace\b)")


def group_name(section):
    return "c_" + re.sub(r"\W+", "_", section)


def comments(lines):
    """Pairs: a line, or the lines of a comment's text; and the comment's indentation, None for a line."""
    i = 0
    while i < len(lines):
        match, text = _LINE_COMMENT.match(lines[i]), []
        indent = len(lines[i]) - len(lines[i].lstrip())
        if match:
            while i < len(lines) and (match := _LINE_COMMENT.match(lines[i])):
                text.append(match.group(2).rstrip())
                i += 1
            yield text, indent
        elif lines[i].lstrip().startswith("/*") and not _SECTION.match(lines[i]):
            while True:
                line = lines[i].strip()
                text.append(re.sub(r"^(/\*|\*(?!/)) ?", "", line).removesuffix("*/").rstrip())
                i += 1
                if line.endswith("*/"):
                    break
            yield text, indent
        else:
            yield lines[i], None
            i += 1


def file_comment(lines):
    """The text of the comment that the file begins with, without the licence."""
    text, indent = next(comments(lines))
    return [] if indent is None else [line for line in text if not _NO_TEXT.match(line)]


def _described(text, indent):
    text = comment_text([line for line in text if not _NO_TEXT.match(line)])
    if not text:
        return []
    lines = ["\\verbatim embed:rst:leading-slashes", *text.split("\n"), "\\endverbatim"]
    return [f"{' ' * indent}/// {line}".rstrip() for line in lines]


def _begin_group(name):
    return [f"/// \\defgroup {group_name(name)} {name}", "/// @{"]


def _line(line, groups):
    """A line that is no comment, and where it begins or ends a group. `groups` are those begun so far."""
    section = _SECTION.match(line)
    if section:
        groups.append(section.group(1))
        return ["/// @}", *_begin_group(section.group(1))]
    # The C interface has two such lines: at its beginning and at its end.
    if line == "#ifdef __cplusplus":
        groups.append(FIRST_SECTION)
        return [*(_begin_group(FIRST_SECTION) if len(groups) == 1 else ["/// @}"]), line]
    behind = _BEHIND.match(line)
    if behind and not _NO_TEXT.match(behind.group(2)):
        return [f"{behind.group(1)}  ///< \\verbatim embed:rst:inline {escaped(behind.group(2))} \\endverbatim"]
    return [line]


def for_doxygen(text):
    text = _PART_OF_MACRO.sub("", _MESSAGES.sub("", text))
    parts = list(comments([line for line in text.split("\n") if not _NAMESPACE.match(line)]))
    groups = []
    for (content, indent), (following, next_indent) in zip(parts, [*parts[1:], ("", None)]):
        if indent is None:
            yield from _line(content, groups)
        elif next_indent is None and not _DECLARES_NOTHING.match(following):
            yield from _described(content, indent)


def _main(path):
    with open(path, encoding="utf-8") as file:
        print("\n".join(for_doxygen(file.read())))


if __name__ == "__main__":
    _main(sys.argv[1])
