#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table of foreigners: kind x direction x (works, survives its maker's death, survives a fault).

foreigners.py ADDRESS            the whole table
foreigners.py ADDRESS CASE       one case, in this process; prints one JSON line

A case runs in a process of its own with a time limit, so that a hang or a lost CUDA context costs
that case alone. "?" says that the case did not come so far; the reason is printed below the table.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

COUNT = 1 << 18
VALUES = np.arange(COUNT, dtype=np.float32)
LIMIT = 100  # seconds of a case
FLAG_EVENT = 4 | 2  # CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING


# ------------------------------------------------------------- libcuda by ctypes
class Cuda:
    def __init__(self):
        self.lib = ctypes.CDLL(os.environ.get("FOREIGN_DRIVER", "libcuda.so.1"))
        self("cuInit", 0)
        self.context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self("cuCtxSetCurrent", self.context)

    def __call__(self, name, *arguments):
        result = getattr(self.lib, name)(*arguments)
        if result != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def read(self, pointer, count):
        values = np.empty(count, np.float32)
        self("cuMemcpyDtoH_v2", values.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(pointer),
             ctypes.c_size_t(values.nbytes))
        return values

    def write(self, pointer, values):
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer),
             values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes))

    def stream(self):
        stream = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), FLAG_EVENT)
        return event

    def alloc(self, size):
        pointer = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]

    @classmethod
    def of(cls, data):
        return cls((ctypes.c_ubyte * 64)(*data))


# ------------------------------------------------------------- sessions
def connect(address):
    import holdfast

    session = holdfast.connect(address)
    device = session.device(0)
    device.set_current()
    return session, device, device.create_stream()


def prepare_fault(device):
    """Returns what makes a kernel of the session store to an illegal address, and returns what the client was told.

    The kernel is loaded and has run before: the driver may wait for all streams when it loads one, and those of
    whoever waits for an event do not end.
    """
    from holdfast.core import LaunchConfig, Program, launch

    device.set_current()
    source = 'extern "C" __global__ void stray(int* x, int go) { if (go) x[1ull << 44] = 1; }'
    kernel = Program(source, "c++").compile("ptx" if device.is_software else "cubin").get_kernel("stray")
    stream = device.create_stream()
    buffer = device.allocate(4, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer, np.int32(0))
    stream.sync()

    def fault():
        launch(stream, LaunchConfig(grid=1, block=1), kernel, buffer, np.int32(1))
        try:
            stream.sync()
        except Exception as error:  # the fault
            return str(error)
        raise RuntimeError("the fault was not noticed")

    return fault


def fault(device):
    """A kernel of the session stores to an illegal address. Returns what the client was told."""
    return prepare_fault(device)()


