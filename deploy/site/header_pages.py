#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the reference for C++ and C. Doxygen has read the headers; the pages say which of its parts stand
where.

    header_pages.py TREE INCLUDE OUT     INCLUDE: the headers as programs include them; OUT: the folder of the pages

C++: one page for each part of the umbrella header, which its comments name. C: one page, with the sections of
holdfast.h.
"""

import os
import re
import sys

from comment_text import comment_text
from header_comments import FIRST_SECTION, file_comment, group_name

_INCLUDE = re.compile(r"#include <(.*)>")
_SECTION = re.compile(r"^/\* -{8,} (.*) \*/$", re.MULTILINE)
# Of a file, and of the classes in it.
_SECTIONS = (
    "briefdescription detaileddescription innerclass enum typedef func define "
    "public-type public-func public-static-func public-attrib public-static-attrib"
)


def _read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def _heading(text, sign):
    return f"{text}\n{sign * len(text)}"


def cpp_parts(umbrella):
    """Pairs: the comment above a run of includes, without its full stop; the headers."""
    for block in umbrella.split("\n\n"):
        lines = block.split("\n")
        headers = [match.group(1) for match in map(_INCLUDE.match, lines) if match]
        if headers and lines[0].startswith("// "):
            yield lines[0].removeprefix("// ").rstrip("."), headers


def _cpp_page(title, headers, include):
    yield _heading(title, "=")
    for header in headers:
        yield _heading(f"{header.removeprefix('holdfast/')}", "-")
        yield f".. code-block:: cpp\n\n   #include <{header}>"
        yield comment_text(file_comment(_read(include, header).split("\n")))
        yield f".. doxygenfile:: {header}\n   :sections: {_SECTIONS}"


def _c_page(header):
    yield _heading("holdfast.h", "=")
    yield comment_text(file_comment(header.split("\n")))
    for section in [FIRST_SECTION, *_SECTION.findall(header)]:
        yield _heading(section.capitalize(), "-")
        yield f".. doxygengroup:: {group_name(section)}\n   :content-only:\n   :members:"


def _write(path, blocks):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n".join(filter(None, blocks)) + "\n")


def _main(tree, include, out):
    parts = cpp_parts(_read(include, "holdfast/holdfast.h"))
    for number, (title, headers) in enumerate(parts, 1):
        _write(f"{out}/cpp/{number}.rst", _cpp_page(title, headers, include))
    _write(f"{out}/c/holdfast.rst", _c_page(_read(tree, "client/c/holdfast.h")))


if __name__ == "__main__":
    _main(*sys.argv[1:])
