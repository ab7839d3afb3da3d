# SPDX-License-Identifier: Apache-2.0
"""Makes wheels of the package holdfast, and is its build backend for pip (PEP 517).

A wheel is an archive of the package's files with a few that describe it; nothing is compiled here.
So this needs Python's library only, and no network. As a backend it has Bazel make the wheel.

    build_wheel.py OUT.whl NAME=FILE...     NAME: where in the package the file goes
    build_wheel.py --name VERSION           the wheel's file name
    build_wheel.py --dist-info FOLDER VERSION    what other installers leave in site-packages (Debian's package)
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

_HERE = os.path.dirname(os.path.abspath(__file__))
# manylinux: the oldest glibc that the programs start with; deploy/ci/glibc.sh looks at their symbols.
_TAG = "cp310-abi3-manylinux_2_31_x86_64"

_METADATA = """\
Metadata-Version: 2.1
Name: holdfast
Version: {version}
Summary: cuda.core's interface to a GPU execution daemon
Author-email: Holdfast developers <holdfast@holdfast.dev>
License: Apache-2.0
Keywords: CUDA,GPU,cuda.core,daemon,PTX,NVRTC
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: GPU :: NVIDIA CUDA :: 13
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3 :: Only
Classifier: Topic :: Scientific/Engineering
Classifier: Topic :: Software Development :: Libraries
Classifier: Typing :: Typed
Requires-Python: >=3.10
Requires-Dist: numpy
Provides-Extra: cu13
Requires-Dist: nvidia-cuda-nvrtc >=13, <14; extra == "cu13"
Requires-Dist: nvidia-nvjitlink >=13, <14; extra == "cu13"
Requires-Dist: nvidia-nvvm >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-runtime >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-crt >=13, <14; extra == "cu13"
Requires-Dist: nvidia-cuda-cccl >=13, <14; extra == "cu13"
Description-Content-Type: text/markdown

# Holdfast

A GPU execution daemon: a Python program for cuda.core runs in a warm process, on another machine, or without a
GPU, when its import is changed. A session survives a kernel that faults. Without a GPU, Holdfast's own CUDA driver
compiles PTX to SIMD code for the CPU.

```python
import numpy as np
from holdfast.core import Device, LaunchConfig, Program, launch      # cuda.core's, served by the daemon

device = Device()
device.set_current()
stream = device.create_stream()
source = 'extern "C" __global__ void scale(float* x, float a, int n) {{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] *= a; }}'
kernel = Program(source, "c++").compile("cubin").get_kernel("scale")
values = np.arange(50_000, dtype=np.float32)
x = device.allocate(values.nbytes, stream=stream)
x.copy_from(values, stream=stream)
launch(stream, LaunchConfig(grid=196, block=256), kernel, x, np.float32(3), values.size)
print(x.copy_to(values, stream=stream))                              # [0. 3. 6. ... 149997.]
```

