# SPDX-License-Identifier: Apache-2.0
"""Makes wheels of the package holdfast, and is its build backend for pip (PEP 517).

A wheel is an archive of the package's files with a few that describe it; nothing is compiled here.
So this needs Python's library only, and no network. As a backend it has Bazel make the wheel.

    build_wheel.py OUT.whl NAME=FILE...     NAME: where in the package the file goes
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile

_HERE = os.path.dirname(os.path.abspath(__file__))
_TAG = "cp310-abi3-linux_x86_64"

_METADATA = """\
Metadata-Version: 2.1
Name: holdfast
Version: {version}
Summary: cuda.core's interface to a GPU execution daemon
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy
Provides-Extra: cu13
Requires-Dist: nvidia-cuda-nvrtc >=13, <14; extra == "cu13"
Requires-Dist: nvidia-nvjitlink >=13, <14; extra == "cu13"
Requires-Dist: nvidia-nvvm >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-runtime >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-crt >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-cccl >=13, <14; extra == "cu13"
"""

_WHEEL = f"""\
Wheel-Version: 1.0
Generator: holdfast
Root-Is-Purelib: false
Tag: {_TAG}
"""


def _system_libraries(library):
    """The shared libraries that `library` needs and that a bare system does not have."""
    bare = re.compile(r"^(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)[.-]")
    listing = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"(\S+) => (/\S+)", listing):
        if not bare.match(name) and not name.startswith("libholdfast"):
            yield name, path


def _write(archive, records, name, data, mode):
    info = zipfile.ZipInfo(name)  # of 1980, so that the same files make the same wheel
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=3)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(data)}")


def make_wheel(out, files, version):
    """Writes `out`. `files`: name in the package -> path."""
    described = f"holdfast-{version}.dist-info"
    records = []
    with zipfile.ZipFile(out, "w") as archive:
        for name, path in sorted(files.items()):
            with open(path, "rb") as file:
                data = file.read()
            mode = 0o755 if data[:4] == b"\x7fELF" else 0o644
            _write(archive, records, f"holdfast/{name}", data, mode)
        metadata = _METADATA.format(version=version)
        _write(archive, records, f"{described}/METADATA", metadata.encode(), 0o644)
        _write(archive, records, f"{described}/WHEEL", _WHEEL.encode(), 0o644)
        records.append(f"{described}/RECORD,,\n")
        archive.writestr(f"{described}/RECORD", "\n".join(records))


def _main(out, *arguments):
    files = dict(argument.split("=", 1) for argument in arguments)
    header = files.pop("holdfast.h")
    with open(header, encoding="utf-8") as file:
        version = re.search(r'HF_VERSION "([^"]+)"', file.read()).group(1)
    for name, path in _system_libraries(files["libholdfast.so.0"]):
        files[name] = path
    make_wheel(out, files, version)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. HOLDFAST_WHEEL=client leaves daemon and software driver out."""
    kind = os.environ.get("HOLDFAST_WHEEL", "full")
    root = os.path.dirname(os.path.dirname(_HERE))
    subprocess.run(["bazel", "build", f"//client/python:{kind}_wheel"], cwd=root, check=True)
    built = os.path.join(root, "bazel-bin", "client", "python", f"{kind}.whl")
    with zipfile.ZipFile(built) as archive:
        described = next(n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
    name = f"{described.removesuffix('.dist-info/WHEEL')}-{_TAG}.whl"
    shutil.copy(built, os.path.join(wheel_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("install from the tree, or from a wheel")


if __name__ == "__main__":
    _main(*sys.argv[1:])
