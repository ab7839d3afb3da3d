# SPDX-License-Identifier: Apache-2.0
"""Sessions: what owns streams, buffers and modules in a daemon."""

import atexit
import os
import sys
import threading
import weakref

from holdfast import _native
from holdfast._closing import Closing
from holdfast._errors import CUDAError, DaemonUnavailableError
from holdfast._progress import is_terminal

_ARENA_BYTES = 64 << 20

# As hf_recovery has them.
_RECOVERY = {"always": 0, "never": 1, "ask": 2}

_lock = threading.RLock()
_default = None
_thread = threading.local()
_sessions = weakref.WeakSet()
# Sessions that were opened for what came from other processes.
_kept = []
# Private daemons that the bindings' libcuda uses, too, so that they end with the process.
_lasting = []


class Session(_native.Session, Closing):
    """A session with a daemon, made by :func:`holdfast.connect`.

    It has an executor process of its own, so that a kernel that faults harms no other session. It
    ends with :meth:`close`, at the end of a ``with`` block, or with the process. Its devices are
    used as cuda.core's are::

        with holdfast.connect("tls:gpu-7:7070") as session:
            device = session.device(0)
            device.set_current()
    """

    # With debug=True: the lines that submitted its commands.
    _submissions = None
    # Methods that the package sets (__init__.py), since they are of modules that use this one: one
    # makes the Device of an ordinal, the other begins to note submissions.
    _make_device = None
    _note_submissions = None

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("sessions are made by holdfast.connect()")

    @classmethod
    def _open(cls, daemon, address, name, devices, *limits):
        _native.note_connection()
        self = _native.Session.__new__(cls)
        self._daemon = daemon
        self._address = address
        choices = tuple(str(device) for device in devices)
        self._begin(daemon, name, choices, *limits)
        self._infos = {}
        self._arenas = []
        self._no_arenas = False
        self._guard = threading.Lock()
        self._thread = threading.local()
        self._resources = {}
        # By their handles.
        self._kernels = weakref.WeakValueDictionary()
        self._streams = weakref.WeakValueDictionary()
        # Buffers whose addresses are known here, by the first byte's.
        self._addressed = weakref.WeakValueDictionary()
        # Buffers that graphs will allocate. They live until their graph is made, since the daemon
        # has nothing to free before.
        self._unmade = set()
        # Pairs: events, and memory of this process that is let go when they are reached.
        self._parked = []
        _sessions.add(self)
        return self

    @property
    def id(self):
        """The session's name in the daemon, ``"s-7"``."""
        return self._id

    @property
    def address(self):
        """Where the daemon is; of a private daemon, its socket."""
        return self._daemon.address

    @property
    def closed(self):
        """Whether the session was closed here. A lost session is not closed."""
        return self._closed

    @property
    def devices(self):
        """The devices that the session may use, in the order that was asked for."""
        return tuple(self.device(ordinal) for ordinal in self._ordinals)

    def device(self, device_id=0):
        """A :class:`holdfast.core.Device` of this session; the same object for one thread."""
        return self._make_device(device_id)

    def sync(self):
        """Waits until the work of all streams is done, and raises what has failed."""
        self._synchronize()
        self._free_parked()

    async def sync_async(self):
        """``sync`` for asyncio."""
        from holdfast._async import run_async

        await run_async(self.sync)

    def revoke(self, descriptor):
        """A descriptor that this session made cannot be redeemed any more; what was imported
        stays."""
        self._revoke(descriptor.token)

    def recover(self):
        """With ``recover="ask"``: goes on after the fault that a call has raised. Waits until the
        session is ready."""
        self._recover()

    def detach(self):
        """Leaves the session, whose work and memory stay, for its ``detached_lifetime``, to whoever
        attaches to it. Here it is of no more use."""
        self._detach()
        self.close()

    def server_info(self):
        """What the daemon says about itself, as a dict."""
        import json  # here, since the package is imported more often than this is called

        return json.loads(self._daemon.server_info())

    def close(self):
        """Ends the session; its resources are of no more use. Work that is not done is dropped."""
        global _default
        with _lock:
            if _default is self:
                _default = None
        self._arenas.clear()
        self._unmade.clear()
        self._parked.clear()
        self._close()
        with _lock:
            is_lasting = self._daemon in _lasting
        if not is_lasting:
            self._daemon.close()

    def __repr__(self):
        if self._closed:
            return "<holdfast.Session, closed>"
        return f"<holdfast.Session {self._id} of {self._daemon.address}>"

    def _repr_html_(self):
        from holdfast import _html

        if self._closed:
            return _html.card("Session", (("state", "closed"),))
        return _html.card(f"Session {self._id}", (
            ("daemon", self._daemon.address),
            *((f"device {int(device)}", device.name) for device in self.devices),
        ))  # fmt: skip

    def __reduce__(self):
        raise TypeError("a session belongs to its process; connect in each process")

    def _info(self, ordinal):
        info = self._infos.get(ordinal)
        if info is None:
            info = self._infos[ordinal] = self._daemon.describe(ordinal)
        return info

    def _place(self, number):
        """(Buffer, offset) of an address that was asked for here, or None."""
        for first, buffer in list(self._addressed.items()):
            if first <= number < first + max(buffer.size, 1) and not buffer.is_closed:
                return buffer, number - first
        return None

    def _take_pinned(self, size):
        """Memory that the executor shares; ordinary memory, if it is on another machine."""
        return self._take_span(size) or _native.make_ordinary_memory(size)

    def _free_parked(self):
        """Frees what is parked and not used any more."""
        if self._parked:
            self._parked = [one for one in self._parked if not all(e.is_done for e in one[0])]

    def _take_span(self, size):
        """Memory that the executor shares, or None: the executor is on another machine."""
        self._free_parked()
        with self._guard:
            if self._no_arenas:
                return None
            for arena in self._arenas:
                try:
                    return arena.allocate(size)
                except CUDAError as error:
                    if error.code != "RESOURCE_EXHAUSTED":
                        raise
            try:
                arena = _native.make_arena(self, max(size, _ARENA_BYTES), -1)
            except CUDAError as error:
                if error.code != "FAILED_PRECONDITION":
                    raise
                self._no_arenas = True
                return None
            self._arenas.append(arena)
            return arena.allocate(size)


