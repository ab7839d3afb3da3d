# SPDX-License-Identifier: Apache-2.0
"""How the package behaves as a guest of a process: signals, threads, fork, faults, exit."""

import asyncio
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time

import holdfast
import numpy as np
import pytest
from holdfast.core import Device, LaunchConfig, Program, launch

ENDLESS = 'extern "C" __global__ void endless(volatile int* stop) { while (*stop == 0) {} }'


def start_endless(device, stream):
    kernel = Program(ENDLESS, "c++").compile("cubin").get_kernel("endless")
    stop = device.allocate(4, stream=stream)
    stop.fill(0, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, stop)
    return stop


def interrupt_when(condition):
    """Sends this process a Ctrl-C as soon as the condition holds."""

    def wait():
        while not condition():
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


@pytest.mark.parametrize("wait", ["sync", "small download", "large download", "event", "device"])
def test_ctrl_c_interrupts_waits(device, stream, wait):
    stop = start_endless(device, stream)
    size = 4 if wait == "small download" else 1 << 20
    buffer = device.allocate(size, stream=stream)
    event = stream.record()
    interrupt_when(lambda: True)
    with pytest.raises(KeyboardInterrupt):
        if wait == "sync":
            stream.sync()
        elif wait == "event":
            event.sync()
        elif wait == "device":
            device.sync()
        else:
            buffer.copy_to(np.empty(size, np.uint8), stream=stream)
    # The session goes on; closed beside a kernel that runs, it would wait 5 s.
    stop.fill(1, stream=device.create_stream())
    stream.sync()


def test_other_threads_run_while_one_waits(device, stream):
    stop = start_endless(device, stream)
    done = threading.Event()

    def wait():
        stream.sync()
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not done.wait(0.1)  # this thread runs, so the GIL is free
    other = device.create_stream()
    stop.fill(1, stream=other)
    thread.join()
    assert done.is_set()


def test_tasks_run_while_one_waits(device, stream):
    stop = start_endless(device, stream)
    other = device.create_stream()

    async def release():
        await asyncio.sleep(0.05)
        stop.fill(1, stream=other)
        return "released"

    async def main():
        event = stream.record()
        waits = stream.sync_async(), event.sync_async(), device.session.sync_async()
        code = holdfast.run_async(Program(ENDLESS, "c++").compile, "ptx")
        done = await asyncio.gather(release(), *waits, code)
        assert done[0] == "released" and done[-1].code_type == "ptx"
        with pytest.raises(ZeroDivisionError):
            await holdfast.run_async(lambda: 1 // 0)

    asyncio.run(main())


def test_a_cancelled_task_leaves_the_wait_behind(device, stream):
    stop = start_endless(device, stream)

    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.sync_async(), 0.05)

    asyncio.run(main())
    stop.fill(1, stream=device.create_stream())
    stream.sync()


def test_a_handle_may_be_closed_while_another_thread_waits_for_it(device, stream):
    stop = start_endless(device, stream)
    thread = threading.Thread(target=stream.sync)
    thread.start()
    other = device.create_stream()
    time.sleep(0.1)
    stream.close()
    stop.fill(1, stream=other)
    thread.join()


def test_threads_launch_at_once(device):
    kernel = Program(
        'extern "C" __global__ void add(int* x) { atomicAdd(x, 1); }', "c++"
    ).compile("cubin").get_kernel("add")
    counter = device.allocate(4, stream=device.default_stream)
    counter.fill(0, stream=device.default_stream)
    device.sync()

    def run():
        stream = device.create_stream()
        for _ in range(500):
            launch(stream, LaunchConfig(grid=1, block=1), kernel, counter)
        stream.sync()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = counter.copy_to(np.empty(1, np.int32), stream=device.default_stream)
    assert got[0] == 2000


def test_a_lost_daemon_is_told_by_every_call():
    with holdfast.connect("embedded:device=cpu") as session:
        stream = session.device(0).create_stream()
        stream.sync()
        os.kill(int(session.server_info()["pid"]), signal.SIGKILL)
        with pytest.raises(holdfast.SessionLostError):
            while True:
                stream.sync()
        with pytest.raises(ConnectionError):
            session.device(0).create_stream()


