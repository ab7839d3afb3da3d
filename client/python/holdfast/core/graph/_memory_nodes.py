# SPDX-License-Identifier: Apache-2.0
"""Nodes that fill, copy, allocate and free memory."""

import json

from holdfast import _native
from holdfast._errors import invalid_argument
from holdfast.core._address import Address
from holdfast.core._buffer import Buffer
from holdfast.core._bytes import fill_pattern
from holdfast.core._device import Device
from holdfast.core._held import held, live
from holdfast.core._options import not_served
from holdfast.core.graph._node import ChangeableNode, GraphNode, given, is_update

# The limit of sizes, in bytes or elements.
_MAX = 2**63 - 1


def _place(what, value, session):
    """(Buffer, offset) of an operand: a Buffer, its handle, or a number of an address."""
    value = live(value)
    if isinstance(value, Buffer):
        value = value.handle
    if not isinstance(value, Address):
        number = _native.whole_number(what, value, 2**64 - 1)
        place = session._place(number)
        if place is None:
            raise invalid_argument(f"the {what} {number:#x} lies in no open Buffer of the session")
        return place
    buffer = value._buffer
    if buffer._session is not session:
        raise ValueError(f"the {what} belongs to another session than the graph")
    return buffer, value._offset


def _check_owner(name, place, owner):
    if owner is not None and isinstance(place, Buffer):
        raise ValueError(f"{name}_owner cannot be used when {name} is a Buffer: the node keeps it")
    for what, buffer in ((name, place), (f"{name}_owner", owner)):
        if isinstance(buffer, Buffer) and buffer.is_closed:
            raise ValueError(f"{what} Buffer has no active allocation: it is closed")


def _number_and_offset(buffer):
    """How messages name the first byte of a Buffer."""
    params = _native.node_fill(buffer._copied_memory(), 0, b"\0", 1, 1, 0)
    area = json.loads(params.describe())["fill_rect"]["destination"]
    return int(area["buffer"]), int(area.get("offset") or 0)


def _recorded_place(graph, number, offset):
    """The Address of memory that a message of a recorded node names; None: it is closed."""
    for used in graph._used:
        buffer = getattr(used, "_buffer", None) or used
        if not isinstance(buffer, Buffer) or buffer.is_closed:
            continue
        own_number, first = _number_and_offset(buffer)
        within = int(offset or 0) - first
        if own_number == int(number or 0) and 0 <= within < buffer.size:
            return Address(buffer, within)
    return None


def _recorded_pattern(fill):
    """The value of a fill's message, as fill_pattern takes it, and the size of an element."""
    for name, size in (("word", 4), ("half_word", 2)):
        if name in fill:
            return int(fill[name]).to_bytes(size, "little"), size
    return int(fill.get("byte") or 0), 1


def _handle_of(operand):
    operand = live(operand)
    return operand.handle if isinstance(operand, Buffer) else operand


def _shown(place):
    """A place in memory, as the repr of a node shows it; in a graph's, which may not be made yet, a
    number that all reprs have in common."""
    if isinstance(place, Address) and place._buffer._is_of_graph:
        return f"{_key_of(place._buffer) + place._offset:#x}"
    return "0x0" if place is None else f"{int(place):#x}"


class MemsetNode(ChangeableNode):
    """A fill. ``update(dst, value, width, height, pitch)`` changes it: what is left out stays."""

    _kind = "MEMSET"

    @is_update("MemsetNode.update")
    def _merged(old, dst=None, value=None, width=None, height=None, pitch=None, *, dst_owner=None):
        if old is None:
            raise not_served("changing a fill of memory that is closed", "record it again")
        _check_owner("dst", dst, dst_owner)
        owner = old[5] if dst is None else dst_owner
        return (*given(old[:5], (dst, value, width, height, pitch)), owner)

    def _begin(self, session, values):
        _check_owner("dst", values[0], values[5])
        super()._begin(session, values)

    @staticmethod
    def _build(session, values):
        dst, value, *extents, owner = values
        buffer, offset = _place("destination", dst, session)
        memory = buffer._copied_memory()
        pattern = fill_pattern(value)
        width, height, pitch = (
            _native.whole_number(name, extent, _MAX)
            for name, extent in zip(("width", "height", "pitch"), extents)
        )
        params = _native.node_fill(
            memory, offset, pattern, width * len(pattern), height, pitch if height > 1 else 0
        )
        params.set_device(max(buffer._device_id, 0))
        return params, (held(buffer), memory, held(owner))

    def _recorded_values(self):
        message = self._description()
        fill = message.get("fill") or message["fill_rect"]
        area = fill.get("destination", fill)
        dst = _recorded_place(self._graph, area.get("buffer"), area.get("offset"))
        if dst is None:
            return None
        value, element = _recorded_pattern(fill)
        width = int(fill.get("width") or fill.get("size") or 0) // element
        height, pitch = int(fill.get("height") or 1), int(area.get("row_pitch") or 0)
        return dst, value, width, height, pitch, None

    @property
    def dptr(self):
        return _handle_of(self._value(0))

    @property
    def value(self):
        value = self._value(1)
        return value if value is None else int.from_bytes(fill_pattern(value), "little")

    @property
    def element_size(self):
        value = self._value(1)
        return value if value is None else len(fill_pattern(value))

    def _details(self):
        return f" dptr={_shown(self.dptr)} value={self.value}"

    width = property(lambda self: self._value(2))
    height = property(lambda self: self._value(3))
    pitch = property(lambda self: self._value(4))


