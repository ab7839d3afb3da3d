# SPDX-License-Identifier: Apache-2.0
"""The bytes of arrays of this process."""

from holdfast import _native


def array_bytes(array, is_written, expected):
    """The bytes of an array with the buffer protocol, as a memoryview.

    TypeError: it is no array (``expected`` says what is), or one of Python objects; ValueError: its
    elements have the other byte order, or are not contiguous; BufferError: it is read-only.
    """
    try:
        memoryview(array)
    except TypeError:
        raise TypeError(f"{expected}, got {type(array).__name__}") from None
    return _native.array_bytes(array, is_written)


def fill_pattern(value):
    """What a fill repeats: an int as one byte; 1, 2 or 4 bytes as they are."""
    if isinstance(value, int):
        if not 0 <= value <= 255:
            raise OverflowError(f"value {value} is not in the range of a byte, [0, 255]")
        return bytes((value,))
    expected = "value must be an int or support the buffer protocol"
    pattern = bytes(array_bytes(value, False, expected))
    if len(pattern) not in (1, 2, 4):
        raise ValueError(f"value must be 1, 2, or 4 bytes, got {len(pattern)}")
    return pattern


def pinned_place(array):
    """(span, offset) if the array lies in pinned memory of ours, else None."""
    owner = array
    while owner is not None and not isinstance(owner, _native.Span):
        if isinstance(owner, memoryview):
            owner = owner.obj
        else:
            owner = getattr(owner, "base", None)
    if owner is None:
        return None
    return owner, _native.address_of(array) - owner.address