def test_object_code_outlives_the_session_it_was_made_in(address):
    code = 'extern "C" __global__ void put(int* x) { *x = 5; }'
    with holdfast.connect("embedded:device=cpu") as session:
        session.device(0).set_current()
        module = Program(code, "c++").compile("cubin")
        module.get_kernel("put")
    with holdfast.connect(address) as session:
        device = session.device(0)
        device.set_current()
        stream = device.create_stream()
        out = device.allocate(4, stream=stream)
        launch(stream, LaunchConfig(grid=1, block=1), module.get_kernel("put"), out)
        assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 5


def test_a_thread_without_a_device_gets_kernels_of_the_session_that_compiled_them(address):
    with holdfast.connect(address) as session:
        session.device(0).set_current()
        source = 'extern "C" __global__ void inc(int* x) { ++*x; }'
        code = Program(source, "c++").compile("cubin")
        got = []

        def run():
            device = session.device(0)
            stream = device.create_stream()
            x = device.allocate(4, stream=stream)
            x.fill(0, stream=stream)
            launch(stream, LaunchConfig(grid=1, block=1), code.get_kernel("inc"), x)
            got.append(x.copy_to(np.zeros(1, np.int32), stream=stream)[0])

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert got == [1]


def test_objects_of_two_sessions_do_not_mix(address):
    with holdfast.connect(address) as one, holdfast.connect(address) as two:
        stream = one.device(0).create_stream()
        foreign_stream = two.device(0).create_stream()
        buffer = one.device(0).allocate(4, stream=stream)
        foreign = two.device(0).allocate(4, stream=foreign_stream)
        with pytest.raises(holdfast.CUDAError, match="different sessions"):
            buffer.copy_from(foreign, stream=stream)
        with pytest.raises(holdfast.CUDAError, match="different sessions"):
            buffer.fill(0, stream=foreign_stream)


def test_a_session_can_be_closed_at_any_time(address):
    session = holdfast.connect(address)
    device = session.device(0)
    stream = device.create_stream()
    buffer = device.allocate(4, stream=stream)
    assert session.id in repr(session)
    session.close()
    session.close()
    assert session.closed and "closed" in repr(session)
    with pytest.raises((RuntimeError, holdfast.CUDAError)):
        device.create_stream()
    with pytest.raises(holdfast.CUDAError):
        stream.sync()
    buffer.close()


