# SPDX-License-Identifier: Apache-2.0
"""How nodes are added to a definition."""

from holdfast import _native


def _kinds():
    """The module that has the classes of nodes, which are NodeMakers themselves."""
    from holdfast.core import graph

    return graph


class NodeMaker:
    """Adds nodes; a definition's come after nothing, a node's after it."""

    def _new(self, node):
        return self._graph._add(node, self._after)

    def launch(self, config, kernel, *args):
        """A launch, as :func:`holdfast.core.launch` makes it."""
        node = _kinds().KernelNode(None)
        node._begin(self._graph._session, (config, kernel, args))
        return self._new(node)

    def memset(self, dst, value, width, height=1, pitch=0, *, dst_owner=None):
        """Fills ``height`` rows of ``width`` elements with ``value``: an int of 0 to 255, or 1, 2
        or 4 bytes, which say how long an element is. ``pitch``: bytes between rows.
        ``dst_owner``: what the node keeps alive, if ``dst`` is a number."""
        node = _kinds().MemsetNode(None)
        node._begin(self._graph._session, (dst, value, width, height, pitch, dst_owner))
        return self._new(node)

    def memcpy(self, dst, src, size, *, dst_owner=None, src_owner=None):
        """Copies ``size`` bytes between Buffers, or places in them. ``dst_owner``, ``src_owner``:
        what the node keeps alive, if the place is a number."""
        node = _kinds().MemcpyNode(None)
        node._begin(self._graph._session, (dst, src, size, dst_owner, src_owner))
        return self._new(node)

    def empty(self):
        """A node that does nothing."""
        return self._new(_kinds().EmptyNode(_native.node_empty()))

    def record(self, event):
        """Records the event at each launch of the graph."""
        node = _kinds().EventRecordNode(None)
        node._begin(self._graph._session, (event,))
        return self._new(node)

    def wait(self, event):
        """Waits for the event at each launch of the graph."""
        node = _kinds().EventWaitNode(None)
        node._begin(self._graph._session, (event,))
        return self._new(node)

    def allocate(self, size, *, device=None, memory_type="device", peer_access=None):
        """Allocates ``size`` bytes for the nodes that come after it, as ``node.dptr``. The address
        is the same in every launch, and good after a launch, too.

        Args:
            device: whose memory; default: the current device.
            memory_type: ``"device"``; others are not served.
            peer_access: other devices whose kernels use it, too.
        """
        node = _kinds().AllocNode(None)
        node._set(self._graph._session, size, device, memory_type, peer_access)
        return self._new(node)

    def deallocate(self, dptr):
        """Ends what an ``allocate`` of this graph, or of an earlier one, began: its content is not
        needed any more."""
        node = _kinds().FreeNode(None)
        node._set(self._graph._session, dptr)
        return self._new(node)

    def embed(self, child):
        """A copy of another definition as one node."""
        return self._new(_kinds().ChildGraphNode._of(child))

    def callback(self, fn, *, user_data=None):
        """Calls a function of this process, or of ctypes, which gets ``user_data``: bytes, of which
        the node has a copy, or an int."""
        return self._new(_kinds().HostCallbackNode(fn, user_data))

    def _conditional(self, cls, condition, count):
        return self._new(cls._of(self._graph, condition, count))

    def if_then(self, condition):
        """Runs ``node.then`` if the condition is not 0."""
        return self._conditional(_kinds().IfNode, condition, 1)

    def if_else(self, condition):
        """Runs ``node.then`` if the condition is not 0, else ``node.else_``."""
        return self._conditional(_kinds().IfElseNode, condition, 2)

    def while_loop(self, condition):
        """Runs ``node.body`` while the condition is not 0, and looks before each time."""
        return self._conditional(_kinds().WhileNode, condition, 1)

    def switch(self, condition, count):
        """Runs ``node.branches[n]`` if the condition is n; none if there is no such branch."""
        return self._conditional(_kinds().SwitchNode, condition, count)

    # As cuda.core had them before 1.0.
    alloc = allocate
    free = deallocate
    record_event = record
    wait_event = wait
    if_cond = if_then
