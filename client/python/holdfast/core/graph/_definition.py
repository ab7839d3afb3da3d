# SPDX-License-Identifier: Apache-2.0
"""Graphs that are written node by node."""

from holdfast import _native
from holdfast._errors import CUDAError, invalid_argument
from holdfast.core._module import Kernel, working_device
from holdfast.core.graph._graph import drawing, instantiate, write_drawing
from holdfast.core.graph._host import has_functions, instantiate_with_functions
from holdfast.core.graph._maker import NodeMaker
from holdfast.core.graph._node import EmptyNode, EntryNode, GraphNode
from holdfast.core.graph._recorded_nodes import recorded_node


def plain(default_value):
    """The default of a condition: True and False are 1 and 0."""
    return int(default_value) if isinstance(default_value, bool) else default_value


class GraphCondition:
    """A value of a graph that kernels set (``cudaGraphSetConditional``) and one conditional node
    tests. It is the argument for a parameter of type ``cudaGraphConditionalHandle``."""

    __slots__ = ("__weakref__", "_condition_")

    def __init__(self, condition):
        self._condition_ = condition

    @property
    def handle(self):
        """The condition's number in this process; not a CUgraphConditionalHandle."""
        return self._condition_

    def __eq__(self, other):
        return isinstance(other, GraphCondition) and self._condition_ == other._condition_

    def __hash__(self):
        return hash(self._condition_)

    def __repr__(self):
        return f"<GraphCondition handle={self._condition_:#x}>"


