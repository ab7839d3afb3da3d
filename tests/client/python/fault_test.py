# SPDX-License-Identifier: Apache-2.0
"""A kernel's fault is told once, costs no object and no byte, and harms no other session."""

import asyncio
import pickle
import subprocess
import sys
import threading
import time

import holdfast
import numpy as np
import pytest
from holdfast.core import EventOptions, LaunchConfig, Program, launch
from holdfast.core.graph import GraphDefinition

SOURCE = """
__device__ int answer = 42;
extern "C" __global__ void stray(int* x) { x[1ull << 40] = answer; }
extern "C" __global__ void bump(int* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void endless(volatile int* stop) { while (*stop == 0) {} }
"""
ONE = LaunchConfig(grid=1, block=1)
WARP = LaunchConfig(grid=1, block=32)
COUNT = 1 << 18  # a MiB: more than goes inline


class Work:
    """A session's module, stream and a buffer with known bytes."""

    def __init__(self, session):
        self.session = session
        self.device = session.device(0)
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.module = Program(SOURCE, "c++").compile("cubin")
        self.stray, self.bump, self.endless = (
            self.module.get_kernel(name) for name in ("stray", "bump", "endless")
        )
        self.values = np.arange(COUNT, dtype=np.int32)
        self.buffer = self.device.allocate(self.values.nbytes, stream=self.stream)
        self.buffer.copy_from(self.values, stream=self.stream)
        self.stream.sync()

    def commit_fault(self):
        launch(self.stream, ONE, self.stray, self.buffer)
        with pytest.raises(holdfast.Fault) as caught:
            self.stream.sync()
        return caught.value

    def read(self):
        return self.buffer.copy_to(np.empty(COUNT, np.int32), stream=self.stream)


@pytest.fixture
def work(session):
    return Work(session)


def test_a_fault_says_what_faulted_where(work):
    fault = work.commit_fault()
    assert isinstance(fault, holdfast.CUDAError)
    assert fault.kernel == "stray" and fault.device_id == 0
    assert fault.code == "ABORTED"
    assert fault.result_name == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert fault.result_name in fault.cause
    assert fault.epoch == 1 and fault.lost == () and fault.lost_count == 0
    assert 0 < fault.completed_through < fault.submitted_through <= fault.received_through
    assert any("stray" in command for command in fault.last_commands)
    text = str(fault)
    assert work.session.id in text and "kernel stray" in text and text.count(fault.cause) == 1


@pytest.mark.parametrize(
    "call", ["sync", "session", "event", "elapsed", "queries", "download", "small download"]
)
def test_a_wait_that_has_returned_tells_what_has_completed(work, call):
    another = work.device.create_stream()
    work.device.allocate(4, stream=another).fill(0, stream=another)
    another.sync()
    options = EventOptions(enable_timing=True)
    before = work.stream.record(options=options)
    launch(work.stream, WARP, work.bump, work.buffer)
    event = work.stream.record(options=options)
    if call == "sync":
        work.stream.sync()
    elif call == "session":
        work.session.sync()
    elif call == "event":
        event.sync()
    elif call == "elapsed":
        event.sync()
        assert event - before >= 0
    elif call == "queries":
        while not event.is_done:
            pass
    elif call == "download":
        work.read()
    else:
        work.buffer.sub(0, 4).copy_to(np.empty(1, np.int32), stream=work.stream)
    fault = work.commit_fault()
    # The launch that faults and the wait for it, and the waits for events.
    assert 2 <= fault.submitted_through - fault.completed_through <= 4, fault


@pytest.mark.parametrize("call", ["sync", "session", "event", "download", "small download"])
def test_whichever_call_waits_raises_it_and_no_later_one(work, call):
    before = work.stream.record()
    with pytest.raises(holdfast.Fault):
        launch(work.stream, ONE, work.stray, work.buffer)
        event = work.stream.record()
        if call == "sync":
            work.stream.sync()
        elif call == "session":
            work.session.sync()
        elif call == "event":
            event.sync()
        elif call == "download":
            work.read()
        else:
            part = work.buffer.sub(0, 4)
            part.copy_to(np.empty(1, np.int32), stream=work.stream)
    work.stream.sync()
    work.session.sync()
    before.sync()
    assert np.array_equal(work.read(), work.values)


