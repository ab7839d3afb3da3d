# SPDX-License-Identifier: Apache-2.0
"""Programs of holdfast.bindings as processes of their own: on the software driver, in daemons, and
beside the rest of the package."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

_FOLDER = subprocess.run(
    [os.environ["HOLDFAST_CLI"], "cuda-path", "--cpu"], capture_output=True, text=True, check=True
).stdout.strip()


def _run(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={k: v for k, v in {**os.environ, **environment}.items() if v is not None},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    return done.stdout


_RUNTIME_PROGRAM = """
import numpy as np
from holdfast.bindings import driver, runtime

def check(result):
    assert result[0] == runtime.cudaError_t.cudaSuccess, runtime.cudaGetErrorString(result[0])
    return result[1] if len(result) == 2 else result[1:]

check(runtime.cudaSetDevice(0))
properties = check(runtime.cudaGetDeviceProperties(0))
assert b"Holdfast" in properties.name and properties.warpSize == 32
memory = check(runtime.cudaMalloc(400))
assert isinstance(memory, int)
stream = check(runtime.cudaStreamCreate())
source, target = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
kinds = runtime.cudaMemcpyKind
check(runtime.cudaMemcpyAsync(memory, source, 400, kinds.cudaMemcpyHostToDevice, stream))
check(runtime.cudaMemcpyAsync(target, memory, 400, kinds.cudaMemcpyDeviceToHost, stream))
check(runtime.cudaStreamSynchronize(stream))
assert np.array_equal(source, target)
assert check(driver.cuStreamQuery(stream)) == ()
pitched = check(runtime.cudaMalloc3D(runtime.make_cudaExtent(100, 4, 2)))
assert pitched.pitch >= 100 and (pitched.xsize, pitched.ysize) == (100, 4)
check(runtime.cudaMemset3D(pitched, 5, runtime.make_cudaExtent(100, 4, 2)))
kind = runtime.cudaChannelFormatKind.cudaChannelFormatKindFloat
assert check(runtime.cudaCreateChannelDesc(32, 0, 0, 0, kind)).x == 32
assert runtime.cudaMalloc(1 << 60) == (runtime.cudaError_t.cudaErrorMemoryAllocation, None)
assert check(runtime.cudaGetErrorName(2)) == b"cudaErrorMemoryAllocation"
print("done")
"""


def test_the_runtime_works_over_the_driver():
    assert "done" in _run(_RUNTIME_PROGRAM, LD_LIBRARY_PATH=_FOLDER)


def test_the_runtime_works_in_a_daemon(address):
    assert "done" in _run(_RUNTIME_PROGRAM, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS=address)


_PROGRAM = """
from holdfast.bindings import driver
assert driver.cuInit(0)[0] == driver.CUresult.CUDA_SUCCESS
device = driver.cuDeviceGet(0)[1]
error, context = driver.cuCtxCreate(None, 0, device)
error, pointer = driver.cuMemAlloc(400)
values = bytearray(400)
assert driver.cuMemsetD8(pointer, 7, 400)[0] == 0
assert driver.cuMemcpyDtoH(values, pointer, 400)[0] == 0
assert values == bytearray(400 * [7])
print(driver.cuDeviceGetName(128, device)[1].split(b"\\0")[0].decode())
"""


def test_a_program_runs_in_a_daemon(address):
    assert "Holdfast" in _run(_PROGRAM, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS=address)


def test_a_program_starts_a_private_daemon():
    address = "embedded:device=cpu"
    assert "Holdfast" in _run(_PROGRAM, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS=address)


def test_a_private_daemon_ends_with_its_process():
    code = _PROGRAM + """
import os, signal
assert os.path.exists(os.environ["HOLDFAST_ADDRESS"].removeprefix("unix:"))
print(os.environ["HOLDFAST_ADDRESS"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LD_LIBRARY_PATH": "", "HOLDFAST_ADDRESS": "embedded:device=cpu"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    address = done.stdout.split()[-1]
    assert address.startswith("unix:")
    socket = address.removeprefix("unix:")
    deadline = time.monotonic() + 60
    while os.path.exists(socket):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_private_daemon_of_a_session_serves_a_program_too():
    code = """
import os
import holdfast
session = holdfast.connect()
""" + _PROGRAM + """
assert os.environ["HOLDFAST_ADDRESS"] == session.address
# It stays when its session goes.
session.close()
assert driver.cuMemcpyDtoH(values, pointer, 400)[0] == 0
with holdfast.connect() as another:
    assert another.device(0).allocate(64).size == 64
"""
    assert "Holdfast" in _run(code, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS="embedded:device=cpu")


def test_no_daemon_is_an_error():
    code = """
import holdfast
from holdfast.bindings import driver
try:
    driver.cuInit(0)
except holdfast.CUDAError as error:
    print(error)
"""
    said = _run(code, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS=None, HOLDFAST_DAEMON="/no/daemon")
    assert "/no/daemon" in said


_REST = """
from holdfast.core import Device
Device().set_current()
assert Device().allocate(64).size == 64
"""


@pytest.mark.parametrize("code", [_PROGRAM + _REST, _REST + _PROGRAM], ids=["first", "last"])
def test_the_rest_of_the_package_works_beside(address, code):
    for at in (address, "embedded:device=cpu"):
        assert "Holdfast" in _run(code, LD_LIBRARY_PATH=None, HOLDFAST_ADDRESS=at)


def test_the_import_loads_no_driver():
    code = (
        "import sys; from holdfast.bindings import driver, nvrtc, runtime\n"
        "driver.CUresult, driver.cuInit\n"
        "print(sorted({'numpy', 'holdfast.core'} & set(sys.modules)))\n"
        "print('libcuda.so' in open('/proc/self/maps').read())"
    )
    assert _run(code) == "[]\nFalse\n"


_PACKAGES_MODULE = """
import enum

class cudaError_t(enum.IntEnum):
    cudaErrorInvalidValue = 1

cudaError_t.cudaErrorInvalidValue.__doc__ = "a value is wrong"
"""

_DOCUMENTATION_PROGRAM = """
from cuda.bindings import runtime
from holdfast.bindings import runtime as served

errors = runtime.cudaError_t
assert errors is served.cudaError_t
assert errors.__doc__ is None or "enumeration" in errors.__doc__
print(errors.cudaErrorInvalidValue.__doc__)
print(errors.cudaErrorMemoryAllocation.__doc__)  # which the package does not have
"""


def test_enumerators_have_the_documentation_of_the_package_that_they_replace(tmp_path):
    package = tmp_path / "cuda" / "bindings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "runtime.py").write_text(_PACKAGES_MODULE)
    holdfast = importlib.util.find_spec("holdfast").submodule_search_locations[0]
    folders = [os.path.join(holdfast, "exec_python"), str(tmp_path), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(filter(None, folders))
    assert _run(_DOCUMENTATION_PROGRAM, PYTHONPATH=path) == "a value is wrong\nNone\n"
