# SPDX-License-Identifier: Apache-2.0
"""Linking with the distribution's shared libraries where the tree asks for its archives."""

load("//third_party:libraries.bzl", "ABSL_LIBRARIES")

_OTHERS = [
    "grpc++",
    "grpc",
    "gpr",
    "upb",
    "address_sorting",
    "re2",
    "cares",
    "ssl",
    "crypto",
    "z",
    "protobuf",
    "stdc++",
]

def shared_instead_of_archives(name):
    """Makes a folder of linker scripts, to be searched (-L) before the system's folders.

    Debian compiles its archives of Abseil, protobuf and gRPC for programs (-fPIE): with
    thread-local variables at fixed offsets (R_X86_64_TPOFF32), which no linker takes into a shared
    library. Here lib{x}.a is a script that names lib{x}.so, so that the `-l:lib{x}.a` of @system
    means the latter.

    Args:
      name: of the filegroup and the folder.
    """
    libraries = ["absl_" + library for library in ABSL_LIBRARIES] + _OTHERS
    native.genrule(
        name = name,
        outs = ["%s/lib%s.a" % (name, library) for library in libraries],
        cmd = "for library in " + " ".join(libraries) + "; do " +
              "echo \"INPUT ( $$(gcc -print-file-name=lib$$library.so) )\" > $(RULEDIR)/" + name + "/lib$$library.a; done",
    )
