# SPDX-License-Identifier: Apache-2.0
"""Graphs that are recorded from ordinary calls."""

import weakref

from holdfast import _native
from holdfast.core._closable import Closable
from holdfast.core._held import held
from holdfast.core._options import not_served
from holdfast.core.graph._definition import GraphCondition, GraphDefinition, plain
from holdfast.core.graph._graph import instantiate
from holdfast.core.graph._host import HostCallbackNode, has_functions
from holdfast.core.graph._nested_nodes import (
    ChildGraphNode,
    IfElseNode,
    IfNode,
    SwitchNode,
    WhileNode,
)

_NOT_STARTED, _BUILDING, _ENDED, _CLOSED = range(4)


class GraphBuilder(Closable):
    """Records what its stream is given as a graph; made by ``Device.create_graph_builder`` or
    ``Stream.create_graph_builder``.

    Between ``begin_building`` and ``end_building`` it can be given wherever a stream is: launches,
    copies, fills and allocations are recorded, in this process, and not carried out. A call
    that cannot be put off (``copy_to`` an ordinary array, ``sync``) raises, and breaks the recording.
    """

    def __init__(self):
        raise NotImplementedError(
            "directly creating a GraphBuilder is ambiguous: call Device.create_graph_builder() or "
            "Stream.create_graph_builder()"
        )

    @classmethod
    def _make(cls, stream, *, body=None, primary=None):
        """`body`: the definition that a branch of a conditional node gets; `primary`: of a fork."""
        self = object.__new__(cls)
        self._stream = stream
        self._session = stream.device._session
        self._body = body
        # The definition of the nodes, which has their conditions already.
        self._level = GraphDefinition._of(self._session) if body is None else body
        self._primary = primary
        self._state = _NOT_STARTED
        self._capture = None
        # After the end: what was recorded, as a native definition, until somebody looks at the
        # nodes, and then as a GraphDefinition.
        self._recorded = None
        self._definition = None
        # By id: nodes that hold definitions, in whose place empty ones are recorded.
        self._nested = {}
        # Keeps alive: buffers and kernels of recorded nodes, the streams of forks.
        self._used = []
        return self

    @property
    def _captured_stream_(self):
        self._check_not_closed()
        return self._stream

    @property
    def is_closed(self):
        return self._state == _CLOSED

    def _check_not_closed(self):
        if self._state == _CLOSED:
            raise RuntimeError("Graph builder has been closed.")

    def _root(self):
        return self if self._primary is None else self._primary

    def _keep(self, *used):
        self._root()._used.extend(map(held, used))

    @property
    def stream(self):
        """The stream that is recorded; None when the builder is closed."""
        return None if self._state == _CLOSED else self._stream

    @property
    def is_join_required(self):
        """Whether it was made by ``split`` and has to be joined before the end."""
        return self._primary is not None

    @property
    def is_building(self):
        return self._state == _BUILDING

    def begin_building(self, mode="relaxed"):
        """Begins to record. No call on another stream disturbs it, whatever the ``mode``."""
        self._check_not_closed()
        if self._state == _BUILDING:
            raise RuntimeError("Graph builder is already building.")
        if self._state == _ENDED:
            raise RuntimeError("Cannot resume building after building has ended.")
        if mode not in ("relaxed", "thread_local", "global"):
            raise ValueError(f"Unsupported build mode: {mode}")
        self._capture = _native.begin_capture(self._stream)
        self._stream._recorded_by = weakref.ref(self)
        self._state = _BUILDING
        return self

    def end_building(self):
        """Ends the recording. Raises what broke it, if anything did."""
        if self._state != _BUILDING or self._primary is not None:
            raise RuntimeError("Graph builder is not building.")
        self._state = _ENDED
        self._stream._recorded_by = None
        recorded = self._capture.end()
        if self._body is None:
            self._recorded = recorded
        else:
            self._body._absorb(recorded, self._nested, self._used)
            self._definition = self._body
        return self

    def _check_ended(self, error=RuntimeError):
        self._check_not_closed()
        if self._state != _ENDED or (self._recorded is None and self._definition is None):
            raise error("Graph has not finished building.")

    def _lower(self):
        if self._definition is not None:
            return self._definition._lower()
        definition = self._recorded.copy()
        for node_id, node in self._nested.items():
            definition.set(node_id, node._lower({}))
        return definition

    def _lower_for_update(self):
        if self._state == _CLOSED:
            raise ValueError("Source graph builder has been closed.")
        self._check_ended(ValueError)
        return self._lower()

    def _kept(self):
        yield from self._used
        for node in self._nested.values():
            yield from node._kept()
        if self._definition is not None:
            yield from self._definition._kept()

    def complete(self, options=None):
        """Has the daemon check the graph and make it ready to run. Waits for its answer.

        Raises:
            CUDAError: a node is wrong; the message names it by its place in the recording.
        """
        if self._body is not None:
            raise RuntimeError("a branch is completed with the graph that it is a part of")
        if self._definition is None and has_functions(self._nested.values()):
            self._check_ended()
            self.graph_definition  # the recording alone has nothing of the functions
        if self._definition is not None:
            self._check_not_closed()
            return self._definition._instantiate(options, tuple(self._kept()))
        self._check_ended()
        return instantiate(self._session, self._lower(), options, keep=self._kept())

    @property
    def graph_definition(self):
        """The nodes that were recorded, as a definition: those that are added to it are part of
        the graph. A branch has it before ``begin_building``, too.
        """
        self._check_not_closed()
        if self._primary is not None:
            raise RuntimeError("a forked builder has no definition: ask the one that was split")
        if self._state == _BUILDING:
            raise RuntimeError("no graph_definition while a capture is in progress: end_building()")
        if self._body is not None:
            return self._body
        if self._definition is None:
            if self._state == _NOT_STARTED:
                raise RuntimeError("there is no graph_definition before begin_building()")
            self._check_ended()
            definition = self._level
            definition._absorb(self._recorded, self._nested, self._used)
            self._definition = definition
            self._recorded = None
        return self._definition

    def debug_dot_print(self, path, options=None):
        """Writes the graph, for ``dot -Tsvg``: every node with its parameters."""
        self._check_ended()
        self.graph_definition.debug_dot_print(path, options)

    def debug_print(self, path=None, options=None):
        """``debug_dot_print``, to standard output if ``path`` is None."""
        self._check_ended()
        self.graph_definition.debug_print(path, options)

    def split(self, count):
        """Forks: ``count`` builders, of which the first is this one. Work that the others are
        given runs beside it, until they are joined."""
        count = _native.whole_number("count", count, 2**31)
        if count < 2:
            raise ValueError(f"Invalid split count: expecting >= 2, got {count}")
        if self._state != _BUILDING:
            raise RuntimeError("Graph builder must be building before it can be split.")
        forks = [self]
        for _ in range(count - 1):
            stream = self._stream.device.create_stream()
            stream._wait(self._stream)
            fork = GraphBuilder._make(stream, primary=self._root())
            fork._state = _BUILDING
            fork._capture = self._capture
            stream._recorded_by = weakref.ref(self._root())
            self._keep(stream)
            forks.append(fork)
        return tuple(forks)

    @staticmethod
    def join(*graph_builders):
        """Joins: the builder that is returned goes on when all of them are done. The others are
        closed."""
        if len(graph_builders) < 2 or not all(
            isinstance(builder, GraphBuilder) for builder in graph_builders
        ):
            raise ValueError("Must join with at least two graph builders")
        root = next((b for b in graph_builders if not b.is_join_required), graph_builders[0])
        joined = [builder for builder in graph_builders if builder is not root]
        try:
            for builder in joined:
                root._stream._wait(builder._captured_stream_)
        finally:
            # A join that fails has broken the recording: the forks record no more either way.
            for builder in joined:
                builder.close()
        return root

    def create_condition(self, default_value=None):
        """A condition; with a default, it has that at each launch."""
        if self._state != _BUILDING:
            raise RuntimeError("Graph builder is not building.")
        if self._body is not None and self._body._has_conditions:
            raise RuntimeError(
                "the branch's definition has conditions already: make this one there, too"
            )
        condition = self._capture.create_condition(plain(default_value))
        self._root()._level._conditions[0].add(condition)
        return GraphCondition(condition)

    def _add_nested(self, node):
        """Records an empty node, which `node` replaces at the end."""
        if self._state != _BUILDING:
            raise RuntimeError("Graph builder is not building.")
        node_id = self._capture.add(self._stream, _native.node_empty())
        self._root()._nested[node_id] = node
        return node

    def _conditional(self, cls, condition, count):
        node = cls._of(self._root()._level, condition, count)
        node._device = self._stream.device._ordinal
        self._add_nested(node)
        device = self._stream.device
        return tuple(
            GraphBuilder._make(device.create_stream(), body=branch) for branch in node._branches
        )

    def if_then(self, condition):
        """Adds a branch that runs if the condition is not 0. Returns its builder, to be built by
        ``begin_building`` and ``end_building`` before this one is completed."""
        return self._conditional(IfNode, condition, 1)[0]

    def if_else(self, condition):
        """The same with a second branch, which runs if the condition is 0. Returns both."""
        return self._conditional(IfElseNode, condition, 2)

    def while_loop(self, condition):
        """Adds a body that runs while the condition is not 0. Returns its builder."""
        return self._conditional(WhileNode, condition, 1)[0]

    def switch(self, condition, count):
        """Adds branches, of which number n runs if the condition is n. Returns their builders."""
        return self._conditional(SwitchNode, condition, count)

    def _record_free(self, buffer, stream):
        """Adds a node that frees a graph's memory. REQUIRES: this is the builder that was begun;
        `stream` is its own, or that of a fork."""
        self._capture.add(stream, _native.node_release(buffer))
        self._keep(buffer)

    def embed(self, child):
        """Adds a copy of what another builder has recorded, as one node."""
        if not isinstance(child, GraphBuilder):
            raise TypeError(f"a GraphBuilder expected, got {type(child).__name__}")
        child._check_ended(ValueError)
        self._add_nested(ChildGraphNode._of(child.graph_definition))
        self._keep(*child._used)

    def callback(self, fn, *, user_data=None):
        """Records a call of a function of this process, or of ctypes, which gets ``user_data``."""
        self._add_nested(HostCallbackNode(fn, user_data))

    # As cuda.core had them before 1.0.
    add_child = embed
    create_conditional_handle = create_condition
    if_cond = if_then

    def __cuda_stream__(self):
        raise not_served("a CUstream for other libraries", "the stream is in the daemon's process")

    def close(self):
        """Drops what is not completed; a stream that is recorded is an ordinary one again."""
        if self._state == _BUILDING and self._primary is None:
            self._capture.close()
        if self._stream is not None and self._state != _CLOSED:
            self._stream._recorded_by = None
        self._state = _CLOSED
        self._capture = None
        self._recorded = None
        self._definition = None

    def __repr__(self):
        states = ("not started", "building", "ended", "closed")
        return f"<holdfast.core.graph.GraphBuilder, {states[self._state]}>"
