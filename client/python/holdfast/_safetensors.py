# SPDX-License-Identifier: Apache-2.0
"""Reads the header of a .safetensors file, which may be anybody's."""

import json

from holdfast._element_types import DTYPES, bytes_in

# A header as long, and of as many tensors, as the C++ reader takes: no collection has more arrays.
_MAX_HEADER = 100_000_000
_MAX_TENSORS = (4 << 20) // 11
_MAX_DIMENSIONS = 32
_FIELDS = {"dtype", "shape", "data_offsets"}


def _whole(value):
    return type(value) is int and 0 <= value < 2**63


def _bytes_of(entry):
    """Returns (first byte, last byte) of a tensor. ValueError: its entry is wrong, and how."""
    if not isinstance(entry, dict):
        raise ValueError("its entry is no object")
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"its dtype is {str(dtype)[:40]!r}")
    if not isinstance(shape, list) or not all(map(_whole, shape)):
        raise ValueError("its shape is no list of whole numbers below 2^63")
    if len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"it has {len(shape)} dimensions; limit: {_MAX_DIMENSIONS}")
    pair = isinstance(offsets, list) and len(offsets) == 2
    if not pair or not all(map(_whole, offsets)):
        raise ValueError("its data_offsets are no two whole numbers below 2^63")
    unknown = entry.keys() - _FIELDS
    if unknown:
        raise ValueError(f"it has an unknown field, {min(unknown)[:40]!r}")
    size = bytes_in(dtype, shape)
    if size >= 2**64:
        raise ValueError("its shape has more bytes than 64 bits count")
    first, last = offsets
    if last - first != size:
        raise ValueError(f"it has {size} bytes, and is at bytes {first} to {last}")
    return first, last


class _Objects:
    """Makes the dicts of a header. ValueError: a name stands there twice, or there are more objects
    than tensors, metadata and the header itself, before the rest is read."""

    def __init__(self):
        self._left = _MAX_TENSORS + 2

    def __call__(self, pairs):
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it has more than {_MAX_TENSORS} tensors")
        return _no_name_twice(pairs)


def _no_name_twice(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        seen = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"{twice[:100]!r} stands there twice")
    return found


def _read_header(data, refuse):
    """Returns (header, where the data begins)."""
    if len(data) < 8:
        refuse(f"it has {len(data)} bytes")
    size = int.from_bytes(data[:8], "little")
    if size > _MAX_HEADER:
        refuse(f"its header has {size} bytes; limit: {_MAX_HEADER}")
    if 8 + size > len(data):
        refuse(f"its header ends at byte {8 + size}, the file at {len(data)}")
    try:
        # Some writers fill the header up with zeros.
        text = data[8 : 8 + size].rstrip(b"\0")
        header = json.loads(text, object_pairs_hook=_Objects())
    except (ValueError, RecursionError) as error:
        refuse(f"its header: {error}")
    if not isinstance(header, dict):
        refuse("its header is no object")
    return header, 8 + size


def parse(path, data):
    """Returns (tensors, metadata, where their bytes begin) of a file.

    ValueError: the header is wrong, and where. No byte of data is read before that.
    """

    def refuse(why):
        raise ValueError(f"{path}: not a .safetensors file: {why}")

    header, start = _read_header(data, refuse)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        refuse("__metadata__ is no object of strings")
    if len(header) > _MAX_TENSORS:
        refuse(f"it has {len(header)} tensors; limit: {_MAX_TENSORS}")
    places = []
    for name, entry in header.items():
        try:
            first, last = _bytes_of(entry)
        except ValueError as error:
            refuse(f"tensor {name[:100]!r}: {error}")
        if last > len(data) - start:
            refuse(
                f"tensor {name[:100]!r} ends at byte {last} of the data, which has "
                f"{len(data) - start}"
            )
        places.append((first, last, name))
    end = 0
    for first, last, name in sorted(places):
        if first != end:
            refuse(
                f"tensor {name[:100]!r} begins at byte {first} of the data, where the one before "
                f"ends at byte {end}: {'an overlap' if first < end else 'a gap'}"
            )
        end = last
    if end != len(data) - start:
        refuse(f"the last tensor ends at byte {end} of the data, which has {len(data) - start}")
    return header, metadata, start
