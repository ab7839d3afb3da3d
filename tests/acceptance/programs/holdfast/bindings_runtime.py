# SPDX-License-Identifier: Apache-2.0
"""`holdfast exec` gives programs holdfast.bindings.runtime as cuda.bindings.runtime, and their own sitecustomize runs."""

import os
import subprocess
import sys

from checks import finish, holds

# A cuda-bindings whose runtime does not work: NVIDIA's works with NVIDIA's driver alone.
os.makedirs("packages/cuda/bindings")
open("packages/cuda/bindings/__init__.py", "w", encoding="utf-8").close()
with open("packages/cuda/bindings/runtime.py", "w", encoding="utf-8") as file:
    file.write("""
def cudaDeviceSynchronize():
    raise RuntimeError("this is not NVIDIA's driver")

def cudaOfALaterVersion():
    return 14
""")
# Its driver works, and gives programs handles that they use with both.
with open("packages/cuda/bindings/driver.py", "w", encoding="utf-8") as file:
    file.write("""
import ctypes

class Handle:
    def __init__(self, init_value=0, _ptr=0):
        self._cell = ctypes.c_uint64.from_address(_ptr) if _ptr else ctypes.c_uint64(init_value)

    def __int__(self):
        return self._cell.value

    def getPtr(self):
        return ctypes.addressof(self._cell)

class CUstream(Handle):
    pass

class CUgraph(Handle):
    pass

class CUgraphNode(Handle):
    pass

class CUdeviceptr(Handle):
    pass

class cuuint64_t(Handle):
    pass
""")
with open("packages/sitecustomize.py", "w", encoding="utf-8") as file:
    file.write("import sys\nsys.of_the_user = 1\n")
with open("program.py", "w", encoding="utf-8") as file:
    file.write("""
import ctypes
import sys
import numpy as np
from cuda.bindings import driver, runtime
assert sys.of_the_user == 1
done = runtime.cudaDeviceSynchronize()
assert done == (runtime.cudaError_t.cudaSuccess,), done
error, memory = runtime.cudaMalloc(4096)
assert error == runtime.cudaError_t.cudaSuccess, error
assert runtime.cudaMemset(memory, 7, 4096)[0] == runtime.cudaError_t.cudaSuccess
# As a kernel's argument of the driver module, which asks for the address of what it does not know.
for number in runtime.cudaMemcpyKind:
    assert ctypes.c_int.from_address(number.getPtr()).value == number
copy = np.zeros(4096, np.uint8)
kind = runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
assert runtime.cudaMemcpy(copy.ctypes.data, memory, 4096, kind)[0] == runtime.cudaError_t.cudaSuccess
assert (copy == 7).all()

def right(result):
    assert result[0] == runtime.cudaError_t.cudaSuccess, result
    return result[1] if len(result) == 2 else result[1:]

assert runtime.cudaMemset(driver.CUdeviceptr(memory), 8, driver.cuuint64_t(4096))[0] == runtime.cudaError_t.cudaSuccess
stream = right(runtime.cudaStreamCreate())
assert isinstance(stream, driver.CUstream), stream
right(runtime.cudaStreamSynchronize(driver.CUstream(int(stream))))
graph = right(runtime.cudaGraphCreate(0))
first = right(runtime.cudaGraphAddEmptyNode(graph, None, 0))
right(runtime.cudaGraphAddEmptyNode(graph, [driver.CUgraphNode(int(first))], 1))
nodes = right(runtime.cudaGraphGetNodes(graph, 2))[0]
assert all(isinstance(node, driver.CUgraphNode) for node in nodes) and int(first) in map(int, nodes), nodes
right(runtime.cudaStreamDestroy(stream))
print("version", runtime.cudaOfALaterVersion())
""")


def python(*command):
    environment = dict(os.environ, PYTHONPATH=os.path.abspath("packages"))
    return subprocess.run([*command, sys.executable, "program.py"], env=environment, capture_output=True, text=True)


said = python()
holds("without exec it is the program's own", "not NVIDIA's driver" in said.stderr, said.stderr)
said = python(sys.executable, "-m", "holdfast", "exec", "--")
holds("in exec", said.stdout == "version 14\n", said.stderr)
finish()
