# SPDX-License-Identifier: Apache-2.0
"""Collections: named arrays in device memory that the daemon keeps when their writer is gone.

The weights of a model, loaded once and used by every process::

    holdfast.collections.load_safetensors("model.safetensors", "qwen")

    weights = holdfast.collections.open("qwen")
    launch(stream, config, kernel, weights["model.embed_tokens.weight"].buffer, ...)
    arrays = weights.tensors("numpy")

Versions are immutable: an opened one stays as it is and as long as it is open, whatever becomes of
its writer, of the process that opened it first, or of later versions.
"""

import io as _io
import json as _json
import weakref as _weakref
from collections.abc import Mapping as _Mapping

from holdfast import _element_types as _types
from holdfast import _native, _safetensors
from holdfast._closing import Closing as _Closing
from holdfast._errors import CUDAError

_KINDS = {1: "present", 2: "committed", 3: "deleted", 4: "retired"}


def _device(device):
    from holdfast.core import Device

    return Device() if device is None else device


class Array:
    """An array of a collection: ``buffer`` is its memory, which kernels may read."""

    def __init__(self, collection, name, dtype, shape, size, strides, index, offset):
        self._collection = collection
        self._name = name
        self._dtype = dtype
        self._shape = shape
        self._size = size
        self._strides = strides
        # Where it lies: which of the collection's buffers, and bytes from that one's beginning.
        self._place = (index, offset)
        self._buffer = None

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype, doc="As safetensors spells it: ``'BF16'``.")
    shape = property(lambda self: self._shape)
    size = property(lambda self: self._size, doc="Bytes.")
    strides = property(
        lambda self: self._strides,
        doc="Elements from one to the next of each dimension; None: C order.",
    )

    @property
    def buffer(self):
        """The memory, a Buffer of the device. A kernel that writes to it faults."""
        if self._buffer is None:
            self._buffer = self._collection._part(self._name, self._size)
        return self._buffer

    def numpy(self, *, stream=None):
        """A copy in this process, a NumPy array. Waits."""
        import numpy

        dtype = _types.numpy_dtype(self._dtype)
        if self._size == 0:
            return numpy.empty(self._shape, dtype)
        out = numpy.empty(self._size // dtype.itemsize, dtype)
        stream = self._collection._device.default_stream if stream is None else stream
        self.buffer.copy_to(out.view(numpy.uint8), stream=stream)
        if self._strides is None:
            return out.reshape(self._shape)
        steps = [stride * dtype.itemsize for stride in self._strides]
        return numpy.lib.stride_tricks.as_strided(out, self._shape, steps)

    def __repr__(self):
        return f"<Array {self._name!r}, {self._dtype} {[*self._shape]}>"


class MappedArray:
    """An array in this process's own CUDA context, without a copy; see ``Collection.map_locally``.

    A kernel of this process that writes to it faults, which costs the process its context. The
    memory lives as long as this object and what was made of it.
    """

    def __init__(self, array, view):
        self._array = array
        self._view = view

    name = property(lambda self: self._array.name)
    dtype = property(lambda self: self._array.dtype, doc="As safetensors spells it.")
    shape = property(lambda self: self._array.shape)
    size = property(lambda self: self._array.size, doc="Bytes.")

    @property
    def ptr(self):
        """The address, for this process's own driver."""
        return self._view.ptr + self._array._place[1]

    @property
    def __cuda_array_interface__(self):
        dtype, strides = _types.numpy_dtype(self.dtype), self._array.strides
        if strides is not None:
            strides = tuple(stride * dtype.itemsize for stride in strides)
        return {
            "shape": self.shape,
            "typestr": dtype.str,
            "data": (self.ptr, True),
            "strides": strides,
            "stream": None,
            "version": 3,
        }

    def torch(self):
        """A tensor of PyTorch's on the device. PyTorch has no read-only tensors: do not write."""
        import torch

        from holdfast.core._dlpack import make_capsule

        # Without a word about that the memory is read-only, with which PyTorch refuses it.
        view = self._view
        capsule = make_capsule(
            view._mapping, view.ptr, view.__dlpack_device__(), (view.size,),
            max_version=None, dl_device=None, copy=None,
        )  # fmt: skip
        raw = torch.utils.dlpack.from_dlpack(capsule)
        start = self._array._place[1]
        part = raw[start : start + self.size].view(_types.torch_dtype(self.dtype))
        return _shaped(part, self._array)

    def __repr__(self):
        return f"<MappedArray {self.name!r}, {self.dtype} {[*self.shape]}, at {self.ptr:#x}>"


class Collection(_Closing, _Mapping):
    """A version of a collection that this session has open: a mapping of names to Arrays."""

    def __init__(self, native, name, device):
        self._native = native
        self._name = name
        self._device = device
        self._arrays = {entry[0]: Array(self, *entry) for entry in native.arrays()}
        self._metadata = dict(native.metadata())
        # (index of a buffer, view of it in this process), as long as anybody has that.
        self._views = _weakref.WeakKeyDictionary()

    name = property(lambda self: self._name)
    version = property(lambda self: self._native.version)
    metadata = property(lambda self: dict(self._metadata), doc="The writer's own, str by str.")

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    @property
    def nbytes(self):
        return sum(array.size for array in self._arrays.values())

    def _part(self, name, size):
        from holdfast.core._buffer import Buffer

        buffer = Buffer._empty(self._device._session, self._device._ordinal, size, None, None)
        buffer._of_array(self._native, name)
        buffer._whole = self
        return buffer

    def _whole_buffer(self, index):
        from holdfast.core._buffer import Buffer

        ends = (a._place[1] + a._size for a in self._arrays.values() if a._place[0] == index)
        session, ordinal = self._device._session, self._device._ordinal
        buffer = Buffer._empty(session, ordinal, max(ends), None, None)
        buffer._of_collection(self._native, index)
        return buffer

    def _map_buffer(self, index, device_id):
        buffer = self._whole_buffer(index)
        view = buffer.map_locally(writable=False, device_id=device_id)
        buffer.close()
        self._views[view] = index
        return view

    def map_locally(self, *, device_id=None):
        """The arrays in this process, which has CUDA: MappedArrays by name, for PyTorch, CuPy and
        kernels of its own, without a copy. Waits.

        For clients of the tenant that the collection belongs to. The memory stays as long as the
        arrays, whatever becomes of this object, the session and the daemon.

        Args:
            device_id: the device as this process counts; default: as the daemon does.

        Raises:
            CUDAError: the collection is another tenant's, the daemon is on another machine, or
                this process has no CUDA driver.
        """
        arrays = [array for array in self._arrays.values() if array.size > 0]
        indices = sorted({array._place[0] for array in arrays})
        views = {index: self._map_buffer(index, device_id) for index in indices}
        return {array.name: MappedArray(array, views[array._place[0]]) for array in arrays}

    def tensors(self, kind="numpy", *, stream=None, mapped=False):
        """All arrays by name: copies in this process, of "numpy", or of "torch", on the CPU; with
        ``mapped``, "torch" on the device, without a copy, as ``map_locally`` has them.

        Kernels of the session need no copy: ``collection[name].buffer`` is the memory itself.
        """
        if mapped:
            if kind != "torch":
                raise ValueError(f'kind={kind!r}: with mapped, "torch" is possible')
            return {name: array.torch() for name, array in self.map_locally().items()}
        if kind == "numpy":
            return {name: array.numpy(stream=stream) for name, array in self.items()}
        if kind == "torch":
            return {name: _to_torch(array, stream) for name, array in self.items()}
        raise ValueError(f'kind={kind!r}: "numpy" and "torch" are possible')

    def sleep(self):
        """Unmaps the memory, also that of ``map_locally``, and keeps its addresses: this process
        is no reader any more, and the version may go. Buffers, tensors and pointers must not be
        used until ``wake``. No other thread may use the collection meanwhile, nor during
        ``wake``. Waits.

        Raises:
            CUDAError: a stream of the session is not idle.
        """
        # It may be refused; the views then stay as they are.
        self._native.sleep()
        for view in [*self._views]:
            view._mapping.sleep()

    def wake(self, version=None):
        """Maps a version again: the one that was unmapped, or another; 0: the latest. Waits.

        Returns:
            The names of the arrays that are not where they were with the same type, or not there
            any more. Get these anew, and map them anew; buffers, tensors and pointers of all others
            are good again.

        Raises:
            CUDAError: there is no such version any more; it still sleeps.
        """
        moved = {*self._native.wake(version)}
        old, self._arrays = self._arrays, {}
        for entry in self._native.arrays():
            name = entry[0]
            stays = name in old and name not in moved
            self._arrays[name] = old.pop(name) if stays else Array(self, *entry)
        for array in old.values():
            if array._buffer is not None:
                array._buffer.close()
        self._metadata = dict(self._native.metadata())
        for view, index in [*self._views.items()]:
            moved |= self._wake_view(view, index)
        return sorted(moved)

    def _wake_view(self, view, index):
        """Names of the arrays that are not where the view has them any more."""
        names = {name for name, array in self._arrays.items() if array._place[0] == index}
        if not names:
            del self._views[view]
            return names
        buffer = self._whole_buffer(index)
        try:
            view._mapping.wake(buffer)
        except CUDAError:
            # Another layout: it is of no more use.
            del self._views[view]
            return names
        finally:
            buffer.close()
        return {*()}

    def close(self):
        """Lets go of the memory; the buffers of the arrays are of no more use."""
        for array in self._arrays.values():
            if array._buffer is not None:
                array._buffer.close()
        self._native.close()

    def __repr__(self):
        return (
            f"<Collection {self._name!r}, version {self.version if not self._native.closed else '?'}, "
            f"{len(self)} arrays, {self.nbytes} bytes>"
        )


def _shaped(tensor, array):
    """The elements of an array, a tensor of one dimension, in their places."""
    if array.strides is None:
        return tensor.reshape(array.shape)
    return tensor.as_strided(array.shape, array.strides, tensor.storage_offset())


def _to_torch(array, stream):
    import torch

    if array.dtype not in ("BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0"):
        return torch.from_numpy(array.numpy(stream=stream))
    raw = torch.empty(array.size, dtype=torch.uint8)
    if array.size > 0:
        stream = array._collection._device.default_stream if stream is None else stream
        array.buffer.copy_to(raw.numpy(), stream=stream)
    return _shaped(raw.view(_types.torch_dtype(array.dtype)), array)


def open(name, version=0, *, device=None):
    """Maps a version for reading; 0: the latest.

    Raises:
        CUDAError: there is no such collection or version, or not for this client.
    """
    device = _device(device)
    native = _native.open_collection(device._session, device._ordinal, name, version)
    return Collection(native, name, device)


class Writer(_Closing):
    """Memory for a new version, which nobody else sees before ``commit``; made by ``create``."""

    def __init__(self, native, specs, device):
        self._native = native
        self._device = device
        self._index = {spec[0]: (i, spec) for i, spec in enumerate(specs)}
        self._buffers = {}

    def __getitem__(self, name):
        """The memory of one array, to be filled by copies and kernels."""
        from holdfast.core._buffer import Buffer

        if name not in self._buffers:
            index, (_, dtype, shape) = self._index[name]
            size = _types.bytes_in(dtype, shape)
            buffer = Buffer._empty(self._device._session, self._device._ordinal, size, None, None)
            buffer._of_writer(self._native, index)
            buffer._whole = self
            self._buffers[name] = buffer
        return self._buffers[name]

    def __iter__(self):
        return iter(self._index)

    def __len__(self):
        return len(self._index)

    def adopt(self, collection, name):
        """Adds an array of a version that is there, without a copy."""
        self._native.adopt(collection._native, name)
        self._buffers[f"adopted {name}"] = collection  # which the commit needs

    def commit(self, name, metadata=None):
        """Waits for all streams, and makes the version. Returns its number.

        From then on nobody can write to the memory.
        """
        texts = tuple((str(k), str(v)) for k, v in (metadata or {}).items())
        version = self._native.commit(self._device._session, name, texts)
        self.close()
        return version

    def close(self):
        """Lets go of the memory; before the commit, all of it is dropped."""
        for buffer in self._buffers.values():
            if not isinstance(buffer, Collection):
                buffer.close()
        self._buffers.clear()
        self._native.close()

    def __repr__(self):
        return f"<Writer of {len(self)} arrays on {self._device!r}>"


def _spec(name, value):
    """(name, dtype, shape) of an array, or of a pair of dtype and shape."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        dtype, shape = value
        dtype = dtype if dtype in _types.DTYPES else _types.OF_NUMPY.get(dtype, dtype)
    else:
        dtype, shape = _types.OF_NUMPY.get(str(value.dtype)), value.shape
    if dtype not in _types.DTYPES:
        raise TypeError(f"array {name!r}: a collection has no arrays of this type: {value!r}")
    shape = tuple(_native.whole_number("shape", extent, 2**63 - 1) for extent in shape)
    _types.bytes_in(dtype, shape)
    return name, dtype, shape


def create(arrays, *, device=None):
    """Memory for a new version, a Writer.

    Args:
        arrays: by name, arrays whose type and shape are taken, or pairs of them:
            ``{"weights": ("F32", (1024, 1024))}``. Nothing is copied.
    """
    device = _device(device)
    specs = [_spec(name, value) for name, value in arrays.items()]
    native = _native.write_collection(device._session, device._ordinal, specs)
    return Writer(native, specs, device)


def commit(name, arrays, metadata=None, *, device=None):
    """Uploads arrays, by name, as a new version of a collection. Returns its number."""
    import numpy

    device = _device(device)
    arrays = {key: numpy.ascontiguousarray(array) for key, array in arrays.items()}
    with create(arrays, device=device) as writer:
        for key, array in arrays.items():
            if array.nbytes > 0:
                data = array.reshape(-1).view(numpy.uint8)
                writer[key].copy_from(data, stream=device.default_stream)
        return writer.commit(name, metadata)


def load_safetensors(path, name, *, device=None, progress=None):
    """Uploads a .safetensors file as a new version of a collection. Returns its number.

    Args:
        progress: shows how far it is; default: if standard error is a terminal.
    """
    import mmap

    from holdfast._progress import Progress

    device = _device(device)
    with _io.open(path, "rb") as file, mmap.mmap(
        file.fileno(), 0, access=mmap.ACCESS_READ
    ) as data:
        arrays, metadata, start = _safetensors.parse(path, data)
        specs = {key: (entry["dtype"], tuple(entry["shape"])) for key, entry in arrays.items()}
        view = memoryview(data)
        try:
            with create(specs, device=device) as writer:
                total = sum(e["data_offsets"][1] - e["data_offsets"][0] for e in arrays.values())
                with Progress(f"loading {name}", total, shown=progress) as shown:
                    for key, entry in arrays.items():
                        first, last = (start + offset for offset in entry["data_offsets"])
                        if last > first:
                            part = view[first:last]
                            writer[key].copy_from(part, stream=device.default_stream)
                            part.release()
                        shown.advance(last - first)
                return writer.commit(name, metadata)
        finally:
            view.release()


class Claim(_Closing):
    """"Create it if it is not there, else open it", for one process of many::

        with holdfast.collections.claim("qwen") as claim:
            if claim.writes:
                holdfast.collections.load_safetensors("model.safetensors", "qwen")
        weights = holdfast.collections.open("qwen")
    """

    def __init__(self, native):
        self._native = native

    writes = property(lambda self: self._native.writes, doc="This process is to commit it.")

    def close(self):
        """Gives the claim up; without a commit, the next process that waits is to write."""
        self._native.close()


def claim(name, *, device=None):
    """Waits until the collection is there, or until this process is the one to write it."""
    return Claim(_native.claim_collection(_device(device)._session, name))


class Change:
    """What has happened to a collection: ``kind`` is "present", "committed", "deleted", or
    "retired", when nobody can open the version any more and its readers keep it."""

    __slots__ = ("kind", "name", "version", "owner")

    def __init__(self, kind, name, version, owner=""):
        self.kind = kind
        self.name = name
        self.version = version
        self.owner = owner

    def __eq__(self, other):
        return isinstance(other, Change) and (self.kind, self.name, self.version) == (
            other.kind, other.name, other.version,
        )  # fmt: skip

    __hash__ = None

    def __repr__(self):
        return f"Change({self.kind!r}, {self.name!r}, {self.version}, {self.owner!r})"


def watch(name="", *, device=None):
    """Yields what there is, and then each Change, without end. "": of all collections."""
    watching = _native.watch_collections(_device(device)._session._daemon, name)
    try:
        while True:
            kind, which, version, owner = watching.next()
            yield Change(_KINDS.get(kind, "unknown"), which, version, owner)
    finally:
        watching.cancel()


def list(*, device=None):
    """The collections that this client may see: a list of dicts, as CollectionInfo of
    collections.proto."""
    return _json.loads(_device(device)._session._daemon.collections())["collections"]


def describe(name, version=0, *, device=None):
    """One version, 0: the latest, with its arrays: a dict, as DescribeCollectionResponse."""
    return _json.loads(_device(device)._session._daemon.describe_collection(name, version))


def delete(name, version=0, *, device=None):
    """Deletes a version, 0: all. Returns how many. Sessions that have one open keep its memory."""
    return _device(device)._session._daemon.delete_collection(name, version)


def configure(
    name,
    *,
    everybody=None,
    clients=None,
    keep=None,
    until_unreferenced=None,
    pin=(),
    unpin=(),
    device=None,
):
    """Changes who may open a collection and which versions are kept.

    Args:
        everybody: every client of the daemon may.
        clients: those who may besides the owner, ``["uid 1000"]``.
        keep: how many of the latest versions stay when a new one is committed; 0: all.
        until_unreferenced: a version goes, too, when its last reader lets go.
        pin: versions that stay whatever the two say, and cannot be deleted; 0: the latest.
        unpin: versions that may go again.
    """
    request = {"name": name}
    if everybody is not None or clients is not None:
        request["visibility"] = {"everybody": bool(everybody), "clients": [*(clients or ())]}
    if keep is not None:
        request["keep"] = keep
    if until_unreferenced is not None:
        request["until_unreferenced"] = bool(until_unreferenced)
    request["pin"] = [*pin]
    request["unpin"] = [*unpin]
    _device(device)._session._daemon.configure_collection(_json.dumps(request))