class MemcpyNode(ChangeableNode):
    """A copy. ``update(dst, src, size)`` changes it: what is left out stays."""

    _kind = "MEMCPY"

    @is_update("MemcpyNode.update")
    def _merged(old, dst=None, src=None, size=None, *, dst_owner=None, src_owner=None):
        if old is None:
            raise not_served(
                "changing a copy of a box, or of memory that is closed, that was recorded",
                "record it again",
            )
        _check_owner("dst", dst, dst_owner)
        _check_owner("src", src, src_owner)
        dst_owner = old[3] if dst is None else dst_owner
        src_owner = old[4] if src is None else src_owner
        return (*given(old[:3], (dst, src, size)), dst_owner, src_owner)

    def _begin(self, session, values):
        dst, src, _, dst_owner, src_owner = values
        _check_owner("dst", dst, dst_owner)
        _check_owner("src", src, src_owner)
        super()._begin(session, values)

    @staticmethod
    def _build(session, values):
        dst, src, size, *owners = values
        to, to_offset = _place("destination", dst, session)
        source, source_offset = _place("source", src, session)
        memories = to._copied_memory(), source._copied_memory()
        params = _native.node_copy(memories[0], to_offset, memories[1], source_offset, size)
        return params, (held(to), held(source), *memories, *map(held, owners))

    def _recorded_values(self):
        copy = self._description().get("copy")
        if copy is None:
            return None
        dst, src = (
            _recorded_place(self._graph, copy.get(side), copy.get(f"{side}_offset"))
            for side in ("destination", "source")
        )
        if dst is None or src is None:
            return None
        return dst, src, int(copy.get("size") or 0), None, None

    def _operand(self, index):
        return _handle_of(self._value(index))

    def _side(self, index):
        place = self._operand(index)
        if place is None or self._graph is None:
            return "0x0(D)"
        buffer, _ = _place("place", place, self._graph._session)
        return f"{_shown(place)}({'H' if buffer.is_host_accessible else 'D'})"

    def _details(self):
        return f" dst={self._side(0)} src={self._side(1)} size={self.size}"

    dst = property(lambda self: self._operand(0))
    src = property(lambda self: self._operand(1))
    size = property(lambda self: self._value(2))


_MEMORY_TYPES = ("device", "host", "managed")


class AllocNode(GraphNode):
    """Allocates memory, once, when the graph is made: its address does not change."""

    _kind = "MEM_ALLOC"
    _buffer = None
    _values = None

    def _set(self, session, size, device, memory_type, peer_access):
        if memory_type not in _MEMORY_TYPES:
            raise ValueError(
                f"{memory_type!r} is not a valid GraphMemoryType. Must be one of {_MEMORY_TYPES}"
            )
        if memory_type != "device":
            raise not_served(f"{memory_type} memory of a graph", "copy from memory of a device")
        size = _native.whole_number("size", size, _MAX)
        ordinal = _ordinal(device, session)
        peers = tuple(_ordinal(peer, session) for peer in peer_access or ())
        self._buffer = Buffer._of_definition(session, ordinal, size)
        self._params = _native.node_allocation(self._buffer, ordinal, peers)
        self._keep = (self._buffer,)
        self._values = (size, ordinal, peers)

    def _value(self, index):
        if self._values is None:
            allocation = self._description()["allocation"]
            self._values = (
                int(allocation["size"]),
                int(allocation.get("device", 0)),
                tuple(allocation.get("accessible_from", ())),
            )
        return self._values[index]

    @property
    def dptr(self):
        """The address, for kernels: a number after the first launch. None for an allocation that
        was recorded."""
        return None if self._buffer is None else self._buffer.handle

    buffer = property(
        lambda self: self._buffer, doc="The memory, to be read after a launch; None likewise."
    )
    bytesize = property(lambda self: self._value(0))
    device_id = property(lambda self: self._value(1))
    peer_access = property(lambda self: self._value(2))
    memory_type = property(lambda self: "device")

    def _details(self):
        return f" dptr={_key_of(self._buffer):#x} size={self.bytesize}"


def _key_of(buffer):
    """A number that the reprs of a graph's memory have in common, also before it is made."""
    return 0 if buffer is None else id(buffer)


class FreeNode(GraphNode):
    """Ends what an AllocNode began."""

    _kind = "MEM_FREE"
    _buffer = None

    def _details(self):
        return f" dptr={_key_of(self._buffer):#x}"

    def _set(self, session, dptr):
        buffer, offset = _place("memory to free", dptr, session)
        if not buffer._is_of_graph or offset != 0:
            raise ValueError(f"{dptr!r} is not the beginning of memory that a graph allocates")
        self._buffer = buffer
        self._params = _native.node_release(buffer)
        self._keep = (buffer,)

    @property
    def dptr(self):
        """The address; None for one that was recorded."""
        return None if self._buffer is None else self._buffer.handle


def _ordinal(device, session):
    """The ordinal of a Device, or of what names one; None: of the current device."""
    device = Device(device)
    if device._session is not session:
        raise ValueError(f"{device!r} belongs to another session than the graph")
    return device._ordinal
