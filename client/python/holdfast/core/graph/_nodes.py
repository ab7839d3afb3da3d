# SPDX-License-Identifier: Apache-2.0
"""Nodes of graphs: what each does, and what it comes after."""

import enum
import json
from collections.abc import MutableSet

from holdfast import _native
from holdfast._errors import invalid_argument
from holdfast.core._address import Address
from holdfast.core._buffer import Buffer
from holdfast.core._bytes import fill_pattern
from holdfast.core._device import Device
from holdfast.core._event import Event
from holdfast.core._launch import LaunchConfig
from holdfast.core._options import as_options, not_served
from holdfast.core.typing import GraphConditionalType


# Of sizes, in bytes or elements.
_MAX = 2**63 - 1


class GraphNodeType(enum.IntEnum):
    """What a node does, by CUDA's names and numbers (CUgraphNodeType of cuda.h)."""

    CU_GRAPH_NODE_TYPE_KERNEL = 0
    CU_GRAPH_NODE_TYPE_MEMCPY = 1
    CU_GRAPH_NODE_TYPE_MEMSET = 2
    CU_GRAPH_NODE_TYPE_HOST = 3
    CU_GRAPH_NODE_TYPE_GRAPH = 4
    CU_GRAPH_NODE_TYPE_EMPTY = 5
    CU_GRAPH_NODE_TYPE_WAIT_EVENT = 6
    CU_GRAPH_NODE_TYPE_EVENT_RECORD = 7
    CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10
    CU_GRAPH_NODE_TYPE_MEM_FREE = 11
    CU_GRAPH_NODE_TYPE_CONDITIONAL = 13


def _place(what, value, session):
    """(Buffer, offset) of an operand: a Buffer, its handle, or a number of an address."""
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
        if isinstance(buffer, Buffer) and buffer._is_closed:
            raise ValueError(f"{what} Buffer has no active allocation: it is closed")


class NodeMaker:
    """Adds nodes; a definition's come after nothing, a node's after it."""

    def _new(self, node):
        return self._graph._add(node, self._after)

    def launch(self, config, kernel, *args):
        """A launch, as :func:`holdfast.core.launch` makes it."""
        node = KernelNode(None)
        node._take(self._graph._session, (config, kernel, args))
        return self._new(node)

    def memset(self, dst, value, width, height=1, pitch=0, *, dst_owner=None):
        """Fills ``height`` rows of ``width`` elements with ``value``: an int of 0 to 255, or 1, 2
        or 4 bytes, which say how long an element is. ``pitch``: bytes between rows.
        ``dst_owner``: what the node keeps alive, if ``dst`` is a number."""
        _check_owner("dst", dst, dst_owner)
        node = MemsetNode(None)
        node._take(self._graph._session, (dst, value, width, height, pitch))
        node._owners = (dst_owner,)
        return self._new(node)

    def memcpy(self, dst, src, size, *, dst_owner=None, src_owner=None):
        """Copies ``size`` bytes between Buffers, or places in them. ``dst_owner``, ``src_owner``:
        what the node keeps alive, if the place is a number."""
        _check_owner("dst", dst, dst_owner)
        _check_owner("src", src, src_owner)
        node = MemcpyNode(None)
        node._take(self._graph._session, (dst, src, size))
        node._owners = (dst_owner, src_owner)
        return self._new(node)

    def empty(self):
        """A node that does nothing."""
        return self._new(EmptyNode(_native.node_empty()))

    def record(self, event):
        """Records the event at each launch of the graph."""
        node = EventRecordNode(None)
        node._take(self._graph._session, (event,))
        return self._new(node)

    def wait(self, event):
        """Waits for the event at each launch of the graph."""
        node = EventWaitNode(None)
        node._take(self._graph._session, (event,))
        return self._new(node)

    def allocate(self, size, *, device=None, memory_type="device", peer_access=None):
        """Allocates ``size`` bytes for the nodes that come after it, as ``node.dptr``. The address
        is the same in every launch, and good after a launch, too.

        Args:
            device: whose memory; default: the current device.
            memory_type: ``"device"``; others are not served.
            peer_access: other devices whose kernels use it, too.
        """
        node = AllocNode(None)
        node._set(self._graph._session, size, device, memory_type, peer_access)
        return self._new(node)

    def deallocate(self, dptr):
        """Ends what an ``allocate`` of this graph, or of an earlier one, began: its content is not
        needed any more."""
        node = FreeNode(None)
        node._set(self._graph._session, dptr)
        return self._new(node)

    def embed(self, child):
        """A copy of another definition as one node."""
        from holdfast.core.graph._definition import GraphDefinition

        if not isinstance(child, GraphDefinition):
            raise TypeError(f"a GraphDefinition expected, got {type(child).__name__}")
        return self._new(ChildGraphNode._of(child))

    def callback(self, fn, *, user_data=None):
        """Calls a function of this process, or of ctypes, which gets ``user_data``: bytes, of which
        the node has a copy, or an int."""
        from holdfast.core.graph._host import HostCallbackNode

        return self._new(HostCallbackNode(fn, user_data))

    def _conditional(self, cls, condition, count):
        return self._new(cls._of(self._graph._session, condition, count))

    def if_then(self, condition):
        """Runs ``node.then`` if the condition is not 0."""
        return self._conditional(IfNode, condition, 1)

    def if_else(self, condition):
        """Runs ``node.then`` if the condition is not 0, else ``node.else_``."""
        return self._conditional(IfElseNode, condition, 2)

    def while_loop(self, condition):
        """Runs ``node.body`` while the condition is not 0, and looks before each time."""
        return self._conditional(WhileNode, condition, 1)

    def switch(self, condition, count):
        """Runs ``node.branches[n]`` if the condition is n; none if there is no such branch."""
        return self._conditional(SwitchNode, condition, count)

    # As cuda.core had them before 1.0.
    alloc = allocate
    free = deallocate
    record_event = record
    wait_event = wait
    if_cond = if_then


