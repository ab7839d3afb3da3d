# SPDX-License-Identifier: Apache-2.0
"""What a Buffer says to who takes it for an array."""

_HINT = (
    "a Buffer is bytes, without elements: holdfast.array.Array(buffer, shape, dtype) has a shape, "
    "slices and arithmetic"
)
_OF_ARRAYS = ("dtype", "nbytes", "ndim", "shape", "strides")
COPIES_TO_HOST = ("copy_to_host", "cpu", "get", "numpy", "tobytes", "to_host")
_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")


class BytesAlone:
    """Refuses what only arrays have, with a sentence about what to do."""

    __slots__ = ()

    def __getattr__(self, name):
        if name in _OF_ARRAYS:
            instead = ", and size its bytes" if name == "nbytes" else ""
            raise AttributeError(f"{type(self).__name__} has no {name}: {_HINT}{instead}")
        if name in COPIES_TO_HOST and not hasattr(type(self), name):
            raise AttributeError(
                f"{type(self).__name__} has no {name}: copy_to(array, stream=stream) copies the "
                "bytes here"
            )
        # A property's own AttributeError comes here, too: it is raised anew.
        return object.__getattribute__(self, name)

    def __getitem__(self, index):
        raise TypeError(f"{_HINT}; Buffer.sub(offset, size) is a part of its bytes")

    def __setitem__(self, index, value):
        raise TypeError(f"{_HINT}; Buffer.copy_from copies all bytes")


def _refuse(self, *others):
    raise TypeError(_HINT)


for _name in _OPERATORS:
    setattr(BytesAlone, f"__{_name}__", _refuse)
    setattr(BytesAlone, f"__r{_name}__", _refuse)
for _name in ("neg", "abs"):
    setattr(BytesAlone, f"__{_name}__", _refuse)