The wheel carries the daemon `holdfastd`, the software driver and the command line `holdfast`. `pip install holdfast[cu13]`
brings the CUDA compiler and its headers, for machines without a CUDA toolkit.
"""

_WHEEL = f"""\
Wheel-Version: 1.0
Generator: holdfast
Root-Is-Purelib: false
Tag: {_TAG}
"""

_ENTRY_POINTS = """\
[console_scripts]
holdfast = holdfast.__main__:main
holdfastd = holdfast.__main__:daemon
"""


def _system_libraries(library):
    """Yields name and path of each shared library that `library` needs and that a bare system does not have."""
    bare = re.compile(r"^(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)[.-]")
    listing = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"(\S+) => (/\S+)", listing):
        if not bare.match(name) and not name.startswith(("libholdfast", "libcuda")):
            yield name, path


def _write(archive, records, name, data, mode):
    info = zipfile.ZipInfo(name)  # of 1980, so that the same files make the same wheel
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, compresslevel=3)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(data)}")


def _licenses(folder):
    """Yields the name in .dist-info and the path of each file below `folder`."""
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            yield os.path.join("licenses", os.path.relpath(file, folder)), file


def make_wheel(out, files, version, license_file, licenses):
    """Writes `out`. `files`: name in the package -> path; `licenses`: the folder of the libraries' licenses."""
    described = f"holdfast-{version}.dist-info"
    records = []
    with open(license_file, "rb") as file:
        license_text = file.read()
    with zipfile.ZipFile(out, "w") as archive:
        for name, path in sorted(files.items()):
            with open(path, "rb") as file:
                data = file.read()
            mode = 0o755 if data[:4] == b"\x7fELF" else 0o644
            _write(archive, records, f"holdfast/{name}", data, mode)
        metadata = _METADATA.format(version=version)
        for name, data in [
            ("METADATA", metadata.encode()),
            ("WHEEL", _WHEEL.encode()),
            ("entry_points.txt", _ENTRY_POINTS.encode()),
            ("LICENSE", license_text),
        ]:
            _write(archive, records, f"{described}/{name}", data, 0o644)
        for name, path in sorted(_licenses(licenses)):
            with open(path, "rb") as file:
                _write(archive, records, f"{described}/{name}", file.read(), 0o644)
        records.append(f"{described}/RECORD,,\n")
        _write(archive, [], f"{described}/RECORD", "\n".join(records).encode(), 0o644)


def make_dist_info(folder, version):
    """For packages of a distribution: without RECORD, so that pip leaves the files to the distribution."""
    described = os.path.join(folder, f"holdfast-{version}.dist-info")
    os.makedirs(described)
    for name, text in [("METADATA", _METADATA.format(version=version)), ("INSTALLER", "debian\n")]:
        with open(os.path.join(described, name), "w", encoding="utf-8") as file:
            file.write(text)


def wheel_name(version):
    return f"holdfast-{version}-{_TAG}.whl"


def _add_carried(files, older_libraries, folder):
    """Adds to `files` the libraries that the package's libraries need: copies in `folder`, changed for an older glibc."""
    carried = {}
    for library in {"libholdfast.so.0", "libholdfast_metrics.so"} & files.keys():
        for name, path in _system_libraries(files[library]):
            carried[name] = shutil.copyfile(path, os.path.join(folder, name))
    subprocess.run([sys.executable, "-B", older_libraries, files["libhf_c.so"], *carried.values()], check=True)
    files.update(carried)


def _main(out, *arguments):
    if out == "--name":
        return print(wheel_name(*arguments))
    if out == "--dist-info":
        return make_dist_info(*arguments)
    files = dict(argument.split("=", 1) for argument in arguments)
    header = files.pop("holdfast.h")
    license_file = files.pop("LICENSE")
    older_libraries = files.pop("older_libraries.py")
    sbom = files.pop("sbom.py")
    with open(header, encoding="utf-8") as file:
        version = re.search(r'HF_VERSION "([^"]+)"', file.read()).group(1)
    with tempfile.TemporaryDirectory() as folder:
        _add_carried(files, older_libraries, folder)
        licenses = os.path.join(folder, "licenses")
        subprocess.run([sys.executable, "-B", sbom, "--texts", licenses], check=True)
        make_wheel(out, files, version, license_file, licenses)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. HOLDFAST_WHEEL=client leaves daemon and software driver out."""
    kind = os.environ.get("HOLDFAST_WHEEL", "full")
    root = os.path.dirname(os.path.dirname(_HERE))
    subprocess.run(["bazel", "build", f"//client/python:{kind}_wheel"], cwd=root, check=True)
    built = os.path.join(root, "bazel-bin", "client", "python", f"{kind}.whl")
    with zipfile.ZipFile(built) as archive:
        described = next(n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
    name = wheel_name(described.removesuffix(".dist-info/WHEEL").removeprefix("holdfast-"))
    shutil.copy(built, os.path.join(wheel_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("install from the tree, or from a wheel")


if __name__ == "__main__":
    _main(*sys.argv[1:])
