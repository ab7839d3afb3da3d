# SPDX-License-Identifier: Apache-2.0
"""Nodes that a capture has recorded."""

import json

from holdfast.core.graph._event_nodes import EventRecordNode, EventWaitNode
from holdfast.core.graph._kernel_node import KernelNode
from holdfast.core.graph._memory_nodes import AllocNode, FreeNode, MemcpyNode, MemsetNode
from holdfast.core.graph._node import EmptyNode, GraphNode

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


def recorded_node(params):
    """The node of native parameters."""
    description = json.loads(params.describe())
    for name, cls in _CLASSES.items():
        if name in description:
            return cls(params)
    return GraphNode(params)
