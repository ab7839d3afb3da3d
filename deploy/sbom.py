#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the libraries of the distribution that Holdfast's programs are linked with. The bundle, the wheel and the RPM
packages carry some of them, too.

    sbom.py VERSION                          prints them as CycloneDX 1.4 JSON
    sbom.py --texts FOLDER                   writes their copyrights and licences into FOLDER: a file for each source,
                                             and those of the distribution's common licences that these name
    sbom.py --texts FOLDER LABEL...          writes those of the libraries that a program with these dependencies
                                             (@system//:NAME) is linked with, without the common licences, which every
                                             Debian has

The libraries are those of the -dev packages of deploy/debian/control's Build-Depends, without those that no program of
a release is linked with, and the compiler's own. The versions are those of this machine, which has built the programs.
The time stamp is $SOURCE_DATE_EPOCH.
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from urllib.parse import quote

_CONTROL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian", "control")
# No program of a release is linked with these. GoogleTest is not among them: the bundle has tests.
_NOT_LINKED = {"libbenchmark-dev", "libslurm-dev", "python3-dev"}
_COMMON = "/usr/share/common-licenses"
_LONG = 1 << 20

# Of the targets of third_party/system.BUILD: the packages whose archives or headers they are.
_PACKAGES = {
    "absl": ["libabsl-dev"],
    "boost": ["libboost-dev"],
    "cli11": ["libcli11-dev"],
    "crypto": ["libssl-dev"],
    "grpc": ["libc-ares-dev", "libgrpc++-dev", "libgrpc-dev", "libre2-dev", "libssl-dev", "zlib1g-dev"],
    "grpc_reflection": ["libgrpc++-dev"],
    "gtest": ["libgmock-dev", "libgtest-dev"],
    "gtest_main": ["libgtest-dev"],
    "json": ["nlohmann-json3-dev"],
    "llvm": ["libzstd-dev", "llvm-19-dev", "zlib1g-dev"],
    "prometheus": ["prometheus-cpp-dev"],
    "protobuf": ["libprotobuf-dev"],
    "toml": ["libtomlplusplus-dev"],
    "zlib": ["zlib1g-dev"],
    "zstd": ["libzstd-dev"],
}
_FIELDS = "${Package}\\t${Version}\\t${source:Package}\\t${source:Version}\\t${Architecture}\\n"


def linked_packages():
    with open(_CONTROL, encoding="utf-8") as file:
        depends = re.search(r"^Build-Depends:((?:.|\n )*)", file.read(), re.MULTILINE).group(1)
    names = set(re.findall(r"[\w.+-]+-dev\b", depends)) - _NOT_LINKED
    return sorted(names | _compiler_packages())


def _compiler_packages():
    compiler = _output("g++", "-dumpversion").strip()
    return {f"libstdc++-{compiler}-dev", f"libgcc-{compiler}-dev"}


def _output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _installed(packages):
    """Returns a line of _FIELDS for each package. A package that only depends on another one, the present version, is
    replaced by that version."""
    lines = _output("dpkg-query", "--show", f"--showformat={_FIELDS}", *packages).splitlines()
    named = [line.split("\t")[0] for line in lines if line.split("\t")[2].endswith("-defaults")]
    if not named:
        return sorted(lines)
    present = _output("dpkg-query", "--show", "--showformat=${Depends}\\n", *named).split()
    return _installed(set(packages) - set(named) | set(present))


def _without_single_files(text):
    """Leaves out the paragraphs about single files. Boost's text has 1400 of them; its paragraphs about folders, which
    stay, name the same licences."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    kept = [
        paragraph
        for paragraph in paragraphs
        if not paragraph.lstrip().startswith("Files:") or re.search(r"\*$", paragraph.split("\nCopyright:")[0], re.MULTILINE)
    ]
    return "\n\n".join(kept)


def component(line):
    package, version, source, source_version, architecture = line.split("\t")
    purl = f"pkg:deb/debian/{quote(package)}@{quote(version)}?arch={architecture}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package,
        "version": version,
        "purl": purl,
        "properties": [{"name": "source", "value": f"{source} {source_version}"}],
    }


def bill(version):
    components = [component(line) for line in _installed(linked_packages())]
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    product = {
        "type": "application",
        "bom-ref": f"holdfast@{version}",
        "name": "holdfast",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    names = " ".join(entry["bom-ref"] for entry in components)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.4",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"holdfast {version} {time} {names}").urn,
        "version": 1,
        "metadata": {"timestamp": time.isoformat(), "component": product},
        "components": components,
        "dependencies": [{"ref": product["bom-ref"], "dependsOn": [entry["bom-ref"] for entry in components]}],
    }


def packages_of(labels):
    """Returns the packages whose libraries a program with these dependencies is linked with."""
    names = {re.sub(r"^absl_.*", "absl", label.partition("//:")[2]) for label in labels}
    unknown = names - _PACKAGES.keys()
    if unknown:
        raise ValueError(f"deploy/sbom.py does not say of which packages @system//:{', '.join(sorted(unknown))} is")
    return sorted(_compiler_packages().union(*(_PACKAGES[name] for name in names)))


def write_texts(folder, packages, common):
    """`common`: whether the common licences that the texts name are written, too."""
    os.makedirs(folder, exist_ok=True)
    licences = set()
    for line in _installed(packages):
        package, _, source, *_ = line.split("\t")
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8") as file:
            text = file.read()
        if len(text) > _LONG:
            text = _without_single_files(text)
        with open(os.path.join(folder, source), "w", encoding="utf-8") as file:
            file.write(text)
        licences.update(re.findall(rf"{_COMMON}/([\w+-]+(?:\.\d+)?)", text))
    if not common:
        return
    os.makedirs(os.path.join(folder, "common-licenses"))
    for name in sorted(licences):
        shutil.copyfile(os.path.join(_COMMON, name), os.path.join(folder, "common-licenses", name))


def _main(first, *others):
    if first != "--texts":
        return print(json.dumps(bill(first), indent=2))
    folder, *labels = others
    write_texts(folder, packages_of(labels) if labels else linked_packages(), common=not labels)


if __name__ == "__main__":
    _main(*sys.argv[1:])
