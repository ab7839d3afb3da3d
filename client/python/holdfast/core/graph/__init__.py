# SPDX-License-Identifier: Apache-2.0
"""Graphs, as ``cuda.core.graph`` has them.

A graph is recorded from ordinary calls by a GraphBuilder, or written node by node as a
GraphDefinition. Both stay in this process until ``complete`` or ``instantiate``, which has the
daemon check the whole and make it ready; a launch is then one command, however many nodes there
are::

    builder = device.create_graph_builder().begin_building()
    launch(builder, config, first, x)
    launch(builder, config, second, x, y)
    graph = builder.end_building().complete()
    for _ in range(1000):
        graph.launch(stream)
"""

from holdfast.core.graph._builder import GraphBuilder
from holdfast.core.graph._definition import GraphCondition, GraphDefinition
from holdfast.core.graph._event_nodes import EventRecordNode, EventWaitNode
from holdfast.core.graph._graph import Graph, GraphCompleteOptions, GraphDebugPrintOptions
from holdfast.core.graph._host import HostCallbackNode
from holdfast.core.graph._kernel_node import KernelNode
from holdfast.core.graph._memory_nodes import AllocNode, FreeNode, MemcpyNode, MemsetNode
from holdfast.core.graph._nested_nodes import (
    ChildGraphNode,
    ConditionalNode,
    IfElseNode,
    IfNode,
    SwitchNode,
    WhileNode,
)
from holdfast.core.graph._node import EmptyNode, GraphNode, GraphNodeType

# As cuda.core had them before 1.0.
GraphDef = GraphDefinition
Condition = GraphCondition

__all__ = [
    "AllocNode",
    "ChildGraphNode",
    "ConditionalNode",
    "EmptyNode",
    "EventRecordNode",
    "EventWaitNode",
    "FreeNode",
    "Graph",
    "GraphBuilder",
    "GraphCompleteOptions",
    "GraphCondition",
    "GraphDebugPrintOptions",
    "GraphDef",
    "GraphDefinition",
    "GraphNode",
    "GraphNodeType",
    "HostCallbackNode",
    "IfElseNode",
    "IfNode",
    "KernelNode",
    "MemcpyNode",
    "MemsetNode",
    "SwitchNode",
    "WhileNode",
]