def test_what_is_behind_the_fault_is_dropped_and_what_comes_later_runs(work):
    with pytest.raises(holdfast.Fault):
        launch(work.stream, WARP, work.bump, work.buffer)
        launch(work.stream, ONE, work.stray, work.buffer)
        launch(work.stream, WARP, work.bump, work.buffer)
        work.stream.sync()
    expected = work.values.copy()
    expected[:32] += 1
    assert np.array_equal(work.read(), expected)
    launch(work.stream, WARP, work.bump, work.buffer)
    expected[:32] += 1
    assert np.array_equal(work.read(), expected)


def test_graphs_and_pinned_arrays_outlive_faults(work):
    definition = GraphDefinition()
    definition.launch(WARP, work.bump, work.buffer)
    graph = definition.instantiate()
    pinned = holdfast.empty_pinned(COUNT, np.int32)
    for epoch in 1, 2, 3:
        assert work.commit_fault().epoch == epoch
        graph.launch(work.stream)
        work.buffer.copy_to(pinned, stream=work.stream)
        work.stream.sync()
        assert (pinned[:32] == work.values[:32] + epoch).all()
        assert np.array_equal(pinned[32:], work.values[32:])


def test_what_did_not_survive_is_named(work):
    answer = work.module.get_global("answer")
    fault = work.commit_fault()
    assert fault.lost_count == 1
    (lost,) = fault.lost
    assert lost.handle == answer._handle and lost.reason in str(fault)
    with pytest.raises(holdfast.CUDAError, match="variable"):
        answer.copy_to(np.empty(1, np.int32), stream=work.stream)
    again = work.module.get_global("answer")
    assert again.copy_to(np.empty(1, np.int32), stream=work.stream)[0] == 42


def test_threads_that_wait_elsewhere_are_told_too(work):
    stop = work.device.allocate(4, stream=work.stream)
    stop.fill(0, stream=work.stream)
    other = work.device.create_stream()
    other.wait(work.stream)
    launch(other, ONE, work.endless, stop)
    told = []

    def wait():
        try:
            other.sync()
        except holdfast.Fault as fault:
            told.append(fault.epoch)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    work.commit_fault()
    thread.join()
    assert told == [1]


def test_a_task_is_told(work):
    launch(work.stream, ONE, work.stray, work.buffer)

    async def main():
        with pytest.raises(holdfast.Fault, match="stray"):
            await work.stream.sync_async()
        await work.stream.sync_async()

    asyncio.run(main())


def test_a_fault_passes_between_processes(work):
    fault = work.commit_fault()
    copy = pickle.loads(pickle.dumps(fault))
    assert type(copy) is holdfast.Fault and str(copy) == str(fault)
    assert vars(copy) == vars(fault) and copy.kernel == "stray"


def test_a_session_may_be_lost_instead_and_no_other_is(address):
    with holdfast.connect(address) as neighbour:
        healthy = Work(neighbour)
        with holdfast.connect(address, recover="never") as victim:
            work = Work(victim)
            launch(work.stream, ONE, work.stray, work.buffer)
            with pytest.raises(holdfast.SessionLostError, match="ILLEGAL_ADDRESS") as caught:
                work.stream.sync()
            assert not isinstance(caught.value, holdfast.Fault)
            for call in work.stream.sync, work.read, work.device.create_stream:
                with pytest.raises(ConnectionError):
                    call()
        assert np.array_equal(healthy.read(), healthy.values)


def test_a_session_may_ask_before_it_goes_on(address):
    with holdfast.connect(address, recover="ask") as session:
        work = Work(session)
        with pytest.raises(holdfast.CUDAError) as caught:
            session.recover()
        assert caught.value.code == "FAILED_PRECONDITION"
        for epoch in 1, 2:
            assert work.commit_fault().epoch == epoch
            for call in work.stream.sync, work.read, session.sync:
                with pytest.raises(holdfast.Fault):
                    call()
            session.recover()
            assert np.array_equal(work.read(), work.values)


