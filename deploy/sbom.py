#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the libraries of the distribution that Holdfast's programs are linked with, as CycloneDX 1.4 JSON. The bundle,
the wheel and the RPM packages carry some of them.

    sbom.py VERSION

Those are the -dev packages of deploy/debian/control's Build-Depends, without those of tests, and the compiler's own
libraries; the versions are those of this machine, which has built the programs. The time stamp is $SOURCE_DATE_EPOCH.
"""

import datetime
import json
import os
import re
import subprocess
import sys
import uuid
from urllib.parse import quote

_CONTROL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian", "control")
_NOT_LINKED = {"libbenchmark-dev", "libgmock-dev", "libgtest-dev", "libslurm-dev", "python3-dev"}
_FIELDS = "${Package}\\t${Version}\\t${source:Package}\\t${source:Version}\\t${Architecture}\\n"


def linked_packages():
    with open(_CONTROL, encoding="utf-8") as file:
        depends = re.search(r"^Build-Depends:((?:.|\n )*)", file.read(), re.MULTILINE).group(1)
    names = set(re.findall(r"[\w.+-]+-dev\b", depends)) - _NOT_LINKED
    compiler = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True).stdout.strip()
    return sorted(names | {f"libstdc++-{compiler}-dev", f"libgcc-{compiler}-dev"})


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
    listing = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={_FIELDS}", *linked_packages()],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    components = [component(line) for line in sorted(listing.splitlines())]
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


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1]), indent=2))
