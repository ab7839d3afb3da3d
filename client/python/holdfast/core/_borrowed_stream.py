# SPDX-License-Identifier: Apache-2.0
"""Streams that another object owns: the default streams, and what ``Stream.from_handle`` makes."""

import os
import threading
import warnings

from holdfast import _native, _session
from holdfast.core import _foreign
from holdfast.core._options import not_served
from holdfast.core._stream import _ARRAY, Stream, StreamOptions

# CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
_LEGACY = 1
_PER_THREAD = 2

_borrowing = threading.local()


class BorrowedStream(Stream):
    """A stream that is looked up at each use, and that ``close`` leaves open."""

    @classmethod
    def _by(cls, find, name):
        self = _native.Stream.__new__(cls)
        self._find = find
        self._name = name
        return self

    def _target(self):
        return self._find()

    def sync(self):
        self._target().sync()

    def record(self, event=None, options=None):
        return self._target().record(event, options)

    def wait(self, event_or_stream):
        self._target().wait(event_or_stream)

    def create_graph_builder(self):
        return self._target().create_graph_builder()

    is_closed = property(lambda self: self._target().is_closed)
    handle = property(lambda self: self._target().handle)
    is_nonblocking = property(lambda self: self._target().is_nonblocking)
    priority = property(lambda self: self._target().priority)
    device = property(lambda self: self._target().device)
    _device = device
    _recorded_by = property(lambda self: self._target()._recorded_by)

    def close(self):
        """Nothing: the stream is its owner's."""

    # A class that has one of the two needs the other.
    __eq__ = Stream.__eq__

    def __hash__(self):
        return hash(self._target())

    def __repr__(self):
        return f"<Stream handle={self._name:#x}, of another object>"


class _LegacyStream(Stream):
    """A stream of the session for work that names none. Those of all devices have one hash, since
    which one the constant means depends on the current device."""

    def __hash__(self):
        return hash("LEGACY_DEFAULT_STREAM")


class _PerThreadStream(Stream):
    """The same of one thread."""

    def __hash__(self):
        return hash("PER_THREAD_DEFAULT_STREAM")


class _DefaultConstant(BorrowedStream):
    def __eq__(self, other):
        return self is other or (
            not isinstance(other, _DefaultConstant) and super().__eq__(other)
        )

    def __hash__(self):
        return hash(self._name)

    def __reduce__(self):
        return self._name

    def __repr__(self):
        return f"<holdfast.core.{self._name}>"


def _made(cls, streams, device):
    ordinal = device._ordinal
    stream = streams.get(ordinal)
    if stream is None or stream._closed:
        stream = streams[ordinal] = cls._make(device, StreamOptions())
    return stream


def _legacy(device):
    streams = device._session.__dict__.setdefault("_default_streams", {})
    return _made(_LegacyStream, streams, device)


def _per_thread(device):
    streams = device._session._thread.__dict__.setdefault("default_streams", {})
    return _made(_PerThreadStream, streams, device)


def _current():
    from holdfast.core._device import Device

    return Device()


def default_stream_of(device):
    """The one stream of all threads; each thread's own, if the variable of cuda.core is set."""
    if os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "0") in ("", "0"):
        return _legacy(device)
    return _per_thread(device)


LEGACY_DEFAULT_STREAM = _DefaultConstant._by(
    lambda: _legacy(_current()), "LEGACY_DEFAULT_STREAM"
)
PER_THREAD_DEFAULT_STREAM = _DefaultConstant._by(
    lambda: _per_thread(_current()), "PER_THREAD_DEFAULT_STREAM"
)


def default_stream():
    """The default stream of the current device."""
    return default_stream_of(_current())


def of_handle(handle, session=None):
    """A BorrowedStream of the session's stream that has the handle."""
    number = int(handle)
    if number in (0, _LEGACY):
        return LEGACY_DEFAULT_STREAM
    if number == _PER_THREAD:
        return PER_THREAD_DEFAULT_STREAM
    device = _current() if session is None else _device_of(session)
    stream = device._session._streams.get(number)
    if stream is None or stream._closed:
        return _paired(device, number)
    return BorrowedStream._by(lambda: stream, number)


def _device_of(session):
    current = _current()
    return current if current._session is session else session.device(session._ordinals[0])


def _paired(device, handle):
    """A stream of the session that acts as one with the CUstream ``handle`` of this process."""
    if not _foreign.can_pair(device):
        raise not_served(
            "a CUstream of this process, which has loaded no CUDA or has its daemon elsewhere,",
            _ARRAY,
        )
    stream = Stream._make(device, StreamOptions())
    stream._pair_with(handle)
    return stream


def handle_for_borrower(stream):
    """(version, handle) for ``borrowed`` and for other libraries, which take it for a CUstream."""
    if not getattr(_borrowing, "now", False) and not stream._target()._has_cuda_handle():
        raise not_served(
            "a CUstream for other libraries",
            "this process has loaded no CUDA, or the daemon is on another machine",
        )
    return 0, stream.handle


def borrowed(session, obj):
    """A stream for an object with ``__cuda_stream__``, whose stream is of the session."""
    try:
        protocol = obj.__cuda_stream__
    except AttributeError:
        raise TypeError(
            f"{type(obj).__name__} object does not have a '__cuda_stream__' attribute"
        ) from None
    if isinstance(obj, Stream):
        return of_handle(obj.handle, session)
    _borrowing.now = True
    try:
        told = protocol() if callable(protocol) else protocol
    finally:
        _borrowing.now = False
    if not callable(protocol):
        warnings.warn(
            "Implementing __cuda_stream__ as an attribute is deprecated; it must be implemented as "
            "a method",
            DeprecationWarning,
            stacklevel=3,
        )
    return of_handle(_told_handle(told), session)


def _told_handle(told):
    """The handle of what ``__cuda_stream__`` has told: (version, handle)."""
    found = f"{len(told)} elements" if hasattr(told, "__len__") else type(told)
    if found != "2 elements":
        raise RuntimeError(
            f"obj.__cuda_stream__ must return a sequence with 2 elements, got {found}"
        )
    version, handle = told
    if version != 0:
        raise RuntimeError(
            "The first element of the sequence returned by obj.__cuda_stream__ must be 0, got "
            f"{version!r}"
        )
    return handle