def connect(address=None, *, name="", devices=(), memory_limit=0, reconnect_grace=0.0,
            recover="always", kernel_time_limit=0.0, detached_lifetime=0.0,
            blocking=False, debug=False):  # fmt: skip
    """Opens a session with the daemon at ``address``.

    Args:
        address: ``"unix:PATH"``, ``"tcp:HOST:PORT"``, ``"tls:HOST:PORT?ca=FILE,cert=FILE,key=FILE"``,
            or ``"embedded:device=auto|cpu|cuda"`` for a private daemon. Default:
            ``$HOLDFAST_ADDRESS``; else the system's or the user's socket, as the command line has
            it; else, if no daemon is there, ``"embedded:"``, which a line on a terminal says.
        name: a label for people, shown by ``holdfast sessions``.
        devices: those that the session may use: ordinals, UUIDs or their beginnings, or
            ``"most-free"``. Default: all.
        memory_limit: bytes of device memory; 0: the daemon's own limit.
        reconnect_grace: seconds that the session outlives a broken connection.
        recover: the reaction to a fault of a kernel. ``"always"``: the session goes on with its
            objects and the memory of its devices, and :class:`holdfast.Fault` is raised once.
            ``"never"``: the session is lost, and every call raises
            :class:`holdfast.SessionLostError`. ``"ask"``: every call raises
            :class:`holdfast.Fault` until :meth:`Session.recover`.
        kernel_time_limit: seconds; a kernel, or a launch of a graph, that runs longer is a fault
            that names it. 0: the daemon's own limit, if it has one, which also holds if it is less.
        detached_lifetime: seconds that the session lives on without any client, after
            :meth:`Session.detach` or when its process has died; ``holdfast attach`` takes it up.
            At most the daemon's ``--detached-session-limit``.
        blocking: to find the line that fails: each call waits until the work that it has submitted
            is done, and raises its failure. ``HOLDFAST_BLOCKING=1`` does so for a whole program.
            Work that waits for later work never ends.
        debug: errors name the line of Python that submitted the command that failed, and have it
            as ``submitted_at``; other than with ``blocking``, no call waits. ``HOLDFAST_DEBUG=1``
            does so for a whole program.

    Raises:
        DaemonUnavailableError: there is no daemon.
    """
    if recover not in _RECOVERY:
        raise ValueError(f'recover must be "always", "never" or "ask", got {recover!r}')
    policy = _RECOVERY[recover]
    daemon, address = _reach(address)
    session = Session._open(
        daemon, address, name, devices, memory_limit, reconnect_grace, policy, kernel_time_limit,
        detached_lifetime, blocking,
    )  # fmt: skip
    if debug or os.environ.get("HOLDFAST_DEBUG") == "1":
        session._note_submissions()
    if address.startswith("embedded:"):
        os.environ[_PRIVATE_DAEMON] = f"{os.getpid()} {address} {session.address}"
    return session


