# SPDX-License-Identifier: Apache-2.0
"""Device memory of the daemon, mapped into a client process that has its own CUDA context."""

from holdfast.core._dlpack import CUDA, make_capsule


class LocalView:
    """Mapping of a Buffer's memory in the CUDA context of this process.

    ``Buffer.map_locally`` returns a view. Kernels of this process, PyTorch, CuPy and cuda.core can
    use the view's device pointer without a copy.

    The view, and each array that is made from the view, keeps the memory alive, even after the
    Buffer is closed. Streams of this process are not ordered with streams of the session: call
    ``sync`` on one before the other uses the memory.
    """

    def __init__(self, mapping, size, device, read_only):
        self._mapping = mapping
        self._size = size
        self._device = device
        self._read_only = read_only

    size = property(lambda self: self._size, doc="Size in bytes.")
    device_id = property(lambda self: self._device, doc="Ordinal of the device in this process.")
    readonly = property(lambda self: self._read_only)

    @property
    def ptr(self):
        """The device address, valid in the CUDA context of this process."""
        return self._mapping.pointer

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (self._size,),
            "typestr": "|u1",
            "data": (self.ptr, self._read_only),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return make_capsule(
            self._mapping, self.ptr, self.__dlpack_device__(), (self._size,),
            max_version=max_version, dl_device=dl_device, copy=copy, read_only=self._read_only,
        )  # fmt: skip

    def __dlpack_device__(self):
        return (CUDA, self._device)

    def close(self):
        """Unmaps the memory. No kernel may use the memory afterwards."""
        self._mapping.close()

    def __repr__(self):
        state = "closed" if self._mapping.closed else f"{self._size} bytes at {self.ptr:#x}"
        return f"<LocalView, {state}>"
