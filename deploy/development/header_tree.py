#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the folder of headers that programs outside of the tree include: <holdfast/session.h>.

    header_tree.py OUT [NAME=FILE...]     NAME: as #include in the tree spells it

The umbrella header, all that it includes, and the messages of the protocol. Where a header lies decides its name:
client/cpp/X becomes holdfast/X, core/base/X becomes holdfast/base/X. A header that has moved in the tree keeps the name
that programs include it by: _NAMES has a row for it. A header of the library that includes gRPC or Protocol Buffers is
an error: only the messages, holdfast/v1/*.pb.h, may.
"""

import os
import re
import sys

# The beginning of a path in the tree, and of the header's installed name. The first row that fits counts.
_NAMES = [
    ("client/cpp/graph/definition/", "holdfast/graph/"),
    ("client/cpp/semaphore.h", "holdfast/sharing/semaphore.h"),
    ("client/cpp/state/", "holdfast/"),
    ("client/cpp/", "holdfast/"),
    ("core/base/", "holdfast/base/"),
    ("proto/", "holdfast/"),
]
_UMBRELLA = "client/cpp/holdfast.h"
# Headers that programs need and no other header includes.
_ALSO = ["core/base/status_macros.h"]
_MESSAGES = re.compile(r"^holdfast/v1/\w+(?<!\.grpc)\.pb\.h$")
_INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.MULTILINE)
_FORBIDDEN = re.compile(r'^\s*#\s*include\s+[<"](grpc|google/protobuf|holdfast/v1/)', re.MULTILINE)


def installed_name(name):
    for start, target in _NAMES:
        if name.startswith(start):
            return target + name.removeprefix(start)
    return name


def _rewritten(text):
    """The header with the includes of installed headers by their installed names."""

    def rename(match):
        name = installed_name(match.group(2))
        return match.group(0) if name == match.group(2) else f"{match.group(1)}<{name}>"

    return _INCLUDE.sub(rename, text)


def library_headers(files):
    """Name -> text, of the umbrella header and what it includes of the tree."""
    found = {}
    left = [_UMBRELLA, *_ALSO]
    while left:
        name = left.pop()
        if name in found:
            continue
        with open(files[name], encoding="utf-8") as file:
            found[name] = file.read()
        if _FORBIDDEN.search(found[name]):
            raise SystemExit(f"{name} includes gRPC or Protocol Buffers: programs outside of the tree do without")
        left += [include for _, include in _INCLUDE.findall(found[name]) if include in files]
    return found


def make_tree(out, files):
    texts = library_headers(files)
    for name in filter(_MESSAGES.match, files):
        with open(files[name], encoding="utf-8") as file:
            texts[name] = file.read()
    if len({installed_name(name) for name in texts}) != len(texts):
        raise SystemExit("two headers have one installed name: see _NAMES")
    for name, text in texts.items():
        path = os.path.join(out, installed_name(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(_rewritten(text))


if __name__ == "__main__":
    arguments = sys.argv[2:]
    if len(arguments) == 1 and arguments[0].startswith("@"):
        with open(arguments[0][1:], encoding="utf-8") as parameters:
            arguments = parameters.read().split()
    make_tree(sys.argv[1], dict(argument.split("=", 1) for argument in arguments))
