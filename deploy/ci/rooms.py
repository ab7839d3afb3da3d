#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that folders include each other one way.

A room is a folder. It has an arrow to each room whose headers or modules its
files include or import. A file that gathers a whole tree (main.cc, an umbrella
header, a package's __init__.py) is a room of its own: see FRONTS.

Prints the rooms of each part as layers, the lowest last, and fails on
  - an arrow between parts that PARTS does not allow,
  - a circle of rooms: move a file to the room that its users lie above, or give
    the lower room a value or an interface.
"""
import argparse
import os
import re
import subprocess
import sys

# The parts of the tree, and the parts that each may include. proto includes core/base, and core has tables of proto.
PARTS = {
    "client": ("core", "proto"),
    "server": ("core", "proto"),
    "core": ("proto",),
    "proto": ("core",),
}

# Files that gather the tree below them. No file of that tree may include them.
FRONTS = {
    "client/cli/main.cc",
    "client/cpp/holdfast.h",
    "client/python/holdfast/__init__.py",
    "client/python/holdfast/core/__init__.py",
    "client/python/native/module.cc",
    "server/main.cc",
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([^\n#]+))", re.MULTILINE)
_PYTHON_ROOT = "client/python/"
# The module of Python that is no file of Python.
_EXTENSION = ("holdfast._native", "client/python/native/module.cc")


def included(path, text, files):
    """Returns the files of the tree that a C++ file includes."""
    return {name for name in _INCLUDE.findall(text) if name in files}


def imported(path, text, files):
    """Returns the files of the tree that a Python module imports, in functions too."""

    def file_of(module):
        if module == _EXTENSION[0]:
            return _EXTENSION[1] if _EXTENSION[1] in files else None
        stem = _PYTHON_ROOT + module.replace(".", "/")
        return next((file for file in (stem + ".py", stem + "/__init__.py") if file in files), None)

    found = set()
    for module, names, modules in _IMPORT.findall(text):
        if module:
            for name in re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", names)):
                found.add(file_of(module + "." + name) or file_of(module))
        for name in (modules or "").split(","):
            if name.strip():
                found.add(file_of(name.split()[0]))
    return found - {None, path}


def room_of(path):
    """Returns the name of a file's room."""
    return path if path in FRONTS else os.path.dirname(path)


def read_arrows(root):
    """Returns {(room, room): [(file, included file)]} of the tree at `root`."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *PARTS],
        cwd=root, check=True, capture_output=True, text=True)
    files = {name for name in listed.stdout.splitlines() if os.path.exists(os.path.join(root, name))}
    arrows = {}
    for path in sorted(files):
        if path.endswith((".h", ".cc", ".cu", ".inc")):
            read = included
        elif path.endswith(".py") and path.startswith(_PYTHON_ROOT):
            read = imported
        else:
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for other in sorted(read(path, text, files)):
            if room_of(path) != room_of(other):
                arrows.setdefault((room_of(path), room_of(other)), []).append((path, other))
    return arrows


def part_of(room):
    """Returns the first folder of a room's name."""
    return room.split("/")[0]


def circles(arrows):
    """Returns the sets of rooms that reach each other (Tarjan's components of more than one)."""
    below = {}
    for start, end in arrows:
        below.setdefault(start, []).append(end)
        below.setdefault(end, [])
    number, low, stack, found = {}, {}, [], []

    def visit(room):
        number[room] = low[room] = len(number)
        stack.append(room)
        for other in below[room]:
            if other not in number:
                visit(other)
                low[room] = min(low[room], low[other])
            elif other in stack:
                low[room] = min(low[room], number[other])
        if low[room] == number[room]:
            members = stack[stack.index(room):]
            del stack[stack.index(room):]
            if len(members) > 1:
                found.append(set(members))

    for room in sorted(below):
        if room not in number:
            visit(room)
    return found


def layers(rooms, arrows):
    """Returns the rooms by height, the lowest first. REQUIRES: no circle."""
    heights = {}

    def height(room):
        if room not in heights:
            below = [end for start, end in arrows if start == room and end in rooms]
            heights[room] = 1 + max((height(other) for other in below), default=0)
        return heights[room]

    rows = [[] for _ in range(max(map(height, rooms), default=0))]
    for room in sorted(rooms):
        rows[height(room) - 1].append(room)
    return rows


def mistakes(arrows):
    """Returns a line for everything that is not as it has to be."""
    lines = []
    for (start, end), files in sorted(arrows.items()):
        if part_of(start) != part_of(end) and part_of(end) not in PARTS[part_of(start)]:
            lines.append(f"{part_of(start)} may not include {part_of(end)}: {files[0][0]} includes {files[0][1]}")
    for circle in circles(arrows):
        lines.append("a circle of rooms: " + ", ".join(sorted(circle)))
        for (start, end), files in sorted(arrows.items()):
            if start in circle and end in circle:
                lines.append(f"  {start} -> {end}: {len(files)} files, as {files[0][0]} of {files[0][1]}")
    return lines


def print_rooms(part, arrows, with_arrows):
    """Prints the layers of one part, the highest first."""
    rooms = {room for arrow in arrows for room in arrow if part_of(room) == part}
    print(f"{part}: {len(rooms)} rooms")
    rows = layers(rooms, arrows)
    for level in range(len(rows), 0, -1):
        print(f"{level:4}  " + "  ".join(room.removeprefix(part + "/") for room in rows[level - 1]))
        for room in rows[level - 1] if with_arrows else ():
            ends = sorted(end for start, end in arrows if start == room and end in rooms)
            if ends:
                print(f"      {room} -> " + ", ".join(ends))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="PART", help="print these parts only: " + ", ".join(PARTS))
    parser.add_argument("--arrows", action="store_true", help="print each room's arrows, too")
    arguments = parser.parse_args()
    if not set(arguments.part) <= set(PARTS):
        parser.error("there are these parts: " + ", ".join(PARTS))
    arrows = read_arrows(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    found = mistakes(arrows)
    if not any(line.startswith("a circle") for line in found):
        for part in arguments.part or PARTS:
            print_rooms(part, arrows, arguments.arrows)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
