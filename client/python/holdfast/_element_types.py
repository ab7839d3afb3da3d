# SPDX-License-Identifier: Apache-2.0
"""The types of elements that arrays of a collection have, by safetensors' names."""

import math

# safetensors' names -> (NumPy's, bits of an element), as core/base/array_layout.cc has them; those
# that NumPy lacks are of ml_dtypes. Elements of 4 and 6 bits lie packed, for which it has no type.
DTYPES = {
    "BOOL": ("bool", 8),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "U16": ("uint16", 16),
    "I16": ("int16", 16),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F6_E2M3": (None, 6),
    "F6_E3M2": (None, 6),
    "F4": (None, 4),
    "U32": ("uint32", 32),
    "I32": ("int32", 32),
    "F32": ("float32", 32),
    "U64": ("uint64", 64),
    "I64": ("int64", 64),
    "F64": ("float64", 64),
    "C64": ("complex64", 64),
    "C128": ("complex128", 128),
}
OF_NUMPY = {numpy: name for name, (numpy, _) in DTYPES.items() if numpy is not None}


def bytes_in(dtype, shape):
    """Returns the bytes of an array. ValueError: its bits are no whole bytes."""
    bits = math.prod(shape) * DTYPES[dtype][1]
    if bits % 8:
        raise ValueError(f"{bits} bits of {dtype} are not whole bytes")
    return bits // 8


def spelling(name, library):
    """The library's name of a type of elements."""
    spelled = DTYPES.get(name, (None,))[0]
    if spelled is None:
        raise TypeError(
            f"{library} has no type for the elements of {name}, which lie packed: copy the bytes, "
            "array.buffer.copy_to(numpy.empty(array.size, numpy.uint8), stream=stream)"
        )
    return spelled


def numpy_dtype(name):
    import numpy

    spelled = spelling(name, "NumPy")
    try:
        return numpy.dtype(spelled)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"arrays of {name} need the package ml_dtypes") from None
        if not hasattr(ml_dtypes, spelled):
            raise TypeError(f"arrays of {name} need a newer ml_dtypes, with {spelled}") from None
        return numpy.dtype(getattr(ml_dtypes, spelled))


def torch_dtype(name):
    """PyTorch names its types as NumPy and ml_dtypes do."""
    import torch

    spelled = spelling(name, "PyTorch")
    if not hasattr(torch, spelled):
        raise TypeError(f"arrays of {name} need a PyTorch with torch.{spelled}")
    return getattr(torch, spelled)