def reach_for_process():
    """(daemon, address): as connect() has them where no address is given, but a private daemon is
    the one that a session of this process has started, if there is one. It ends with the
    process, not with that session."""
    with _lock:
        daemon, address = _reach(None, _private_daemon)
        _lasting.append(daemon)
        return daemon, address


def _private_daemon(address):
    for session in list(_sessions):
        if not session._closed and session._address == address:
            return session._daemon
    return _native.connect(address)


def _reach(address, start=_native.connect):
    """(daemon, address): a connection with the daemon at the address, or with the one that is used
    where none is given. ``start`` starts a private daemon."""
    address = address or os.environ.get("HOLDFAST_ADDRESS")
    if not address:
        return _find(start)
    if address.startswith("embedded:"):
        address = _parents_daemon(address)
    connect_to = start if address.startswith("embedded:") else _native.connect
    return connect_to(address), address


def _find(start):
    """(daemon, address): the private daemon of the parent, for what multiprocessing has started;
    else the system's or the user's daemon; else a private one."""
    private = _parents_daemon("embedded:")
    if private != "embedded:":
        return _native.connect(private), private
    address = _native.default_address()
    try:
        if os.path.exists(address.removeprefix("unix:")):
            return _native.connect(""), address
    except DaemonUnavailableError:  # the socket of a daemon that has ended
        pass
    daemon = start("embedded:")
    _say_private(address)
    return daemon, "embedded:"


def _say_private(address):
    global _said_private
    if not _said_private and is_terminal(sys.stderr):
        print(
            f"holdfast: no daemon at {address}, so a private one serves this process "
            "(HOLDFAST_ADDRESS=embedded: asks for it without this line)",
            file=sys.stderr,
        )
    _said_private = True


_said_private = False

# Names the private daemon of a process to the processes that multiprocessing starts for it.
_PRIVATE_DAEMON = "HOLDFAST_PRIVATE_DAEMON"


def _parents_daemon(address):
    """The address of the private daemon of the process for which multiprocessing has started this
    one, so that they can pass memory and events; else ``address``."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None:
        return address
    # While the program is imported, a process that was spawned does not know its parent yet.
    is_importing = getattr(processes.current_process(), "_inheriting", False)
    private = os.environ.get(_PRIVATE_DAEMON, "").split(" ")
    is_spawned = is_importing or processes.parent_process() is not None
    is_the_parents = is_spawned and private[:2] == [str(os.getppid()), address]
    return private[2] if is_the_parents else address


def default_session():
    """The process's own session; opened when it is first needed."""
    global _default
    with _lock:
        if _default is None or _default._closed:
            _default = connect()
        return _default


def _own_address(address):
    """The same daemon's address as this process would connect to by itself; else ValueError.

    The address came with a descriptor, from another process. A session tells its daemon who this
    process is ($HOLDFAST_TOKEN), so an address that came from elsewhere gets none: but for that of
    connect(), and for a socket of this machine where there is no secret to tell.
    """
    own = _native.default_address()
    if address.split("?")[0] == own.split("?")[0]:
        return own
    secret = os.environ.get("HOLDFAST_TOKEN") or os.environ.get("HOLDFAST_TOKEN_FILE")
    if address.startswith("unix:") and not secret:
        return address
    raise ValueError(
        f"this comes from the daemon at {address}, with which this process has no session: "
        "call holdfast.connect with its address first, if you trust it"
    )


def session_at(address):
    """An open session with the daemon at this address, which came with a descriptor. A new one, if
    there is none, with a daemon that this process may tell who it is (``_own_address``); it is the
    process's own if it has none yet."""
    global _default
    with _lock:
        for session in list(_sessions):
            if not session._closed and session.address == address:
                return session
        session = connect(_own_address(address))
        if _default is None or _default._closed:
            _default = session
        else:
            _kept.append(session)
        return session


def current_device():
    """The device that this thread made current, or None."""
    device = getattr(_thread, "device", None)
    return None if device is None or device._session._closed else device


def set_current_device(device):
    _thread.device = device


@atexit.register
def _close_all():
    """Closes what is open, so that no thread of gRPC runs while the process ends. What was
    submitted has reached the executor by then; work that is not finished ends with the session."""
    for session in list(_sessions):
        if not session._closed:
            for step in (session._check, session.close):
                try:
                    step()
                except Exception:
                    pass
