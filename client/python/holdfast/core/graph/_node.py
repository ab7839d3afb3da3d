# SPDX-License-Identifier: Apache-2.0
"""The base of all nodes of graphs: a place in a definition, and its predecessors."""

import enum
import json
from collections.abc import MutableSet

from holdfast import _native
from holdfast._errors import invalid_argument
from holdfast.core.graph._maker import NodeMaker


class GraphNodeType(enum.IntEnum):
    """The kinds of nodes, by CUDA's names and numbers (CUgraphNodeType of cuda.h)."""

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
        """The results of &, |, - and ^ are ordinary sets."""
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
            self._node._graph._check_removable("an edge")
            earlier, later = self._edge(other)
            del later._pred[earlier]

    def __repr__(self):
        return repr(set(self._current()))


class GraphNode(NodeMaker):
    """A node of a GraphDefinition, whose methods add nodes that come after it."""

    _kind = None
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
        """The kind of the node, a GraphNodeType; None for the entry of a definition, and for a node
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
        if self._graph is not None:
            self._graph._check_removable("a node")
            self._remove()

    def _remove(self):
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
        for node in neighbours - set(wanted):
            neighbours.discard(node)
        for node in wanted:
            neighbours.add(node)

    def _kept(self):
        """The objects that the node keeps alive, as ``held`` returns them."""
        return self._keep

    def _copy(self, definition):
        """The same node for another definition, without edges."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._graph = None
        twin._pred = {}
        return twin

    def _lower(self, ids):
        """The node's message to the daemon. ``ids``, a dict, takes the nodes of child graphs."""
        return self._params

    def _description(self):
        """The node as the message GraphNode of graph_commands.proto, a dict."""
        return json.loads(self._params.describe())

    def _details(self):
        """The text of the repr beside the handle."""
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


class EmptyNode(GraphNode):
    """Does nothing: joins what comes before it."""

    _kind = "EMPTY"


def is_update(qualname):
    """Makes a function of the values of a node, and of what ``update`` was given, which returns the
    changed values. Its errors name the public function."""

    def rename(function):
        function.__qualname__ = qualname
        return staticmethod(function)

    return rename


class ChangeableNode(GraphNode):
    """A node whose parameters can be changed, here and in an instantiated graph.

    ``_values`` has the parameters; None: the node was recorded, and ``_recorded_values`` reads
    them. A subclass has ``_merged``, which takes the arguments of ``update`` and returns the new
    values, and ``_build``, which returns the daemon's parameters for values, and the objects that
    the node keeps.
    """

    _values = None

    def _begin(self, session, values):
        """Takes values that the user has given."""
        self._take(session, values)

    def _take(self, session, values):
        self._params, self._keep = self._build(session, values)
        self._values = values

    def _recorded_values(self):
        """The values of a recorded node; None: they are not known."""
        return None

    def _value(self, index):
        if self._values is None and self._graph is not None:
            self._values = self._recorded_values()
        return None if self._values is None else self._values[index]

    def _changed(self, old, *args, **kwargs):
        """Returns the values after an update. ``old``: the values before; None: those of the
        recording."""
        return self._merged(self._recorded_values() if old is None else old, *args, **kwargs)

    def update(self, *args, **kwargs):
        self._take(self._graph._session, self._changed(self._values, *args, **kwargs))


def given(old, new):
    """The values of before, with those that are not None in place of them."""
    return tuple(o if n is None else n for o, n in zip(old, new))
