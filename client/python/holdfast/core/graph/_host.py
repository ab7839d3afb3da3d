# SPDX-License-Identifier: Apache-2.0
"""Functions of this process in graphs.

The daemon cannot call them. A graph that has some is made as several, one for each step: what can
run before any function, what can run after the first functions, and so on. At a launch, the stream
waits behind each step for a semaphore, which a thread of this process signals when the functions
of that step have returned.
"""

import collections
import contextlib
import sys
import threading

from holdfast import _native
from holdfast._errors import CUDAError
from holdfast.core._event import Event, EventOptions
from holdfast.core._options import not_served
from holdfast.core._semaphore import Semaphore
from holdfast.core._stream import check_not_recorded, check_stream
from holdfast.core.graph._graph import ExecutableNode, Graph, instantiate, topology_changed
from holdfast.core.graph._node import GraphNode


def _is_of_ctypes(function):
    ctypes = sys.modules.get("ctypes")
    return ctypes is not None and isinstance(function, ctypes._CFuncPtr)


def _check_prototype(function):
    """Raises a TypeError if the function of ctypes is not a CUhostFn, ``void (*)(void*)``."""
    import ctypes

    if function.restype is not None or tuple(function.argtypes or ()) != (ctypes.c_void_p,):
        raise TypeError(
            "a host function is ctypes.CFUNCTYPE(None, ctypes.c_void_p), this one returns "
            f"{function.restype} and takes {function.argtypes}"
        )


def _call_of(function, user_data):
    """A function without arguments."""
    if not callable(function):
        raise TypeError(f"a callable expected, got {type(function).__name__}")
    if not _is_of_ctypes(function):
        if user_data is not None:
            raise ValueError("user_data is only supported with functions of ctypes")
        return function
    import ctypes

    _check_prototype(function)
    if isinstance(user_data, (bytes, bytearray)):
        data = ctypes.create_string_buffer(bytes(user_data), len(user_data))
        return lambda: function(ctypes.addressof(data))
    if not (user_data is None or hasattr(user_data, "__index__")):
        raise TypeError(f"user_data is bytes, an int or None, got {type(user_data).__name__}")
    return lambda: function(user_data)


class HostCallbackNode(GraphNode):
    """Calls a function of this process, in a thread of the package, when the nodes before it are
    done; nodes after it wait for its return. A function that raises is told to
    ``threading.excepthook``, and the graph goes on."""

    _kind = "HOST"

    def __init__(self, function, user_data=None):
        super().__init__(None)
        self._function = function
        self._call = _call_of(function, user_data)

    def _lower(self, ids):
        """For drawings alone: in the daemon it is no node."""
        return _native.node_empty()

    @property
    def callback(self):
        """The function; None for one of ctypes."""
        return None if _is_of_ctypes(self._function) else self._function

    def _details(self):
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return f" callback={name}"


def has_functions(nodes):
    """Whether any of the nodes, or of their child graphs and branches, is a HostCallbackNode."""
    return any(
        isinstance(node, HostCallbackNode)
        or any(has_functions(inner._nodes) for inner in node._definitions)
        for node in nodes
    )


class _Flat:
    """The nodes of a definition in an order of theirs, with what each comes after. Child graphs
    that have functions are replaced by their nodes."""

    def __init__(self, definition):
        self.after = {}
        self._ends = {}  # of a child graph that was replaced: its last nodes
        self._add(definition, ())

    def _add(self, definition, before):
        if definition._has_conditions:
            raise not_served("a function of this process beside a condition", "make two graphs")
        nodes = definition._order()
        for node in nodes:
            after = [end for one in node._pred for end in self._ends.get(one, (one,))]
            after = after if node._pred else list(before)
            if node._kind == "CONDITIONAL":
                raise not_served("a function of this process beside a condition", "make two graphs")
            if node._kind == "GRAPH" and has_functions((node,)):
                self._ends[node] = self._add(node._child, after)
            else:
                self.after[node] = after
        return self._last(nodes) if nodes else list(before)

    def _last(self, nodes):
        earlier = {one for node in nodes for one in node._pred}
        return [e for n in nodes if n not in earlier for e in self._ends.get(n, (n,))]

    def steps(self):
        """Pairs: the nodes of a step that the daemon runs, and the functions behind them."""
        at = {}
        for node, after in self.after.items():
            at[node] = max(
                (at[one] + isinstance(one, HostCallbackNode) for one in after), default=0
            )
        steps = [([], []) for _ in range(max(at.values()) + 1)]
        for node, step in at.items():
            steps[step][isinstance(node, HostCallbackNode)].append(node)
        return steps


