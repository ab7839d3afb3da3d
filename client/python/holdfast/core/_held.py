# SPDX-License-Identifier: Apache-2.0
"""Memory that graphs keep, also when its Buffer is closed.

A graph keeps an Heir of each Buffer that its nodes use. An open Buffer has the memory itself;
``Buffer.close`` gives it to the heir, if there is one, and the memory is freed with the last graph.
"""

import weakref

from holdfast.core._address import Address
from holdfast.core._buffer import Buffer


class Heir(Buffer):
    """Stands for a Buffer in graphs: the Buffer while it is open, then its memory."""

    _buffer = None
    _launched_on = ()

    @classmethod
    def _of(cls, buffer):
        self = cls._empty(
            buffer._session, buffer._device_id, buffer._length, buffer._resource, buffer._stream
        )
        self._is_mapped = buffer._is_mapped
        self._can_be_mapped = buffer._can_be_mapped
        self._part_of = buffer._part_of
        # A part ends with the whole.
        self._whole = None if buffer._part_of is None else held(buffer._part_of[0])
        self._buffer = buffer
        # Streams with launches of graphs that used the memory and are no more.
        self._launched_on = []
        return self

    def _inherit(self, stream):
        """Takes the memory of the Buffer, which closes on ``stream`` or None."""
        buffer, self._buffer = self._buffer, None
        for name in ("_charge", "_release", "_memory", "_owner"):
            setattr(self, name, getattr(buffer, name))
            setattr(buffer, name, None)
        if stream is not None:
            self._stream = stream
        if self._memory is None:
            buffer._move_to(self)
        addressed = self._session._addressed
        for address in [one for one, known in addressed.items() if known is buffer]:
            addressed[address] = self

    def __del__(self):
        if self._buffer is None:
            try:
                self._free()
            except Exception:  # the session has ended, and the memory with it
                pass

    def _free(self):
        streams = [
            stream
            for stream in (self._stream, *self._launched_on)
            if stream is not None and not (stream._closed or stream._is_capturing)
        ]
        if not self._launched_on or not streams:
            return self.close()
        if self._memory is not None or self._release is not None:
            events = [stream.record() for stream in streams]
            kept = (self._memory, self._release, self._owner, self._charge)
            self._release = None
            self._session._parked.append((events, kept))
            return self.close()
        last = self._session.device(self._device_id).create_stream()
        for stream in streams:
            last.wait(stream)
        self.close(last)
        last.close()


def held(operand):
    """The object that a graph keeps for an operand of its nodes."""
    if isinstance(operand, Address):
        operand = operand._buffer
    if not isinstance(operand, Buffer) or isinstance(operand, Heir) or operand._is_of_graph:
        return operand
    heir = operand._heir
    if heir is None and not operand.is_closed:
        heir = Heir._of(operand)
        operand._heir_reference = weakref.ref(heir)
    return operand if heir is None else heir


def live(operand):
    """The operand; of a closed Buffer whose memory a graph keeps, that memory."""
    if isinstance(operand, Address):
        buffer = live(operand._buffer)
        return operand if buffer is operand._buffer else Address(buffer, operand._offset)
    if isinstance(operand, Buffer) and operand.is_closed:
        return operand if operand._heir is None else operand._heir
    return operand


def note_launches(kept, stream):
    """A graph that has kept these needs them no more; its last launch was on ``stream``, or None.
    They are freed behind that launch."""
    for one in kept if stream is not None else ():
        if isinstance(one, Heir) and stream not in one._launched_on:
            one._launched_on.append(stream)