class GraphDefinition(NodeMaker):
    """Nodes, and which come after which. Nothing of it is in the daemon.

    Methods of the definition add nodes that come after nothing, methods of a node add nodes that
    come after it::

        definition = GraphDefinition()
        zero = definition.memset(y, 0, y.size)
        zero.launch(config, saxpy, np.float32(2), x, y)
        graph = definition.instantiate()

    It belongs to the session of the device that is current when it is made. It keeps what its nodes
    use. Not to be changed by two threads at once.
    """

    def __init__(self):
        self._start(working_device()._session)

    def _start(self, session):
        self._session = session
        self._nodes = []
        # The conditions: a native definition without nodes.
        self._base = _native.make_definition()
        self._has_conditions = False
        # Their numbers, and those of the definitions around it.
        self._conditions = (set(),)
        # Keeps alive what recorded nodes use.
        self._used = []
        self._is_valid = True

    @classmethod
    def _of(cls, session):
        self = object.__new__(cls)
        self._start(session)
        return self

    def _branch(self):
        """A definition that a node of this one runs."""
        branch = GraphDefinition._of(self._session)
        branch._conditions += self._conditions
        return branch

    def _copy(self, around=None):
        copy = GraphDefinition._of(self._session) if around is None else around._branch()
        copy._base = self._base.copy()
        copy._has_conditions = self._has_conditions
        copy._conditions[0].update(self._conditions[0])
        copy._used = list(self._used)
        twins = {}
        for node in self._order():
            twins[node] = copy._add(node._copy(copy), [twins[earlier] for earlier in node._pred])
        return copy

    # The definition that NodeMaker adds to, and the nodes that a new one depends on.
    _graph = property(lambda self: self)
    _after = ()

    def join(self, *nodes):
        """A node that does nothing and comes after all of ``nodes``."""
        return self._graph._add(EmptyNode(_native.node_empty()), nodes)

    def create_condition(self, default_value=None):
        """A condition; with a default, it has that at each launch."""
        condition = self._base.create_condition(plain(default_value))
        self._has_conditions = True
        self._conditions[0].add(condition)
        return GraphCondition(condition)

    def _check_condition(self, condition):
        if not any(condition._condition_ in numbers for numbers in self._conditions):
            raise invalid_argument(
                f"CUDA_ERROR_INVALID_VALUE: {condition!r} is not a condition of this graph"
            )

    def _check_removable(self, what):
        """As CUDA has it."""
        if any(node._kind in ("MEM_ALLOC", "MEM_FREE") for node in self._nodes):
            raise CUDAError(
                f"CUDA_ERROR_NOT_SUPPORTED: {what} cannot be removed from a graph that allocates "
                "or frees memory"
            )

    def _add(self, node, after):
        for earlier in after:
            if not isinstance(earlier, GraphNode):
                raise TypeError(f"expected a GraphNode, got {type(earlier).__name__}")
            if earlier._graph is not self:
                raise invalid_argument(f"{earlier!r} is not a node of this definition")
        node._graph = self
        node._pred = dict.fromkeys(after)
        self._nodes.append(node)
        return node

    def _absorb(self, captured, nested, used):
        """Takes the nodes of a native definition, which use ``used``. ``nested``: by id, the nodes
        in whose place the capture has an empty one."""
        self._used.extend(used)
        by_id = {}
        for node_id, params, after in captured.take():
            node = nested.get(node_id) or recorded_node(params)
            by_id[node_id] = self._add(node, [by_id[earlier] for earlier in after])
        if not self._has_conditions:
            self._base = captured
            self._has_conditions = bool(self._conditions[0])

    def _order(self):
        """The nodes, each behind those that it is after."""
        state = {}  # node -> False while its predecessors are visited, then True
        order = []
        for first in self._nodes:
            stack = [first]
            while stack:
                node = stack[-1]
                if state.get(node):
                    stack.pop()
                    continue
                waiting = [p for p in node._pred if not state.get(p)]
                if not waiting:
                    state[node] = True
                    order.append(node)
                    stack.pop()
                    continue
                if node in state:
                    raise invalid_argument(f"{node!r} comes, by its edges, after itself")
                state[node] = False
                stack.extend(reversed(waiting))
        return order

    def _lower(self, ids=None):
        """The definition as the daemon gets it. ``ids`` is filled: node -> (path, id)."""
        definition = self._base.copy()
        own = {}
        for node in self._order():
            inner = {}
            after = tuple(own[earlier] for earlier in node._pred)
            own[node] = definition.add(node._lower(inner), after)
            if ids is None:
                continue
            ids[node] = ((), own[node])
            for child, (path, child_id) in inner.items():
                ids[child] = ((own[node], *path), child_id)
        return definition

    def _kept(self):
        yield from self._used
        for node in self._nodes:
            yield from node._kept()

    def instantiate(self, options=None):
        """Has the daemon check the graph and make it ready to run. Waits for its answer.

        Raises:
            CUDAError: a node is wrong; the message names it by its number in the definition.
        """
        return self._instantiate(options, self._kept())

    def _instantiate(self, options, keep):
        if has_functions(self._nodes):
            return instantiate_with_functions(self, options, keep)
        ids = {}
        return instantiate(self._session, self._lower(ids), options, ids=ids, keep=keep)

    def _end(self):
        """Ends the definition with the node that it is a part of."""
        self._is_valid = False
        for node in list(self._nodes):
            node._remove()

    def debug_dot_print(self, path, options=None):
        """Writes the graph, for ``dot -Tsvg``: every node with its parameters."""
        write_drawing(self._lower(), self._names(), path, options)

    def debug_print(self, path=None, options=None):
        """``debug_dot_print``, to standard output if ``path`` is None."""
        if path is None:
            print(drawing(self._lower(), self._names(), options), end="")
        else:
            self.debug_dot_print(path, options)

    def nodes(self):
        """All nodes, a set."""
        return set(self._nodes)

    def edges(self):
        """Pairs of nodes, of which the second comes after the first; a set."""
        return {(earlier, node) for node in self._nodes for earlier in node._pred}

    is_valid = property(lambda self: self._is_valid)

    @property
    def handle(self):
        """The definition's number in this process, not a CUgraph; 0: its node was destroyed."""
        return id(self) if self._is_valid else 0

    @property
    def _entry(self):
        return EntryNode(self)

    def __str__(self):
        return self._lower().text(sorted(set(self._names())))

    def _names(self):
        for used in self._kept():
            if isinstance(used, Kernel):
                yield used._handle, used.name

    def __repr__(self):
        return f"<GraphDefinition handle={self.handle:#x}>"
