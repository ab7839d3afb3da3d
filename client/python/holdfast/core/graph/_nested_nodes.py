# SPDX-License-Identifier: Apache-2.0
"""Nodes that have definitions of their own: child graphs, and what runs as a condition says."""

from holdfast import _native
from holdfast._errors import invalid_argument
from holdfast.core.graph._definition import GraphCondition, GraphDefinition
from holdfast.core.graph._node import GraphNode
from holdfast.core.typing import GraphConditionalType

# The limit of branches.
_MAX = 2**31 - 1


class ChildGraphNode(GraphNode):
    """A whole definition as one node."""

    _kind = "GRAPH"

    @classmethod
    def _of(cls, child):
        if not isinstance(child, GraphDefinition):
            raise TypeError(f"a GraphDefinition expected, got {type(child).__name__}")
        self = cls(None)
        self._child = child._copy()
        return self

    def _copy(self, definition):
        twin = super()._copy(definition)
        twin._child = self._child._copy()
        return twin

    _definitions = property(lambda self: (self._child,))

    def _lower(self, ids):
        return _native.node_child(self._child._lower(ids))

    def _details(self):
        return f" child={self._child.handle:#x}"

    @property
    def child_graph(self):
        """The copy that was made of the definition."""
        return self._child

    def _kept(self):
        return self._child._kept()


class ConditionalNode(GraphNode):
    """Runs definitions as a condition says."""

    _kind = "CONDITIONAL"
    _type = ""
    _device = None

    @classmethod
    def _of(cls, definition, condition, count):
        if not isinstance(condition, GraphCondition):
            raise TypeError(f"a GraphCondition expected, got {type(condition).__name__}")
        count = _native.whole_number("count", count, _MAX)
        if count < 1:
            raise invalid_argument(f"count must be >= 1, got {count}")
        definition._check_condition(condition)
        self = cls(None)
        self._condition = condition
        self._branches = tuple(definition._branch() for _ in range(count))
        return self

    def _copy(self, definition):
        twin = super()._copy(definition)
        twin._branches = tuple(branch._copy(definition) for branch in self._branches)
        return twin

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

    def _kept(self):
        return tuple(kept for branch in self._branches for kept in branch._kept())


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