def wait_until(what, seconds=20.0):
    """Seconds until what() is true; None: never."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        if what():
            return round(time.monotonic() - start, 4)
        time.sleep(0.001)
    return None


def attempt(result, key, function):
    try:
        value = function()
        result[key] = "yes" if value in (None, True) else ("no" if value is False else str(value))
    except Exception as error:
        result[key] = "no"
        result.setdefault("notes", []).append(f"{key}: {type(error).__name__}: {str(error)[:300]}")


# ------------------------------------------------------------- memory out
def shared_buffer(device, stream):
    from holdfast.core import DeviceMemoryResource

    buffer = DeviceMemoryResource(device, {"ipc_enabled": True}).allocate(VALUES.nbytes, stream=stream)
    buffer.copy_from(VALUES, stream=stream)
    stream.sync()
    return buffer


def doubled_by(library, buffer):
    """Returns a function that reads the buffer's floats by the library, and doubles them in place."""
    if library == "torch":
        import torch

        tensor = torch.from_dlpack(buffer).view(torch.float32)

        def run():
            tensor.mul_(2)
            torch.cuda.synchronize()
            return tensor.cpu().numpy()
    elif library == "cupy":
        import cupy

        array = cupy.asarray(buffer).view(cupy.float32)

        def run():
            nonlocal array
            array *= 2
            cupy.cuda.Device().synchronize()
            return cupy.asnumpy(array)
    elif library == "cuda.core":
        from cuda import core

        device = core.Device(0)
        device.set_current()
        stream = device.create_stream()
        options = core.ProgramOptions(arch=f"sm_{device.arch}")
        source = ('extern "C" __global__ void twice(float* x) '
                  "{ x[blockIdx.x * 256 + threadIdx.x] *= 2; }")
        kernel = core.Program(source, "c++", options).compile("cubin").get_kernel("twice")
        view = buffer.map_locally()
        config = core.LaunchConfig(grid=COUNT // 256, block=256)
        cuda = Cuda()

        def run():
            core.launch(stream, config, kernel, core.Buffer.from_handle(view.ptr, view.size))
            stream.sync()
            return cuda.read(view.ptr, COUNT)
        run.view = view
    else:
        view = buffer.map_locally()
        cuda = Cuda()

        def run():
            cuda.write(view.ptr, 2 * cuda.read(view.ptr, COUNT))
            return cuda.read(view.ptr, COUNT)
        run.view = view
    return run


def vmm_out(address, library):
    result = {}
    session, device, stream = connect(address)
    buffer = shared_buffer(device, stream)
    run = doubled_by(library, buffer)
    attempt(result, "works", lambda: bool((run() == 2 * VALUES).all()))
    result["told"] = fault(device)[:200]
    attempt(result, "fault", lambda: bool((run() == 4 * VALUES).all()) and bool(
        (buffer.copy_to(np.empty_like(VALUES), stream=stream) == 4 * VALUES).all()))
    session.close()
    attempt(result, "death", lambda: bool((run() == 8 * VALUES).all()))
    return result


def open_ipc_memory(library, handle):
    """A function that reads the floats at an offset of what the handle opens."""
    if library == "cupy":
        import cupy

        base = cupy.cuda.runtime.ipcOpenMemHandle(handle)

        def read(offset):
            memory = cupy.cuda.UnownedMemory(base + offset, VALUES.nbytes, None)
            pointer = cupy.cuda.MemoryPointer(memory, 0)
            return cupy.asnumpy(cupy.ndarray((COUNT,), cupy.float32, pointer))
        return read
    cuda = Cuda()
    pointer = ctypes.c_uint64()
    cuda("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), Handle.of(handle), 1)
    return lambda offset: cuda.read(pointer.value + offset, COUNT)


def ipc_memory_out(address, library):
    from holdfast.core import Buffer

    result = {}
    session, device, stream = connect(address)
    buffer = Buffer.for_ipc_handle(VALUES.nbytes, device=device)
    buffer.copy_from(VALUES, stream=stream)
    stream.sync()
    handle, offset = buffer.ipc_handle
    opened = {}

    def works():
        opened["read"] = open_ipc_memory(library, handle)
        return bool((opened["read"](offset) == VALUES).all())

    attempt(result, "works", works)
    result["told"] = fault(device)[:200]
    attempt(result, "fault", lambda: bool((opened["read"](offset) == VALUES).all()))
    result["note"] = "the session names it as lost: " + str("IPC handle" in result["told"] or "lost" in result["told"])
    session.close()
    attempt(result, "death", lambda: bool((opened["read"](offset) == VALUES).all()))
    return result


# ------------------------------------------------------------- memory in
def own_memory(library):
    """owner, pointer, read() of VALUES in this process's CUDA."""
    if library == "torch":
        import torch

        tensor = torch.from_numpy(VALUES.copy()).cuda()
        torch.cuda.synchronize()
        return tensor, tensor.data_ptr(), lambda: tensor.cpu().numpy()
    if library == "cupy":
        import cupy

        array = cupy.asarray(VALUES)
        cupy.cuda.Device().synchronize()
        return array, array.data.ptr, lambda: cupy.asnumpy(array)
    cuda = Cuda()
    pointer = cuda.alloc(VALUES.nbytes)
    cuda.write(pointer, VALUES)
    return cuda, pointer, lambda: cuda.read(pointer, COUNT)


def use_there(buffer, device, stream, expected):
    found = buffer.copy_to(np.empty(COUNT, np.float32), stream=stream)
    if not (found == expected).all():
        return False
    buffer.copy_from(found + 1, stream=stream)
    stream.sync()
    return True


def memory_in(address, library):
    from holdfast.core import Buffer

    result = {}
    session, device, stream = connect(address)
    owner, pointer, read = own_memory(library)
    kept = {}

    def works():
        kept["buffer"] = Buffer.from_handle(pointer, VALUES.nbytes, owner=owner)
        return use_there(kept["buffer"], device, stream, VALUES) and bool((read() == VALUES + 1).all())

    attempt(result, "works", works)
    result["told"] = fault(device)[:200]

    def after_fault():
        again = Buffer.from_handle(pointer, VALUES.nbytes, owner=owner)
        return "yes, imported anew" if use_there(again, device, stream, VALUES + 1) and bool(
            (read() == VALUES + 2).all()) else False

    attempt(result, "fault", after_fault)
    result["death"] = "the maker is the client"
    session.close()
    attempt(result, "owner_keeps_it", lambda: bool((read() == VALUES + 2).all()))
    return result


def pool_in(address, _):
    from cuda import core
    from holdfast.core import Buffer

    result = {}
    own = core.Device(0)
    own.set_current()
    own_stream = own.create_stream()
    options = core.DeviceMemoryResourceOptions(ipc_enabled=True, max_size=64 << 20)
    resource = core.DeviceMemoryResource(own, options)
    memory = resource.allocate(VALUES.nbytes, stream=own_stream)
    own_stream.sync()
    cuda = Cuda()
    cuda.write(int(memory.handle), VALUES)
    descriptor = memory.ipc_descriptor
    payload = next(x for x in descriptor.__reduce__()[1] if isinstance(x, bytes))
    fd = int(resource.allocation_handle)
    session, device, stream = connect(address)

    def import_it():
        return Buffer.from_pool(fd, payload, VALUES.nbytes, device=device, owner=memory)

    kept = {}

    def works():
        kept["buffer"] = import_it()
        return use_there(kept["buffer"], device, stream, VALUES) and bool(
            (cuda.read(int(memory.handle), COUNT) == VALUES + 1).all())

    attempt(result, "works", works)
    result["told"] = fault(device)[:200]
    attempt(result, "fault", lambda: "yes, imported anew" if use_there(
        import_it(), device, stream, VALUES + 1) else False)
    result["death"] = "the maker is the client"
    session.close()
    return result


# ------------------------------------------------------------- collections and semaphores
def collection_out(address, library):
    """A version that this process maps, lets go of, and maps again at the same address."""
    import holdfast

    name = f"foreigners-{os.getpid()}"
    result = {}
    session, device, stream = connect(address)
    holdfast.collections.commit(name, {"x": VALUES}, device=device)
    opened = holdfast.collections.open(name, device=device)
    array = opened.map_locally()["x"]
    cuda, pointer = Cuda(), array.ptr
    if library == "torch":
        tensor = array.torch()
        read = lambda: tensor.cpu().numpy()  # noqa: E731
    else:
        read = lambda: cuda.read(pointer, COUNT)  # noqa: E731

    def right(factor=1):
        return bool((read() == factor * VALUES).all())

    def works():
        listed = holdfast.collections.describe(name, device=device)["collection"]["versions"][0]["readers"]
        assert f"pid {os.getpid()}" in listed, listed
        before = right()
        opened.sleep()
        holdfast.collections.commit(name, {"x": 2 * VALUES}, device=device)
        moved = opened.wake(0)
        assert moved == [] and array.ptr == pointer, moved
        return before and right(2)

    attempt(result, "works", works)
    result["told"] = fault(device)[:200]
    attempt(result, "fault", lambda: right(2))
    holdfast.collections.delete(name, device=device)
    session.close()
    attempt(result, "death", lambda: right(2))
    return result


def semaphore_out(address, _):
    import holdfast

    result = {}
    session, device, stream = connect(address)
    stray = prepare_fault(device)
    semaphore = holdfast.Semaphore(device=device)
    view = semaphore.map_locally(writable=True)
    cuda = Cuda()
    own, pointer = cuda.stream(), ctypes.c_uint64(view.ptr)

    def turns(value):
        """The session waits for this process, and this process for the session."""
        semaphore.wait(value, stream=stream)
        held = not stream.record().is_done
        cuda("cuStreamWriteValue64_v2", own, pointer, ctypes.c_uint64(value), 0)
        stream.sync()
        cuda("cuStreamWaitValue64_v2", own, pointer, ctypes.c_uint64(value + 1), 0)
        held = held and cuda.lib.cuStreamQuery(own) != 0
        semaphore.signal(value + 1, stream=stream)
        cuda("cuStreamSynchronize", own)
        return held

    def value():
        found = ctypes.c_uint64()
        cuda("cuMemcpyDtoH_v2", ctypes.byref(found), pointer, ctypes.c_size_t(8))
        return found.value

    attempt(result, "works", lambda: turns(1))
    result["told"] = stray()[:200]
    attempt(result, "fault", lambda: turns(3))
    session.close()
    attempt(result, "death", lambda: value() == 4)
    return result


# ------------------------------------------------------------- events
def event_between_sessions(address, _):
    import holdfast
    from holdfast.core import Event

    result = {}

    def share():
        maker, device, stream = connect(address)
        other, there, waiting = connect(address)
        stray = prepare_fault(device)
        gate = holdfast.Semaphore(device=device)
        gate.wait(1, stream=stream)
        done = stream.record(options={"ipc_enabled": True})
        seen = Event.from_ipc_descriptor(done.ipc_descriptor, device=there)
        waiting.wait(seen)
        assert not waiting_done(waiting), "the wait did not hold"
        return maker, stray, stream, other, waiting, gate, seen, done

    def waiting_done(stream):
        # Stream has no is_done in cuda.core's API: an event behind the wait tells.
        return stream.record().is_done

    def works():
        maker, stray, stream, other, waiting, gate, seen, done = share()
        gate.signal(1)
        waiting.sync()
        maker.close(), other.close()

    def death():
        maker, stray, stream, other, waiting, gate, seen, done = share()
        start = time.monotonic()
        maker.close()
        waiting.sync()
        took = time.monotonic() - start
        other.close()
        return f"yes: the wait ended after {took * 1e3:.0f} ms"

    def faults():
        maker, stray, stream, other, waiting, gate, seen, done = share()
        start = time.monotonic()
        stray()
        waiting.sync()
        took = time.monotonic() - start
        stream.record(done)
        stream.sync()
        waiting.wait(seen)
        waiting.sync()
        maker.close(), other.close()
        return f"yes: the wait ended, and the event goes on ({took * 1e3:.0f} ms)"

    attempt(result, "works", works)
    attempt(result, "death", death)
    attempt(result, "fault", faults)
    return result


CASES = {
    "VMM chunk, out, ctypes": (vmm_out, "ctypes"),
    "VMM chunk, out, PyTorch": (vmm_out, "torch"),
    "VMM chunk, out, CuPy": (vmm_out, "cupy"),
    "VMM chunk, out, cuda.core": (vmm_out, "cuda.core"),
    "IPC memory, out, ctypes": (ipc_memory_out, "ctypes"),
    "IPC memory, out, CuPy": (ipc_memory_out, "cupy"),
    "IPC memory, in, ctypes": (memory_in, "ctypes"),
    "IPC memory, in, PyTorch": (memory_in, "torch"),
    "IPC memory, in, CuPy": (memory_in, "cupy"),
    "pool, in, cuda.core": (pool_in, ""),
    "collection, out, ctypes": (collection_out, "ctypes"),
    "collection, out, PyTorch": (collection_out, "torch"),
    "semaphore, out, ctypes": (semaphore_out, ""),
    "event between sessions": (event_between_sessions, ""),
}


def run_case(address, name):
    command = [sys.executable, os.path.abspath(__file__), address, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"notes": [f"did not end in {LIMIT} s"]}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {"notes": [f"exit {done.returncode}: {done.stderr.strip()[-600:]}"]}


def main():
    address = sys.argv[1]
    if len(sys.argv) > 2:
        function, argument = CASES[sys.argv[2]]
        print(json.dumps(function(address, argument)), flush=True)
        os._exit(0)
    rows, remarks = [], []
    for name in CASES:
        result = run_case(address, name)
        rows.append((name, *(result.get(key, "?") for key in ("works", "death", "fault"))))
        print("| " + " | ".join(rows[-1]) + " |", flush=True)
        for key in ("notes", "note", "told", "owner_keeps_it"):
            if key in result:
                remarks.append(f"{name}: {key}: {result[key]}")
    print("\n| kind, direction, foreigner | works | survives its maker's death | survives a fault |")
    print("| --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print("\n" + "\n".join(remarks))


if __name__ == "__main__":
    main()
