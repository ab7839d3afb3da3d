# SPDX-License-Identifier: Apache-2.0
"""Tarballs that run wherever they are unpacked."""

def _carry(target):
    """Copies the shared libraries that a library needs and a bare system lacks beside it, for an older glibc."""
    return (
        "carried=$$(mktemp -d) && " +
        "ldd $(location %s) | awk '$$2 == \"=>\" && $$1 !~ /^(libc|libm|libdl|libpthread|libstdc\\+\\+|libgcc_s)\\.so/ { print $$3 }' | " % target +
        "xargs -r install -m 755 -t $$carried && " +
        "/usr/bin/python3 -B $(location %s) $(location %s) $$carried/* && " % (_OLDER_LIBRARIES, _LIBHF_C) +
        "strip -o $$carried/libhf_c.so $(location %s) && " % _LIBHF_C +
        "install -m 755 -t $$root/lib $$carried/* && rm -r $$carried"
    )

_OLDER_LIBRARIES = "//deploy/bazel/glibc:older_libraries.py"
_LIBHF_C = "//deploy/bazel/glibc:libhf_c.so"
_CARRY_SRCS = [
    _OLDER_LIBRARIES,
    _LIBHF_C,
    "//deploy/bazel/glibc:moved.inc",
]

_SBOM = "//deploy:sbom.py"
_TEXTS_SRCS = [
    _SBOM,
    "//deploy/debian:control",
]

def _pack():
    return [
        # The licences of the libraries ask for their texts in every copy.
        "/usr/bin/python3 -B $(location %s) --texts $$root/share/licenses" % _SBOM,
        "tar -C $$(dirname $$root) --sort=name --owner=0 --group=0 --numeric-owner " +
        "--mtime=@0 -cf - holdfast | gzip -n > $@",
        "rm -rf $$(dirname $$root)",
    ]

def bundle(name, binaries = [], libraries = [], files = [], carried = [], links = {}, drivers = [], manual = []):
    """Makes NAME.tar.gz with holdfast/bin, holdfast/lib, holdfast/share/man, holdfast/share/licenses and holdfast/.

    Args:
      name: of the target and the archive.
      binaries: programs, stripped, for bin.
      libraries: shared libraries, stripped, for lib.
      files: as they are, for the top folder.
      carried: of `libraries`, those that need shared libraries which a bare system lacks: these are
        copied beside them.
      links: symbolic links, by their path in holdfast/, and what each holds.
      drivers: shared libraries, stripped, for lib/cuda, where no loader looks unless it is told to.
      manual: archives of manual pages, for share/man.
    """
    commands = ["root=$$(mktemp -d)/holdfast", "mkdir -p $$root"]
    for folder, targets in [("bin", binaries), ("lib", libraries), ("lib/cuda", drivers)]:
        for target in targets:
            commands.append("install -D -t $$root/%s $(location %s)" % (folder, target))
            commands.append("chmod u+w $$root/%s/*" % folder)
            commands.append("strip $$root/%s/$$(basename $(location %s))" % (folder, target))
    for target in carried:
        commands.append(_carry(target))
    for target in files:
        commands.append("cp -L $(location %s) $$root/" % target)
    for target in manual:
        commands.append("pages=$$(mktemp -d) && tar -xf $(location %s) -C $$pages" % target)
        commands.append("for page in $$pages/*; do install -D -m 644 -t $$root/share/man/man$${page##*.} $$page; done")
        commands.append("rm -r $$pages")
    for link, target in links.items():
        commands.append("mkdir -p $$(dirname $$root/%s)" % link)
        commands.append("ln -s %s $$root/%s" % (target, link))
    native.genrule(
        name = name,
        testonly = True,  # tests are among the binaries
        srcs = binaries + libraries + files + drivers + manual + _TEXTS_SRCS + (_CARRY_SRCS if carried else []),
        outs = [name + ".tar.gz"],
        cmd = " && ".join(commands + _pack()),
    )

def development_bundle(name, library):
    """Makes NAME.tar.gz with what programs outside of the tree compile and link with.

    Args:
      name: of the target and the archive.
      library: the shared library; what it needs is copied beside it.
    """
    files = {
        "header": "//client/c:holdfast.h",
        "include": "//deploy/development:include",
        "install": "//deploy/development:install.sh",
        "archive": "//client/c:archive",
        "pc": "//client/c:holdfast.pc.in",
        "example": "//client/c/examples:saxpy.c",
    }
    location = {key: "$(location %s)" % label for key, label in files.items()}
    commands = [
        "root=$$(mktemp -d)/holdfast",
        "version=$$(awk '$$2 == \"HF_VERSION\" { gsub(/\"/, \"\", $$3); print $$3 }' %s)" % location["header"],
        # pkg-config finds the bundle wherever it lies.
        "%s $$root '$${pcfiledir}/../..' lib $$version " % location["install"] +
        " ".join([location[key] for key in ["include", "archive", "header", "pc", "example"]]),
        "strip -o $$root/lib/libholdfast.so.0 $(location %s)" % library,
        _carry(library),
    ]
    native.genrule(
        name = name,
        srcs = files.values() + [library, "//deploy/development:files"] + _TEXTS_SRCS + _CARRY_SRCS,
        outs = [name + ".tar.gz"],
        cmd = " && ".join(commands + _pack()),
    )
