# SPDX-License-Identifier: Apache-2.0
"""Every test runs twice: over a private daemon's socket, and over TCP as from another machine.

HOLDFAST_TEST_DEVICE chooses the device of the daemons, "cpu" by default.
"""

import itertools
import os
import socket
import subprocess
import tempfile
import time

import holdfast
import pytest
from holdfast import _session, collections

_DEVICE = os.environ.get("HOLDFAST_TEST_DEVICE", "cpu")

# Programs that a daemon of this machine has kept would not be compiled.
if "TEST_TMPDIR" in os.environ:
    os.environ["CACHE_DIRECTORY"] = os.environ["TEST_TMPDIR"]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def runtime_directory():
    """A folder whose name is short enough for a socket in it."""
    with tempfile.TemporaryDirectory(prefix="holdfast-python-", dir="/tmp") as directory:
        yield directory


@pytest.fixture(scope="session")
def tcp_address(runtime_directory):
    """A daemon that listens on TCP."""
    port = _free_port()
    daemon = subprocess.Popen([
        os.environ["HOLDFAST_DAEMON"],
        f"--device={_DEVICE}",
        f"--listen=tcp:127.0.0.1:{port}",
        f"--runtime-dir={runtime_directory}",
        "--detached-session-limit=10m",
        "--insecure",
        "--log-level=error",
    ])  # fmt: skip
    deadline = time.monotonic() + 60
    while True:
        try:
            holdfast.connect(f"tcp:127.0.0.1:{port}").close()
            break
        except holdfast.DaemonUnavailableError:
            assert daemon.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    yield f"tcp:127.0.0.1:{port}"
    daemon.terminate()
    daemon.wait()


@pytest.fixture(scope="session")
def embedded():
    """The address of one private daemon, which outlives the sessions of the tests."""
    session = holdfast.connect(f"embedded:device={_DEVICE}")
    yield session.address
    session.close()


@pytest.fixture(params=["embedded", "tcp"])
def address(request):
    if request.param == "tcp":
        return request.getfixturevalue("tcp_address")
    return request.getfixturevalue("embedded")


@pytest.fixture
def session(address):
    """A session, which is this thread's and the process's own while the test runs."""
    with holdfast.connect(address) as opened:
        _session.set_current_device(None)
        _session._default = opened
        yield opened
    _session.set_current_device(None)


@pytest.fixture
def device(session):
    device = session.device(0)
    device.set_current()
    return device


@pytest.fixture
def stream(device):
    return device.create_stream()


@pytest.fixture
def other(address):
    """A second session with the same daemon."""
    with holdfast.connect(address) as opened:
        yield opened


_NAMES = (f"test-{number}" for number in itertools.count())


@pytest.fixture
def name(session):
    """A name for a collection, which goes with the test."""
    unique = f"{next(_NAMES)}-{os.getpid()}"
    yield unique
    try:
        found = [c for c in collections.list() if c["name"] == unique]
        versions = [v for c in found for v in c["versions"] if v.get("pinned")]
        collections.configure(unique, unpin=[int(v["version"]) for v in versions])
        collections.delete(unique)
    except holdfast.core.CUDAError:
        pass