def attach(session_id, address):
    """Takes a session up by the command line, and ends it. Returns what was there."""
    command = [os.environ["HOLDFAST_CLI"], "attach", session_id, "--end", "--json"]
    out = subprocess.run([*command, f"--address={address}"], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def test_a_session_that_is_left_is_taken_up_elsewhere(tcp_address):
    session = holdfast.connect(tcp_address, detached_lifetime=300.0)
    session_id = session.id
    device = session.device(0)
    stream = device.create_stream()
    buffer = device.allocate(12345, stream=stream)
    buffer.fill(7, stream=stream)
    session.detach()
    assert session.closed
    with pytest.raises(holdfast.CUDAError, match="closed"):
        stream.sync()
    buffer.close()
    taken = attach(session_id, tcp_address)
    assert taken["ended"] and [found["bytes"] for found in taken["buffers"]] == [12345]


def test_a_session_without_a_detached_lifetime_cannot_be_left(session, stream):
    with pytest.raises(holdfast.CUDAError, match="detached_lifetime"):
        session.detach()
    assert not session.closed
    stream.sync()


def test_connecting_to_nothing_says_where():
    with pytest.raises(holdfast.DaemonUnavailableError, match="no-such-socket"):
        holdfast.connect("unix:/tmp/no-such-socket")
    with pytest.raises(holdfast.CUDAError, match="nonsense"):
        holdfast.connect("nonsense")


def run_script(script, **environment):
    return subprocess.run(
        [sys.executable, "-c", script],
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_forked_child_is_refused(embedded):
    script = """
import os, sys
from holdfast.core import Device
device = Device()
stream = device.create_stream()
child = os.fork()
if child == 0:
    try:
        stream.sync()
    except RuntimeError as error:
        os._exit(7 if "spawn" in str(error) else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stream.sync()
print("fine")
"""
    done = run_script(script, HOLDFAST_ADDRESS=embedded)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit(3)", "os._exit(3)"])
def test_a_process_ends_with_work_outstanding(embedded, ending):
    script = f"""
import os, sys
from holdfast.core import Device, LaunchConfig, Program, launch
device = Device()
device.set_current()
stream = device.create_stream()
kernel = Program({ENDLESS!r}, "c++").compile("cubin").get_kernel("endless")
stop = device.allocate(4, stream=stream)
stop.fill(0, stream=stream)
launch(stream, LaunchConfig(grid=1, block=1), kernel, stop)
print("launched", flush=True)
{ending}
"""
    done = run_script(script, HOLDFAST_ADDRESS=embedded)
    assert done.stdout == "launched\n" and done.stderr == ""
    assert done.returncode == (3 if ending else 0)


def test_a_private_daemon_ends_with_its_process():
    script = """
from holdfast.core import Device
device = Device()
print(device.session.address.removeprefix("unix:"))
"""
    done = run_script(script, HOLDFAST_ADDRESS="embedded:device=cpu")
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(done.stdout.strip())


def test_the_package_runs_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert holdfast.__version__ in done.stdout, done.stderr


def test_the_default_device_is_that_of_the_process(session):
    assert Device().session is session is holdfast.default_session()


SPAWNS = """
import multiprocessing
from holdfast.core import Device, DeviceMemoryResource

device = Device()
device.set_current()


def child(buffer, queue):
    there = Device().session
    queue.put((there.address, buffer.copy_to(bytearray(4), stream=Device().default_stream)))


if __name__ == "__main__":
    buffer = DeviceMemoryResource(device, {"ipc_enabled": True}).allocate(4)
    buffer.fill(7, stream=device.default_stream)
    device.sync()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(buffer, queue))
    process.start()
    address, got = queue.get(timeout=60)
    process.join()
    print(address == device.session.address, bytes(got))
"""


def test_a_spawned_process_uses_the_private_daemon_of_its_parent(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SPAWNS)
    environment = {**os.environ, "HOLDFAST_ADDRESS": "embedded:device=cpu"}
    ran = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout == f"True {bytes([7] * 4)}\n", ran.stderr


FINDS = """
import holdfast
from holdfast.core import Device
Device()
print(holdfast.default_session().address)
"""


def without_address(runtime):
    names = ("HOLDFAST_ADDRESS", "HOLDFAST_PRIVATE_DAEMON")
    return {**{k: v for k, v in os.environ.items() if k not in names}, "XDG_RUNTIME_DIR": runtime}


def on_terminal(script, environment):
    """(standard output, what a terminal shows of standard error)."""
    terminal, child_end = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, stderr=child_end,
        timeout=120, check=True, text=True,
    )  # fmt: skip
    os.set_blocking(terminal, False)
    os.close(child_end)
    try:
        shown = os.read(terminal, 1 << 16).decode()
    except OSError:  # nothing was written
        shown = ""
    os.close(terminal)
    return done.stdout.strip(), shown


@pytest.mark.skipif(os.path.exists("/run/holdfast/holdfast.sock"), reason="the system's daemon runs")
def test_the_users_daemon_is_found(embedded, tmp_path):
    (tmp_path / "holdfast").mkdir()
    place = tmp_path / "holdfast" / "holdfast.sock"
    place.symlink_to(embedded.removeprefix("unix:"))
    found, shown = on_terminal(FINDS, without_address(str(tmp_path)))
    assert found == f"unix:{place}" and shown == ""


@pytest.mark.skipif(os.path.exists("/run/holdfast/holdfast.sock"), reason="the system's daemon runs")
@pytest.mark.parametrize("is_left", [False, True], ids=["no socket", "a socket of a dead daemon"])
def test_a_private_daemon_is_started_last_and_said(tmp_path, is_left):
    (tmp_path / "holdfast").mkdir()
    if is_left:
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(tmp_path / "holdfast" / "holdfast.sock"))
    found, shown = on_terminal(FINDS + "holdfast.connect().close()", without_address(str(tmp_path)))
    assert "holdfast-embedded-" in found
    assert shown.count("a private one serves this process") == 1 and str(tmp_path) in shown
    quiet = subprocess.run(
        [sys.executable, "-c", FINDS], env=without_address(str(tmp_path)), capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert "private" not in quiet.stderr