def _lowered(nodes, after, ids):
    """The native definition of one step. ``ids``: as of ``GraphDefinition._lower``."""
    definition = _native.make_definition()
    own = {}
    for node in nodes:
        inner = {}
        before = tuple(dict.fromkeys(own[one] for one in after[node] if one in own))
        own[node] = definition.add(node._lower(inner), before)
        ids[node] = ((), own[node])
        for child, (path, child_id) in inner.items():
            ids[child] = ((own[node], *path), child_id)
    return definition


class _Caller:
    """Calls functions between what a stream did before and does after. Its thread ends when there
    is nothing to call."""

    def __init__(self, device):
        self._semaphore = Semaphore(0, device=device)
        self._value = 0
        self._waiting = collections.deque()
        self._lock = threading.Lock()
        self._runs = False

    def call(self, stream, functions):
        """Submits the calls. REQUIRES: one thread at a time."""
        event = stream.record()
        self._value += 1
        self._semaphore.wait(self._value, stream=stream)
        with self._lock:
            self._waiting.append((event, functions, self._value))
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="holdfast-callbacks", daemon=True).start()

    def _run(self):
        _native.set_quiet_thread(True)
        while True:
            with self._lock:
                if not self._waiting:
                    self._runs = False
                    return
                event, functions, value = self._waiting.popleft()
            # The next call of another thread reports a failure.
            with contextlib.suppress(CUDAError):
                event.sync()
                for function in functions:
                    _call(function)
            with contextlib.suppress(CUDAError):
                self._semaphore.signal(value)


def _call(function):
    """Passes exceptions of the function to ``threading.excepthook``."""
    _native.set_quiet_thread(False)  # what its own calls fail with is for the function
    try:
        function()
    except BaseException as error:
        told = (type(error), error, error.__traceback__, threading.current_thread())
        threading.excepthook(threading.ExceptHookArgs(told))
    finally:
        _native.set_quiet_thread(True)


class GraphWithFunctions(Graph):
    """A graph of several steps, of which it is the first itself."""

    def _start(self, device, later, functions, shape):
        self._later = later
        self._functions = functions
        self._shape = shape
        self._successor = None  # the graph that `update` made
        # Launches make neither: behind a fault, nothing new is made until the fault is raised.
        self._caller = _Caller(device)
        self._end = Event._make(device, EventOptions())  # of the last launch
        self._lock = threading.Lock()

    @property
    def _graphs(self):
        if self._successor is not None:
            return self._successor._graphs
        return (self, *self._later)

    def launch(self, stream):
        """Runs the graph, in the order of the stream, and after its launch before."""
        stream = check_stream(stream)
        check_not_recorded(stream, "a graph with functions of this process")
        with self._lock:
            stream.wait(self._end)
            for graph, functions in zip(self._graphs, self._functions):
                Graph.launch(graph, stream)
                if functions:
                    self._caller.call(stream, functions)
            if self._end.device != stream.device:
                self._end = Event._make(stream.device, EventOptions())
            stream.record(self._end)

    def upload(self, stream):
        """Brings to the device what the next launch needs."""
        for graph in self._graphs:
            graph._upload(check_stream(stream))

    def update(self, source):
        """Changes later launches to those of ``source``, as that of every Graph."""
        self._lowered(source)
        made = instantiate_with_functions(getattr(source, "graph_definition", source), None)
        if made._shape != self._shape:
            raise topology_changed()
        with self._lock:
            self._successor = made
            self._functions = made._functions

    def __getitem__(self, node):
        for graph in self._graphs:
            if node in graph._ids:
                return ExecutableNode(graph, node, graph._ids[node])
        return super().__getitem__(node)

    def close(self):
        for graph in self._graphs:
            Graph.close(graph)


def instantiate_with_functions(definition, options, keep=None):
    """A Graph of a definition that has HostCallbackNodes."""
    flat = _Flat(definition)
    graphs = []
    steps = flat.steps()
    for nodes, _ in steps:
        ids = {}
        lowered = _lowered(nodes, flat.after, ids)
        kept = definition._kept() if keep is None else keep
        cls = Graph if graphs else GraphWithFunctions
        graphs.append(
            instantiate(definition._session, lowered, options, ids=ids, keep=tuple(kept), cls=cls)
        )
    functions = [[node._call for node in hosts] for _, hosts in steps]
    number = {node: index for index, node in enumerate(flat.after)}
    shape = [(type(n), [number[one] for one in after]) for n, after in flat.after.items()]
    graphs[0]._start(definition._session.devices[0], graphs[1:], functions, shape)
    return graphs[0]