class _Neighbours(MutableSet):
    """The nodes before a node, or after it: changes to the set are changes of edges."""

    def __init__(self, node, before):
        self._node = node
        self._before = before

    def _current(self):
        if self._before:
            return list(self._node._pred)
        graph = self._node._graph
        return [other for other in graph._nodes if self._node in other._pred] if graph else []

    def __contains__(self, other):
        return other in self._current()

    def __iter__(self):
        return iter(self._current())

    def __len__(self):
        return len(self._current())

    def _edge(self, other):
        return (other, self._node) if self._before else (self._node, other)

    @classmethod
    def _from_iterable(cls, nodes):
        """What &, |, - and ^ of the set make: an ordinary set."""
        return set(nodes)

    def add(self, other):
        if not isinstance(other, GraphNode):
            raise TypeError(f"expected a GraphNode, got {type(other).__name__}")
        if self._node._graph is None or other._graph is not self._node._graph:
            raise invalid_argument(f"{other!r} is not a node of the same definition")
        if other is self._node:
            raise invalid_argument("a node cannot come after itself")
        earlier, later = self._edge(other)
        later._pred[earlier] = None

    def discard(self, other):
        if other in self:
            earlier, later = self._edge(other)
            del later._pred[earlier]

    def __repr__(self):
        return repr(set(self._current()))


