#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays the files of the Debian packages out as RHEL 9 and Fedora have theirs.

    layout.py FOLDER DEB...

Writes into FOLDER, for holdfast.spec:

    tree             every file of the RPM packages, at its path
    NAME.files       what %files of the package NAME lists
    NAME.bundled     Provides: bundled(...), a line for each library that the package NAME carries
    private          a pattern of the file names of all carried libraries

A library of the distribution that a file needs and that those systems lack is carried beside the daemon, where the
file's rpath finds it; its licence goes with it.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys

_LICENSE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "LICENSE")

# The RPM package of each Debian package. A package carries what an earlier one of the list does not.
# holdfast.spec says which earlier ones it requires.
PACKAGES = {
    "libholdfast0": "holdfast-libs",
    "libholdfast-dev": "holdfast-devel",
    "holdfast-cpu": "holdfast-cpu",
    "holdfastd": "holdfastd",
    "holdfast-cli": "holdfast-cli",
    "holdfast-kubernetes": "holdfast-kubernetes",
}

# Where those systems have what Debian has elsewhere.
_MOVED = [
    (r"^lib/systemd/", "usr/lib/systemd/"),
    (r"^usr/lib/x86_64-linux-gnu/", "usr/lib64/"),
    (r"^usr/share/zsh/vendor-completions/", "usr/share/zsh/site-functions/"),
    (r"^usr/share/doc/libholdfast-dev/", "usr/share/doc/holdfast-devel/"),
]

# Where the licences of linked libraries are, one file a source; rpm has a folder for them.
_TEXT = re.compile(r"^usr/share/doc/([^/]+)/third-party/(.+?)(\.gz)?$")

_LEFT_OUT = re.compile(
    # What Debian's tools read. The licence is where rpm has it.
    r"^usr/share/lintian/|^usr/share/doc/[^/]+/(changelog\.gz|copyright)$"
    # The C++ library needs the development files of Abseil 20220623, and the archive those of gRPC 1.51. RHEL 9 and
    # Fedora have other versions. The C interface needs none.
    r"|^usr/include/holdfast/|/libholdfast\.a$|/holdfast-cpp\.pc$|^usr/lib/[^/]+/cmake/|^usr/share/holdfast/bazel/"
    r"|^usr/share/doc/libholdfast-dev/(README\.md|examples/(?!saxpy\.c$))"
)

# Every RHEL 9 and Fedora has these in its own repositories, and mends them.
_OF_THE_SYSTEM = re.compile(r"^(ld-linux-x86-64|libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libssl|libcrypto|libz|libcares)\.so\b")

_CARRIED_FOLDER = "usr/lib/holdfast"


def place(path):
    """Where a file of a Debian package is in the RPM packages, or None if it is not there."""
    if _LEFT_OUT.search(path):
        return None
    text = _TEXT.match(path)
    if text:
        return f"usr/share/licenses/{PACKAGES[text[1]]}/{text[2]}"
    for pattern, folder in _MOVED:
        path = re.sub(pattern, folder, path)
    return path


def entry(path, configuration):
    """The line of %files for a file; `configuration`: the paths of files that a user changes."""
    if path in configuration:
        return f"%config(noreplace) /{path}"
    for folder, mark in (("usr/share/doc/", "%doc "), ("usr/share/licenses/", "%license ")):
        if path.startswith(folder):
            return f"{mark}/{path}"
    return f"/{path}"


def own_folders(path):
    """The folders above a file that are of Holdfast alone, and so belong to the package."""
    names = path.split("/")[:-1]
    first = next((number for number, name in enumerate(names) if "holdfast" in name), len(names))
    return ["/".join(names[: end + 1]) for end in range(first, len(names))]


def needed_libraries(listing):
    """Pairs of a library's name and its file, of what ldd has printed, without those of the system."""
    missing = re.findall(r"(\S+) => not found", listing)
    if missing:
        raise ValueError(f"this machine has no {', '.join(missing)}")
    found = re.findall(r"^\s*(\S+) => (/\S+) \(", listing, re.MULTILINE)
    return [(name, path) for name, path in found if not _OF_THE_SYSTEM.match(name)]


