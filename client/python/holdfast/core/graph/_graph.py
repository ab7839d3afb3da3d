# SPDX-License-Identifier: Apache-2.0
"""Graphs that are ready to run."""

import re

from holdfast import _native
from holdfast._errors import CUDAError
from holdfast.core._buffer import Buffer
from holdfast.core._closable import Closable
from holdfast.core._held import note_launches
from holdfast.core._options import Options, as_options, not_served
from holdfast.core._stream import check_stream


class GraphCompleteOptions(Options):
    """How a graph is made ready.

    Fields:
        auto_free_on_launch (False): allowed and without effect: a graph's memory is made with the graph, no launch allocates.
        upload_stream (None): the graph is brought to the device on this stream.
        device_launch (False): not served.
        use_node_priority (False): launches keep the priority of their nodes, not the stream's.
    """

    _fields = {
        "auto_free_on_launch": False,
        "upload_stream": None,
        "device_launch": False,
        "use_node_priority": False,
    }


class GraphDebugPrintOptions(Options):
    """cuda.core's options of drawings. A drawing always has every node with its parameters."""

    _fields = dict.fromkeys(
        (
            "verbose", "runtime_types", "kernel_node_params", "memcpy_node_params",
            "memset_node_params", "host_node_params", "event_node_params",
            "ext_semas_signal_node_params", "ext_semas_wait_node_params",
            "kernel_node_attributes", "handles", "mem_alloc_node_params", "mem_free_node_params",
            "batch_mem_op_node_params", "extra_topo_info", "conditional_node_params",
        ),
        False,
    )  # fmt: skip


def instantiate(session, definition, options, *, ids=None, keep=(), cls=None):
    """Has the daemon make a Graph of a native definition. Waits for its answer."""
    options = as_options(GraphCompleteOptions, options)
    if options.device_launch:
        raise not_served("launching a graph from a kernel", "launch it on a stream")
    graph = _native.Graph.__new__(cls or Graph)
    graph._create(
        _native.make_graph(session, definition),
        options.auto_free_on_launch,
        options.use_node_priority,
    )
    try:
        session._check()
    except CUDAError as error:
        if error.code == "ALREADY_EXISTS" and any(b._is_of_graph for b in _buffers(keep)):
            text = "a graph that allocates memory is ready once at a time: its memory has one address"
            error.args = (f"{text}: {error}",)
        raise
    graph._session = session
    graph._last_stream = None
    graph._ids = ids or {}
    # What nodes do in this graph, as their _merged and _build have it.
    graph._values = {node: getattr(node, "_values", None) for node in graph._ids}
    graph._keep = tuple(keep)
    # Objects that the changed nodes of this graph keep, by the places of the nodes.
    graph._changed = {}
    session._unmade.difference_update(_buffers(graph._keep))
    graph._disabled = set()
    if options.upload_stream is not None:
        graph.upload(options.upload_stream)
    return graph


def _has_functions(source):
    from holdfast.core.graph._host import has_functions

    nodes = getattr(source, "_nodes", None)
    if nodes is None:  # of a builder
        nodes = [*source._nested.values(), *getattr(source._definition, "_nodes", ())]
    return has_functions(nodes)


def _name_update(error):
    """Lets an update's error say as cuda.core does that it is one, with CUDA's reason at the end."""
    found = re.search(r"CU_GRAPH_EXEC_UPDATE_ERROR_\w+", str(error))
    if found is not None:
        error.args = (f"Graph update failed: {error} ({found.group()})",)


def topology_changed():
    return CUDAError(
        "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: Graph update failed: the topology is another one "
        "(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED)"
    )


def _buffers(used):
    return [item for item in used if isinstance(item, Buffer)]


def drawing(definition, names, options):
    """The drawing of a native definition. ``names``: (handle, name) of kernels."""
    if not (options is None or isinstance(options, (dict, GraphDebugPrintOptions))):
        raise TypeError(
            "options must be a GraphDebugPrintOptions, a dict or None, "
            f"got {type(options).__name__}"
        )
    as_options(GraphDebugPrintOptions, options)
    return definition.dot(sorted(set(names)), "graph")


def write_drawing(definition, names, path, options):
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawing(definition, names, options))


