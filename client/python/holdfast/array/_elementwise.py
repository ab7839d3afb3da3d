# SPDX-License-Identifier: Apache-2.0
"""The one kernel that holdfast.array generates: an expression, evaluated for each element."""

import math

import numpy

from holdfast._session import current_device, set_current_device
from holdfast.core._launch import LaunchConfig, launch
from holdfast.core._program import Program

_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned", "int64": "long long",
    "uint64": "unsigned long long", "float16": "__half", "float32": "float", "float64": "double",
}  # fmt: skip

_MAX_DIMENSIONS = 8
_THREADS = 256
_MOST_BLOCKS = 4096

# The words of C++ that are no names; the kernel's own names begin with hf_.
_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class "
    "compl const constexpr const_cast continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new noexcept "
    "not not_eq nullptr operator or or_eq private protected public register reinterpret_cast return short "
    "signed sizeof static static_assert static_cast struct switch template this thread_local throw true "
    "try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "blockDim blockIdx gridDim threadIdx warpSize".split()
)

# Layout has the extents of the result, and strides in bytes, the result's first.
_SOURCE = """{includes}
struct Layout {{
  long long dimensions, size, extents[{dimensions}], strides[{arrays}][{dimensions}];
}};

extern "C" __global__ void elementwise(const Layout hf_layout{parameters}) {{
  const long long hf_step = (long long)gridDim.x * blockDim.x;
  for (long long hf_i = (long long)blockIdx.x * blockDim.x + threadIdx.x; hf_i < hf_layout.size; hf_i += hf_step) {{
    long long hf_at[{arrays}] = {{}};
    long long hf_rest = hf_i;
#pragma unroll 1
    for (int d = (int)hf_layout.dimensions - 1; d > 0; --d) {{
      const long long left = hf_rest / hf_layout.extents[d];
      const long long k = hf_rest - left * hf_layout.extents[d];
      for (int a = 0; a < {arrays}; ++a) hf_at[a] += k * hf_layout.strides[a][d];
      hf_rest = left;
    }}
    for (int a = 0; a < {arrays}; ++a) hf_at[a] += hf_rest * hf_layout.strides[a][0];
{loads}
    *({type}*)(hf_result + hf_at[0]) = ({type})({expression});
  }}
}}
"""


def check_name(name):
    """Raises ValueError if no variable of CUDA C++ can have the name."""
    if not (name.isascii() and name.isidentifier()) or name in _KEYWORDS or name.startswith("hf_"):
        raise ValueError(f"{name!r} cannot be the name of an operand: it is none of a variable in C++")


def run(stream, device, expression, operands, common, out):
    """Evaluates ``expression`` for each element of ``out``, in the order of ``stream``. Operands are
    Arrays, which are broadcast, and numbers, all converted to the type ``common``."""
    arrays = {name: value for name, value in operands.items() if hasattr(value, "buffer")}
    numbers = {name: value for name, value in operands.items() if name not in arrays}
    if out.size == 0:
        return
    layout = _layout(out, arrays.values())
    kernel = _kernel(device, expression, arrays, tuple(numbers), common, out.dtype)
    worked = numpy.dtype("f4") if common == numpy.dtype("f2") else common
    values = [worked.type(value) for value in numbers.values()]
    blocks = min(-(-out.size // _THREADS), _MOST_BLOCKS)
    launch(
        stream, LaunchConfig(grid=blocks, block=_THREADS), kernel, layout, out, *arrays.values(),
        *values,
    )  # fmt: skip


def _layout(out, arrays):
    """The kernel's Layout."""
    strides = [out.strides]
    for array in arrays:
        missing = out.ndim - array.ndim
        own = [0 if extent == 1 else s for extent, s in zip(array.shape, array.strides)]
        strides.append((0,) * missing + tuple(own))
    extents, strides = _merged(out.shape, strides)
    if len(extents) > _MAX_DIMENSIONS:
        raise ValueError(f"{len(extents)} dimensions, the kernel takes {_MAX_DIMENSIONS}")
    words = numpy.zeros(2 + _MAX_DIMENSIONS * (1 + len(strides)), "i8")
    words[:2] = len(extents), math.prod(extents)
    rows = words[2:].reshape(-1, _MAX_DIMENSIONS)
    for row, values in zip(rows, (extents, *strides)):
        row[: len(values)] = values
    return words.view(numpy.dtype([("words", "i8", words.shape)]))[0]


def _merged(shape, strides):
    """The shape and the strides with as few dimensions as possible: those that all walk through
    as if they were one are one."""
    extents, columns = [], []
    for extent, *steps in zip(shape, *strides):
        if extent == 1:
            continue
        if columns and all(s == extent * step for s, step in zip(columns[-1], steps)):
            extents[-1] *= extent
            columns[-1] = steps
        else:
            extents.append(extent)
            columns.append(steps)
    return extents, [[column[i] for column in columns] for i in range(len(strides))]


def _type_of(dtype):
    try:
        return _TYPES[dtype.name]
    except KeyError:
        raise TypeError(f"kernels of holdfast.array have no type {dtype}") from None


def _kernel(device, expression, arrays, numbers, common, result):
    """The kernel for these types, which is compiled once for a session and a kind of device."""
    types = tuple((name, array.dtype) for name, array in arrays.items())
    key = (device.arch, device.is_software, expression, types, numbers, common, result)
    kernels = device._session.__dict__.setdefault("_elementwise", {})
    if key not in kernels:
        source = _source(expression, types, numbers, common, result)
        kernels[key] = _compile(device, source)
    return kernels[key]


def _source(expression, types, numbers, common, result):
    # Halves are read and written as they are; what is between is done in floats.
    half = "__half" in map(_type_of, (common, result, *(dtype for _, dtype in types)))
    worked = "float" if _type_of(common) == "__half" else _type_of(common)
    arrays = "".join(f", const char* hf_of_{name}" for name, _ in types)
    values = "".join(f", const {worked} {name}" for name in numbers)
    loads = "\n".join(
        f"    const {worked} {name} = ({worked})*(const {_type_of(dtype)}*)(hf_of_{name} + hf_at[{i}]);"
        for i, (name, dtype) in enumerate(types, 1)
    )
    return _SOURCE.format(
        includes="#include <cuda_fp16.h>" if half else "", dimensions=_MAX_DIMENSIONS,
        arrays=1 + len(types), parameters=f", char* hf_result{arrays}{values}", loads=loads,
        type=_type_of(result),
        expression=f"(float)({expression})" if _type_of(result) == "__half" else expression,
    )  # fmt: skip


def _compile(device, source):
    previous = current_device()
    set_current_device(device)
    try:
        program = Program(source, "c++", {"name": "elementwise"})
        return program.compile("cubin").get_kernel("elementwise")
    finally:
        set_current_device(previous)


def as_words(array):
    """The same memory as unsigned integers, the largest that divide an element: any type can be
    copied so."""
    size = array.itemsize & -array.itemsize
    word = numpy.dtype(f"u{min(size, 8)}")
    count = array.itemsize // word.itemsize
    shape, strides = array.shape, array.strides
    if count > 1:
        shape, strides = (*shape, count), (*strides, word.itemsize)
    return type(array)(array.buffer, shape, word, strides=strides, offset=array.offset)
