# SPDX-License-Identifier: Apache-2.0
"""Nodes that record events, and wait for them."""

from holdfast import _native
from holdfast.core._event import Event
from holdfast.core.graph._node import ChangeableNode, is_update


class _EventNode(ChangeableNode):
    """``update(event)`` takes this event instead."""

    @is_update("EventNode.update")
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