class Graph(_native.Graph, Closable):
    """A graph that is ready to run; made by ``GraphBuilder.complete`` or
    ``GraphDefinition.instantiate``.

    Its launches run one after the other, whatever their streams. ``graph[node]`` changes one node
    of a graph that was made from a definition.
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Graph objects cannot be instantiated directly. Please use GraphBuilder.complete or "
            "GraphDefinition.instantiate."
        )

    def launch(self, stream):
        """Runs the graph, as one operation of the stream."""
        stream = check_stream(stream)
        self._launch(stream)
        self._last_stream = stream

    def upload(self, stream):
        """Brings to the device what the next launch needs."""
        self._upload(check_stream(stream))

    def update(self, source):
        """Changes later launches to those of ``source``, a definition or a finished builder with
        the same nodes in the same order. Waits for the daemon's answer.

        Raises:
            CUDAError: the topology is another one, or the driver cannot change this in place;
                nothing has changed.
        """
        definition = self._lowered(source)
        if _has_functions(source):
            raise topology_changed()
        made = _native.make_graph(self._session, definition)
        self._session._check()
        keep = tuple(source._kept())
        self._session._unmade.difference_update(_buffers(keep))
        try:
            self._update(made)
            self._session._check()
        except CUDAError as error:
            _name_update(error)
            raise
        nodes = set(getattr(source, "_nodes", ()))
        self._values = {node: node._values for node in self._values if node in nodes}
        memory = tuple(buffer for buffer in _buffers(self._keep) if buffer._is_of_graph)
        self._drop_kept()
        self._keep = keep + memory

    def _drop_kept(self):
        """Drops all kept objects. Memory of the last launch is freed behind that launch."""
        kept = (*self._keep, *(one for changed in self._changed.values() for one in changed))
        self._keep, self._changed = (), {}
        note_launches(kept, self._last_stream)

    def _lowered(self, source):
        from holdfast.core.graph._builder import GraphBuilder
        from holdfast.core.graph._definition import GraphDefinition

        if isinstance(source, GraphBuilder):
            definition = source._lower_for_update()
        elif isinstance(source, GraphDefinition):
            definition = source._lower()
        else:
            raise TypeError(
                f"expected GraphBuilder or GraphDefinition, got {type(source).__name__}"
            )
        if source._session is not self._session:
            raise ValueError("the graphs belong to different sessions")
        return definition

    def __getitem__(self, node):
        self._check_open()
        if node not in self._ids:
            raise KeyError(f"{node!r} is not a node of the definition that this graph was made of")
        return ExecutableNode(self, node, self._ids[node])

    @property
    def handle(self):
        """The graph's name in its session, 0 when it is closed; not a CUgraphExec."""
        return 0 if self._closed else self._handle

    def close(self):
        """Destroys the graph; launches that were submitted are carried out."""
        self._close()
        self._drop_kept()
        self._ids, self._values = {}, {}  # nodes keep memory, too

    def __del__(self):
        if "_changed" in self.__dict__:  # else it was not made
            self._drop_kept()

    def __repr__(self):
        state = ", closed" if self._closed else f" {self._handle:#x} of {self._session.id}"
        return f"<holdfast.core.graph.Graph{state}>"


class ExecutableNode:
    """A node of an instantiated graph: changes it for later launches, and not in the definition.

    Each change waits for the daemon's answer.
    """

    def __init__(self, graph, node, place):
        self._graph = graph
        self._node = node
        self._within, self._id = place

    node = property(lambda self: self._node, doc="The node of the definition.")

    def update(self, *args, **kwargs):
        """Takes what the node's own ``update`` takes; what is left out stays as it is in this
        graph."""
        graph, node = self._graph, self._node
        if not hasattr(node, "_merged"):
            raise not_served(f"changing a {type(node).__name__}", "make another graph")
        if node not in graph._values:
            raise ValueError("the whole graph was updated: change this node by Graph.update, too")
        values = node._changed(graph._values[node], *args, **kwargs)
        params, keep = node._build(graph._session, values)
        graph._set_node(self._within, self._id, params)
        graph._session._check()
        graph._values[node] = values
        place = (self._within, self._id)
        note_launches(graph._changed.get(place, ()), graph._last_stream)
        graph._changed[place] = keep

    def _enable(self, enabled):
        self._graph._set_enabled(self._within, self._id, enabled)
        self._graph._session._check()
        place = (self._within, self._id)
        (self._graph._disabled.discard if enabled else self._graph._disabled.add)(place)

    def enable(self):
        """Lets the node run again."""
        self._enable(True)

    def disable(self):
        """Launches, copies and fills: the node does nothing, but is still waited for."""
        self._enable(False)

    @property
    def is_enabled(self):
        return (self._within, self._id) not in self._graph._disabled

    def __repr__(self):
        return f"<{self._node!r} of {self._graph!r}>"
