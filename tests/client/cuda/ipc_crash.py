# SPDX-License-Identifier: Apache-2.0
"""Memory of another process: its bytes outlive its maker, its handle does not, and a stranger cannot guess one.

Runs itself again as the maker, which allocates, prints its handle and waits to be killed.
"""
import ctypes
import subprocess
import sys
import time

BYTES = 4096
INVALID_VALUE = 1
INVALID_HANDLE = 400
driver = ctypes.CDLL("libcuda.so.1")


class Handle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


def check(result):
    assert result == 0, f"CUDA error {result}"


def make_context():
    context = ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))


def export():
    for _ in range(2):
        memory, handle = ctypes.c_uint64(), Handle()
        check(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(BYTES)))
        check(driver.cuMemsetD8_v2(memory, ctypes.c_ubyte(7), ctypes.c_size_t(BYTES)))
        check(driver.cuCtxSynchronize())
        check(driver.cuIpcGetMemHandle(ctypes.byref(handle), memory))
        print(bytes(handle).hex(), flush=True)
    sys.stdin.read()


def open_memory(data):
    """Returns the result and the address."""
    memory = ctypes.c_uint64()
    handle = Handle.from_buffer_copy(data)
    return driver.cuIpcOpenMemHandle_v2(ctypes.byref(memory), handle, 1), memory


def read(memory):
    data = ctypes.create_string_buffer(BYTES)
    check(driver.cuMemcpyDtoH_v2(data, memory, ctypes.c_size_t(BYTES)))
    return data.raw


def main():
    with subprocess.Popen(
        [sys.executable, __file__, "export"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as maker:
        handle, other = (bytes.fromhex(maker.stdout.readline()) for _ in range(2))
        make_context()
        result, memory = open_memory(handle)
        check(result)
        assert read(memory) == bytes([7]) * BYTES
        assert open_memory(bytes(64))[0] == INVALID_VALUE
        assert open_memory(handle[:23] + bytes([handle[23] ^ 1]) + handle[24:])[0] == INVALID_HANDLE
        maker.kill()
    # The daemon sees the maker's end a moment later. Memory that is open is opened without asking it.
    while True:
        result, reopened = open_memory(other)
        if result != 0:
            break
        check(driver.cuIpcCloseMemHandle(reopened))
        time.sleep(0.01)
    assert result == INVALID_HANDLE
    assert read(memory) == bytes([7]) * BYTES
    check(driver.cuMemsetD8_v2(memory, ctypes.c_ubyte(8), ctypes.c_size_t(BYTES)))
    assert read(memory) == bytes([8]) * BYTES
    check(driver.cuIpcCloseMemHandle(memory))
    assert open_memory(handle)[0] == INVALID_HANDLE


if sys.argv[1:] == ["export"]:
    make_context()
    export()
else:
    main()
