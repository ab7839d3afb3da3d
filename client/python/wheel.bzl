# SPDX-License-Identifier: Apache-2.0
"""Wheels of the package holdfast."""

def wheel(name, out, package, binaries, tables = {}):
    """Makes a wheel.

    Args:
      name: of the target.
      out: the file.
      package: Python files, holdfast/NAME each.
      binaries: dicts of label -> name in the package; they are stripped.
      tables: label -> name in the package, of other files that are made.
    """
    arguments = ["%s=$(location %s)" % (file[len("holdfast/"):], file) for file in package]
    arguments += ["%s=$(location %s)" % (file, label) for label, file in tables.items()]
    commands = ["stripped=$$(mktemp -d)"]
    labels = []
    for label, file in [item for some in binaries for item in some.items()]:
        labels.append(label)
        commands.append("mkdir -p $$(dirname $$stripped/%s)" % file)
        commands.append("strip -o $$stripped/%s $(location %s)" % (file, label))
        arguments.append("%s=$$stripped/%s" % (file, file))
    commands.append(
        "/usr/bin/python3 $(location build_wheel.py) $@ holdfast.h=$(location //client/c:holdfast.h) LICENSE=$(location //:LICENSE) " +
        "older_libraries.py=$(location //deploy/bazel/glibc:older_libraries.py) " +
        "sbom.py=$(location //deploy:sbom.py) " +
        " ".join(arguments),
    )
    commands.append("rm -rf $$stripped")
    native.genrule(
        name = name,
        srcs = package + labels + tables.keys() + [
            "build_wheel.py",
            "//:LICENSE",
            "//client/c:holdfast.h",
            "//deploy:sbom.py",
            "//deploy/bazel/glibc:moved.inc",
            "//deploy/bazel/glibc:older_libraries.py",
            "//deploy/debian:control",
        ],
        outs = [out],
        cmd = " && ".join(commands),
    )