def _run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _is_program_or_library(path):
    if os.path.islink(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Package:
    """One RPM package below construction: its files are in `tree`, with the files of the earlier packages."""

    def __init__(self, tree, name):
        self._tree = tree
        self.name = name
        self.files = []
        self.configuration = set()
        self.carried = []  # names of libraries
        self.bundled = {}  # a version by the name of the source

    def add_deb(self, deb, scratch):
        _run("dpkg-deb", "--raw-extract", deb, scratch)
        control = os.path.join(scratch, "DEBIAN")
        if os.path.exists(os.path.join(control, "conffiles")):
            with open(os.path.join(control, "conffiles"), encoding="utf-8") as file:
                self.configuration = {line.strip().lstrip("/") for line in file}
        shutil.rmtree(control)
        for folder, folders, names in os.walk(scratch):
            for name in names + folders:
                source = os.path.join(folder, name)
                target = place(os.path.relpath(source, scratch))
                if target and (name in names or os.path.islink(source)):
                    self._add(source, target)
        self._add(_LICENSE, f"usr/share/licenses/{self.name}/LICENSE")

    def carry(self):
        """Adds the libraries that the package's files need and nobody has."""
        for path in [os.path.join(self._tree, path) for path in self.files]:
            if _is_program_or_library(path):
                for name, library in needed_libraries(_run("ldd", path)):
                    self._carry(name, os.path.realpath(library))

    def _carry(self, name, library):
        target = f"{_CARRIED_FOLDER}/{name}"
        if os.path.exists(os.path.join(self._tree, target)):
            return
        self._add(library, target)
        self.carried.append(name)
        package = _run("dpkg-query", "--search", library).split(":")[0]
        fields = "${source:Package} ${source:Upstream-Version}"
        source, version = _run("dpkg-query", "--show", f"--showformat={fields}", package).split()
        if source not in self.bundled:
            self.bundled[source] = version
            text = f"usr/share/licenses/{self.name}/{source}"
            if text not in self.files:
                self._add(f"/usr/share/doc/{package}/copyright", text)

    def _add(self, source, target):
        path = os.path.join(self._tree, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy2(source, path, follow_symlinks=False)
        if source.endswith(".gz") and not path.endswith(".gz"):
            with gzip.open(source) as packed, open(path, "wb") as file:
                file.write(packed.read())
        if path.endswith(".pc"):
            with open(source, encoding="utf-8") as old, open(path, "w", encoding="utf-8") as new:
                new.write(old.read().replace("lib/x86_64-linux-gnu", "lib64"))
        # rpm reads of files that may be executed alone what they need.
        if _is_program_or_library(path):
            os.chmod(path, 0o755)
        self.files.append(target)

    def write(self, folder):
        folders = {folder for path in self.files for folder in own_folders(path)}
        lines = [f"%dir /{path}" for path in sorted(folders)]
        lines += [entry(path, self.configuration) for path in sorted(self.files)]
        _write(os.path.join(folder, f"{self.name}.files"), lines)
        bundled = [f"Provides: bundled({source}) = {version}" for source, version in sorted(self.bundled.items())]
        _write(os.path.join(folder, f"{self.name}.bundled"), bundled)


def _write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def lay_out(folder, debs):
    by_name = {os.path.basename(deb).split("_")[0]: deb for deb in debs}
    tree = os.path.join(folder, "tree")
    os.mkdir(tree)
    packages = []
    for debian_name, name in PACKAGES.items():
        package = Package(tree, name)
        package.add_deb(by_name[debian_name], os.path.join(folder, debian_name))
        package.carry()
        package.write(folder)
        packages.append(package)
    carried = sorted(name for package in packages for name in package.carried)
    _write(os.path.join(folder, "private"), ["|".join(map(re.escape, carried))])


if __name__ == "__main__":
    lay_out(sys.argv[1], sys.argv[2:])