class GraphNode(NodeMaker):
    """A node of a GraphDefinition, whose methods add nodes that come after it."""

    _kind = None
    # What nodes keep for memory that is named by a number.
    _owners = ()
    # The definitions that are parts of the node.
    _definitions = ()

    def __init__(self, params):
        self._params = params
        self._graph = None
        self._pred = {}
        self._keep = ()

    @property
    def _after(self):
        return (self,)

    def join(self, *nodes):
        """A node that does nothing and comes after this one and all of ``nodes``."""
        return self._graph._add(EmptyNode(_native.node_empty()), (self, *nodes))

    @property
    def type(self):
        """What the node does, a GraphNodeType; None for the entry of a definition, and for a node
        that was destroyed."""
        if self._kind is None or not self.is_valid:
            return None
        return GraphNodeType["CU_GRAPH_NODE_TYPE_" + self._kind]

    @property
    def graph(self):
        return self._graph

    @property
    def handle(self):
        """The node's number in this process, not a CUgraphNode; None: it was destroyed."""
        return id(self) if self.is_valid else None

    @property
    def is_valid(self):
        """Whether it is part of its definition still."""
        return self._graph is not None

    def destroy(self):
        """Removes the node with its edges: nodes after it do not wait for those before it."""
        if self._graph is None:
            return
        self._graph._nodes.remove(self)
        for other in self._graph._nodes:
            other._pred.pop(self, None)
        self._graph = None
        self._pred = {}
        for definition in self._definitions:
            definition._end()

    @property
    def pred(self):
        """The nodes that it comes after: a set that can be changed."""
        return _Neighbours(self, True)

    @pred.setter
    def pred(self, nodes):
        self._replace(self.pred, nodes)

    @property
    def succ(self):
        """The nodes that come after it: a set that can be changed."""
        return _Neighbours(self, False)

    @succ.setter
    def succ(self, nodes):
        self._replace(self.succ, nodes)

    @staticmethod
    def _replace(neighbours, nodes):
        wanted = list(nodes)
        neighbours.clear()
        for node in wanted:
            neighbours.add(node)

    def _copy(self):
        """The same node for another definition, without edges."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._graph = None
        twin._pred = {}
        return twin

    def _lower(self, ids):
        """What the daemon gets. ``ids``, a dict, takes the nodes of child graphs."""
        return self._params

    def _description(self):
        """The node as the message GraphNode of graph_commands.proto, a dict."""
        return json.loads(self._params.describe())

    def _details(self):
        """What the repr says of the node beside its handle."""
        return ""

    def __repr__(self):
        handle = "destroyed" if self.handle is None else f"handle={self.handle:#x}"
        return f"<{type(self).__name__} {handle}{self._details()}>"


class EntryNode(GraphNode):
    """The beginning of a definition: nodes that come after it come after nothing."""

    _after = ()

    def __init__(self, graph):
        super().__init__(None)
        self._graph = graph

    pred = property(lambda self: set())
    succ = property(lambda self: set())

    def destroy(self):
        raise invalid_argument("the entry of a definition cannot be destroyed")

    def __eq__(self, other):
        return isinstance(other, EntryNode) and self._graph is other._graph

    def __hash__(self):
        return hash((EntryNode, id(self._graph)))

    def __repr__(self):
        return "<GraphNode entry>"


def _shown(place):
    """A place in memory, as the repr of a node shows it; in a graph's, which may not be made yet, a
    number that all reprs have in common."""
    if isinstance(place, Address) and place._buffer._is_of_graph:
        return f"{_key_of(place._buffer) + place._offset:#x}"
    return "0x0" if place is None else f"{int(place):#x}"


class EmptyNode(GraphNode):
    """Does nothing: joins what comes before it."""

    _kind = "EMPTY"


def _is_update(qualname):
    """Makes a function of the values of a node, and of what ``update`` was given, which returns the
    changed values. Its errors name the public function."""

    def rename(function):
        function.__qualname__ = qualname
        return staticmethod(function)

    return rename


class _Changeable(GraphNode):
    """A node whose parameters can be changed, here and in an instantiated graph.

    ``_values`` has them; None: they were recorded. A subclass has ``_merged``, what ``update``
    takes, and ``_build``, which makes what the daemon gets of values, and what they keep.
    """

    _values = None

    def _take(self, session, values):
        self._params, self._keep = self._build(session, values)
        self._values = values

    def update(self, *args, **kwargs):
        for name in ("dst", "src"):
            _check_owner(name, kwargs.get(name), kwargs.get(name + "_owner"))
        self._take(self._graph._session, self._merged(self._values, *args, **kwargs))
        self._owners += (kwargs.get("dst_owner"), kwargs.get("src_owner"))


def _is_whole(old, config, kernel):
    """Whether no arguments mean a kernel that has none, and not those of before."""
    if config is None or kernel is None:
        return False
    return old is None or kernel.num_arguments != len(old[2])


def _given(old, new):
    return tuple(o if n is None else n for o, n in zip(old, new))


class KernelNode(_Changeable):
    """A launch.

    ``update(config=None, kernel=None, *arguments, args=None)`` changes it: what is left out stays;
    the arguments are given one by one, or as a tuple.
    """

    _kind = "KERNEL"
    _config = None

    @_is_update("KernelNode.update")
    def _merged(old, config=None, kernel=None, *arguments, args=None):
        if arguments and args is not None:
            raise TypeError("KernelNode.update() got the kernel's arguments twice")
        if not (args is None or isinstance(args, (tuple, list))):
            raise TypeError(f"args must be a tuple, got {type(args).__name__}")
        if args is None and (arguments or _is_whole(old, config, kernel)):
            args = arguments
        new = (config, kernel, None if args is None else tuple(args))
        if old is None and None in new:
            raise not_served(
                "changing a part of a launch that was recorded", "give config, kernel and args"
            )
        return new if old is None else _given(old, new)

    @staticmethod
    def _build(session, values):
        config, kernel, args = values
        params = _native.node_launch(as_options(LaunchConfig, config), kernel, *args)
        params.set_device(kernel._device_id)
        return params, (kernel, *args)

    def _take(self, session, values):
        super()._take(session, values)
        self._config = as_options(LaunchConfig, values[0])

    @property
    def _kernel(self):
        return None if self._values is None else self._values[1]

    @property
    def config(self):
        if self._config is None:
            launch = self._description()["launch"]
            grid, block, cluster = (
                _dim3(launch.get(name)) for name in ("grid", "block", "cluster")
            )
            if cluster is not None:
                grid = tuple(g // c for g, c in zip(grid, cluster))
            self._config = LaunchConfig(
                grid=grid,
                block=block,
                cluster=cluster,
                shmem_size=int(launch.get("dynamic_shared_bytes", 0)),
                is_cooperative=bool(launch.get("cooperative", False)),
            )
        return self._config

    grid = property(lambda self: self.config.grid)
    block = property(lambda self: self.config.block)
    shmem_size = property(lambda self: self.config.shmem_size)
    kernel = property(
        lambda self: self._kernel, doc="The Kernel; None for a launch that was recorded."
    )

    def _details(self):
        return " kernel=0x0" if self._kernel is None else f" kernel={self._kernel.handle:#x}"


def _dim3(message):
    if not message:
        return None
    return tuple(int(message.get(axis) or 1) for axis in "xyz")


class MemsetNode(_Changeable):
    """A fill. ``update(dst, value, width, height, pitch)`` changes it: what is left out stays."""

    _kind = "MEMSET"

    @_is_update("MemsetNode.update")
    def _merged(old, dst=None, value=None, width=None, height=None, pitch=None, *, dst_owner=None):
        if old is None:
            raise not_served("changing a fill that was recorded", "record it again")
        return _given(old, (dst, value, width, height, pitch))

    @staticmethod
    def _build(session, values):
        dst, value, *extents = values
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
        return params, (buffer, memory)

    def _value(self, index):
        return None if self._values is None else self._values[index]

    @property
    def dptr(self):
        dst = self._value(0)
        return dst.handle if isinstance(dst, Buffer) else dst

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


class MemcpyNode(_Changeable):
    """A copy. ``update(dst, src, size)`` changes it: what is left out stays."""

    _kind = "MEMCPY"

    @_is_update("MemcpyNode.update")
    def _merged(old, dst=None, src=None, size=None, *, dst_owner=None, src_owner=None):
        if old is None:
            raise not_served("changing a copy that was recorded", "record it again")
        return _given(old, (dst, src, size))

    @staticmethod
    def _build(session, values):
        dst, src, size = values
        to, to_offset = _place("destination", dst, session)
        source, source_offset = _place("source", src, session)
        memories = to._copied_memory(), source._copied_memory()
        params = _native.node_copy(memories[0], to_offset, memories[1], source_offset, size)
        return params, (to, source, *memories)

    def _operand(self, index):
        if self._values is None:
            return None
        value = self._values[index]
        return value.handle if isinstance(value, Buffer) else value

    def _side(self, index):
        if self._values is None:
            return "0x0(D)"
        place = self._operand(index)
        buffer, _ = _place("place", place, self._graph._session)
        return f"{_shown(place)}({'H' if buffer.is_host_accessible else 'D'})"

    def _details(self):
        return f" dst={self._side(0)} src={self._side(1)} size={self.size}"

    dst = property(lambda self: self._operand(0))
    src = property(lambda self: self._operand(1))
    size = property(lambda self: None if self._values is None else self._values[2])


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


class _EventNode(_Changeable):
    """``update(event)`` takes this event instead."""

    @_is_update("EventNode.update")
    def _merged(old, event):
        return (event,)

    @classmethod
    def _build(cls, session, values):
        (event,) = values
        if not isinstance(event, Event):
            raise TypeError(f"an Event expected, got {type(event).__name__}")
        return cls._of_event(event), (event,)

    event = property(lambda self: None if self._values is None else self._values[0])

    def _details(self):
        return f" event={0 if self.event is None else self.event.handle:#x}"


class EventRecordNode(_EventNode):
    """Records an event at each launch."""

    _kind = "EVENT_RECORD"
    _of_event = staticmethod(_native.node_record)


class EventWaitNode(_EventNode):
    """Waits for an event at each launch."""

    _kind = "WAIT_EVENT"
    _of_event = staticmethod(_native.node_wait)


class ChildGraphNode(GraphNode):
    """A whole definition as one node."""

    _kind = "GRAPH"

    @classmethod
    def _of(cls, child):
        self = cls(None)
        self._child = child._copy()
        return self

    _definitions = property(lambda self: (self._child,))

    def _lower(self, ids):
        return _native.node_child(self._child._lower(ids))

    def _details(self):
        return f" child={self._child.handle:#x}"

    @property
    def child_graph(self):
        """The copy that was made of the definition."""
        return self._child

    @property
    def _keep(self):
        return tuple(self._child._kept())

    @_keep.setter
    def _keep(self, value):
        pass


class ConditionalNode(GraphNode):
    """Runs definitions as a condition says."""

    _kind = "CONDITIONAL"
    _type = ""
    _device = None

    @classmethod
    def _of(cls, session, condition, count):
        from holdfast.core.graph._definition import GraphCondition, GraphDefinition

        if not isinstance(condition, GraphCondition):
            raise TypeError(f"a GraphCondition expected, got {type(condition).__name__}")
        count = _native.whole_number("count", count, _MAX)
        if count < 1:
            raise invalid_argument(f"count must be >= 1, got {count}")
        self = cls(None)
        self._condition = condition
        self._branches = tuple(GraphDefinition._of(session) for _ in range(count))
        return self

    def _lower(self, ids):
        params = _native.node_conditional(
            self._type,
            self._condition._condition_,
            tuple(branch._lower() for branch in self._branches),
        )
        if self._device is not None:
            params.set_device(self._device)
        return params

    def _details(self):
        return f" condition={self._condition.handle:#x}"

    _definitions = property(lambda self: self._branches)
    condition = property(lambda self: self._condition)
    cond_type = property(lambda self: GraphConditionalType(self._type))
    branches = property(lambda self: self._branches)

    @property
    def _keep(self):
        return tuple(kept for branch in self._branches for kept in branch._kept())

    @_keep.setter
    def _keep(self, value):
        pass


class IfNode(ConditionalNode):
    _type = "if"
    then = property(lambda self: self._branches[0])


class IfElseNode(ConditionalNode):
    _type = "if"
    then = property(lambda self: self._branches[0])
    else_ = property(lambda self: self._branches[1])


class WhileNode(ConditionalNode):
    _type = "while"
    body = property(lambda self: self._branches[0])


class SwitchNode(ConditionalNode):
    _type = "switch"


# By the operation's name in the message GraphNode.
_CLASSES = {
    "launch": KernelNode,
    "copy": MemcpyNode,
    "copy_rect": MemcpyNode,
    "fill": MemsetNode,
    "fill_rect": MemsetNode,
    "record": EventRecordNode,
    "wait": EventWaitNode,
    "empty": EmptyNode,
    "allocation": AllocNode,
    "free": FreeNode,
}


def from_params(params):
    """The node of what a capture has recorded."""
    description = json.loads(params.describe())
    for name, cls in _CLASSES.items():
        if name in description:
            return cls(params)
    return GraphNode(params)
