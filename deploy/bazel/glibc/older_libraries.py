#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes shared libraries of the distribution that an archive or a wheel carries, so that they load where glibc is
2.31 and the C++ library is that of GCC 10.

    older_libraries.py LIBHF_C FILE...

Changes each FILE in place, if it needs a later version of a symbol. The changed file needs the symbol without a
version. The loader finds the symbol in the library that had it before (moved.inc), or in LIBHF_C, libhf_c.so, which
has to lie beside the file and brings the older libraries along. The file keeps its size, because the name libhf_c.so
replaces the name of a version. A symbol that none of these libraries has is an error.
"""

import os
import re
import struct
import sys

_MOVED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "moved.inc")
_LIMITS = {"GLIBC": (2, 31), "GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)}
_SONAME = b"libhf_c.so"

# Tags of the dynamic section, from <elf.h>.
_DT_NULL, _DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 14, 15, 29
_ANY_VERSION = 1  # VER_NDX_GLOBAL


def is_newer(version):
    name, _, numbers = version.partition("_")
    return name in _LIMITS and tuple(int(n) for n in re.findall(r"\d+", numbers)) > _LIMITS[name]


class Library:
    """A shared library for x86-64, as its bytes."""

    def __init__(self, path):
        self._path = path
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        (table,) = self._read("<Q", 40)
        size, count, names = self._read("<HHH", 58)
        headers = [self._read("<IIQQQQIIQQ", table + size * i) for i in range(count)]
        base = headers[names][4]
        # The offset and the size in the file, and the number of entries of a list, by name.
        self._sections = {self._text(base + h[0]): (h[4], h[5], h[7]) for h in headers}

    def _read(self, form, offset):
        return struct.unpack_from(form, self.data, offset)

    def _write(self, form, offset, *values):
        struct.pack_into(form, self.data, offset, *values)

    def _text(self, offset):
        return self.data[offset : self.data.index(b"\0", offset)].decode()

    def _string(self, index):
        return self._text(self._sections[".dynstr"][0] + index)

    def symbols(self):
        """Yields of each symbol its number, the index of its name, and whether the library defines it."""
        offset, size, _ = self._sections[".dynsym"]
        for number in range(1, size // 24):
            name, _, _, section = self._read("<IBBH", offset + 24 * number)
            yield number, name, section != 0

    def defined(self):
        return {self._string(name) for _, name, defined in self.symbols() if defined}

    def _entries(self):
        """Yields the offset, the tag and the value of each entry of the dynamic section, unused ones included."""
        offset, size, _ = self._sections[".dynamic"]
        for at in range(offset, offset + size, 16):
            yield (at, *self._read("<QQ", at))

    def _needs(self):
        """Yields for each file whose versions are needed its offset, and a list of the offsets of its versions."""
        offset, _, count = self._sections.get(".gnu.version_r", (0, 0, 0))
        for _ in range(count):
            _, versions, _, first, following = self._read("<HHIII", offset)
            at, listed = offset + first, []
            for _ in range(versions):
                listed.append(at)
                at += self._read("<I", at + 12)[0]
            yield offset, listed
            offset += following

    def _version(self, at):
        """Returns the index by which symbols name a version, and the index of the version's name."""
        _, _, index, name, _ = self._read("<IHHII", at)
        return index, name

    def _strings_in_use(self):
        """Yields the indices of all texts that the loader reads."""
        for _, name, _ in self.symbols():
            yield name
        for _, tag, value in self._entries():
            if tag in (_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH):
                yield value
        for at, listed in self._needs():
            yield self._read("<I", at + 4)[0]
            for version in listed:
                yield self._version(version)[1]
        offset, _, count = self._sections.get(".gnu.version_d", (0, 0, 0))
        for _ in range(count):
            _, _, _, names, _, first, following = self._read("<HHHHIII", offset)
            at = offset + first
            for _ in range(names):
                name, further = self._read("<II", at)
                yield name
                at += further
            offset += following

    def _forget(self, names):
        """Takes these versions, by the indices of their names, out of what is needed."""
        for at, listed in self._needs():
            kept = [version for version in listed if self._version(version)[1] not in names]
            if not kept:
                raise ValueError(f"{self._path}: every version that it needs of one library is too new")
            self._write("<H", at + 2, len(kept))
            self._write("<I", at + 8, kept[0] - at)
            for version, following in zip(kept, kept[1:] + [None]):
                self._write("<I", version + 12, following - version if following else 0)

    def _need(self, names):
        """Has the loader load libhf_c.so, too; its name takes the place of one of `names`, which nothing uses."""
        used = set(self._strings_in_use())
        for name in names:
            size = len(self._string(name))
            if size >= len(_SONAME) and not used & set(range(name, name + size + 1)):
                break
        else:
            raise ValueError(f"{self._path}: no place for the name of {_SONAME.decode()}")
        unused = [at for at, tag, _ in self._entries() if tag == _DT_NULL]
        if len(unused) < 2:
            raise ValueError(f"{self._path}: no place for another library that it needs")
        offset = self._sections[".dynstr"][0] + name
        self.data[offset : offset + size] = _SONAME.ljust(size, b"\0")
        self._write("<QQ", unused[0], _DT_NEEDED, name)

    def make_older(self, known):
        """`known`: the symbols that older versions of glibc or libhf_c.so have. Returns whether there was a need."""
        versions = [self._version(version) for _, listed in self._needs() for version in listed]
        newer = {index: name for index, name in versions if is_newer(self._string(name))}
        if not newer:
            return False
        for number, name, _ in self.symbols():
            at = self._sections[".gnu.version"][0] + 2 * number
            index = self._read("<H", at)[0] & 0x7FFF
            if index not in newer:
                continue
            symbol = self._string(name)
            if symbol not in known:
                raise ValueError(
                    f"{self._path} needs {symbol} of {self._string(newer[index])}, which neither moved.inc nor "
                    f"{_SONAME.decode()} has"
                )
            self._write("<H", at, _ANY_VERSION)
        self._forget(set(newer.values()))
        self._need(sorted(set(newer.values())))
        return True


def make_older(libhf_c, paths):
    with open(_MOVED, encoding="utf-8") as file:
        moved = set(re.findall(r"^MOVED\((\w+),", file.read(), re.MULTILINE))
    known = moved | Library(libhf_c).defined()
    for path in paths:
        library = Library(path)
        if library.make_older(known):
            with open(path, "wb") as file:
                file.write(library.data)


if __name__ == "__main__":
    make_older(sys.argv[1], sys.argv[2:])