def test_a_policy_that_does_not_exist_is_refused(address):
    with pytest.raises(ValueError, match="'sometimes'"):
        holdfast.connect(address, recover="sometimes")


def test_a_kernel_over_its_limit_of_time_is_a_fault(address):
    with holdfast.connect(address, kernel_time_limit=0.2) as session:
        work = Work(session)
        stop = work.device.allocate(4, stream=work.stream)
        stop.fill(0, stream=work.stream)
        launch(work.stream, ONE, work.endless, stop)
        with pytest.raises(holdfast.Fault) as caught:
            work.stream.sync()
        assert caught.value.kernel == "endless"
        assert caught.value.result_name == "CUDA_ERROR_LAUNCH_TIMEOUT"
        assert np.array_equal(work.read(), work.values)


@pytest.mark.parametrize("limit", [-1.0, float("nan"), 1e9])
def test_a_limit_of_time_that_is_none_is_refused(address, limit):
    with pytest.raises((holdfast.CUDAError, ValueError), match="kernel_time_limit"):
        holdfast.connect(address, kernel_time_limit=limit)


def _next_line():
    return sys._getframe(1).f_lineno + 1


def test_a_debug_session_names_the_line_that_submitted_the_kernel_that_faults(address):
    with holdfast.connect(address, debug=True) as session:
        device = session.device(0)
        device.set_current()
        stream = device.create_stream()
        code = Program(SOURCE, "c++").compile("cubin")
        stray, bump = code.get_kernel("stray"), code.get_kernel("bump")
        x = device.allocate(128, stream=stream)
        x.fill(0, stream=stream)
        launch(stream, WARP, bump, x)
        line = _next_line()
        launch(stream, ONE, stray, x)
        with pytest.raises(holdfast.Fault, match="stray") as caught:
            stream.sync()
        assert caught.value.submitted_at == ((__file__, line),)
        assert f"submitted at {__file__}:{line}: launch(stream, ONE, stray, x)" in str(caught.value)
        stream.sync()


def test_a_debug_session_names_the_line_that_submitted_a_refused_command(address):
    with holdfast.connect(address, debug=True, memory_limit=1 << 20) as session:
        device = session.device(0)
        stream = device.create_stream()
        small = device.allocate(128, stream=stream)
        line = _next_line()
        large = device.allocate(2 << 20, stream=stream)
        small.fill(0, stream=stream)
        with pytest.raises(holdfast.CUDAError, match="failed") as caught:
            stream.sync()
        assert caught.value.submitted_at == ((__file__, line),)
        assert large.size == 2 << 20


def test_a_session_without_debug_wraps_nothing(address):
    script = (
        "import sys, holdfast; from holdfast import _native; from holdfast.core import _launch\n"
        "session = holdfast.connect(sys.argv[1])\n"
        "session.device(0).create_stream().sync()\n"
        "assert 'holdfast._debug' not in sys.modules\n"
        "assert _launch._launch is _native.launch\n"
    )
    subprocess.run([sys.executable, "-c", script, address], check=True)


def test_a_blocking_session_fails_in_the_call_that_is_wrong(address):
    with holdfast.connect(address, blocking=True) as session:
        device = session.device(0)
        device.set_current()
        stream = device.create_stream()
        code = Program(SOURCE, "c++").compile("cubin")
        with pytest.raises(holdfast.CUDAError, match='no kernel is named "none"'):
            code.get_kernel("none")
        with pytest.raises(holdfast.CUDAError, match="memory"):
            device.allocate(10**14, stream=stream)
        stray, bump = code.get_kernel("stray"), code.get_kernel("bump")
        x = device.allocate(128, stream=stream)
        x.fill(0, stream=stream)
        with pytest.raises(holdfast.Fault, match="stray"):
            launch(stream, ONE, stray, x)
        launch(stream, WARP, bump, x)
        assert x.copy_to(np.empty(32, np.int32), stream=stream).tolist() == [1] * 32
        stream.sync()
