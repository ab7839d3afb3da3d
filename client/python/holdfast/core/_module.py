# SPDX-License-Identifier: Apache-2.0
import operator
import os
import re
import weakref
from collections import namedtuple

from holdfast import _native
from holdfast._errors import warn_program
from holdfast._session import current_device
from holdfast.core._options import not_served

ParamInfo = namedtuple("ParamInfo", ("offset", "size"))

FORMATS = {"ptx": 1, "cubin": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
_LOADABLE = ("ptx", "cubin", "fatbin")

_ATTRIBUTES = {
    "max_threads_per_block": "max_threads_per_block",
    "shared_size_bytes": "shared_size_bytes",
    "const_size_bytes": "const_size_bytes",
    "local_size_bytes": "local_size_bytes",
    "num_regs": "num_regs",
    "ptx_version": "ptx_version",
    "binary_version": "binary_version",
    "cache_mode_ca": "cache_mode_ca",
    "max_dynamic_shared_size_bytes": "max_dynamic_shared_size_bytes",
    "preferred_shared_memory_carveout": "preferred_shared_memory_carveout",
    "cluster_size_must_be_set": "cluster_size_must_be_set",
    "required_cluster_width": "required_cluster_width",
    "required_cluster_height": "required_cluster_height",
    "required_cluster_depth": "required_cluster_depth",
    "non_portable_cluster_size_allowed": "non_portable_cluster_size_allowed",
    "cluster_scheduling_policy_preference": "cluster_scheduling_policy_preference",
}


_FLAGS = ("cache_mode_ca", "cluster_size_must_be_set", "non_portable_cluster_size_allowed")


# The end of a cubin that was made for the software device, behind the PTX and its length in 8 bytes.
# The software device runs the PTX, also in a process that reads the cubin from a file. Drivers take
# no notice of bytes behind a cubin.
_PTX_END = b"holdfast-ptx-1\n"


def _with_ptx(cubin, ptx):
    return cubin + ptx + len(ptx).to_bytes(8, "little") + _PTX_END


def _ptx_of(cubin):
    """The PTX that _with_ptx has put behind a cubin, or None."""
    end = len(cubin) - len(_PTX_END) - 8
    if end < 0 or not cubin.endswith(_PTX_END):
        return None
    size = int.from_bytes(cubin[end : end + 8], "little")
    return cubin[end - size : end] if size <= end else None


def kinds_in(ptx):
    """The kernels of PTX, by name: a letter for each parameter, f for a floating-point number, i for
    an integer or a pointer, ? for another."""
    # The PTX is not known to be sound: this only finds or does not find.
    entries = re.finditer(rb"\.entry\s+([^\s(]+)\s*\(([^)]*)\)", ptx)
    return {entry[1].decode(errors="replace"): _kinds_of(entry[2]) for entry in entries}


def _kinds_of(parameters):
    if not parameters.strip():
        return ""
    kinds = {b"f": "f", b"u": "i", b"s": "i"}
    found = (
        re.search(rb"\.param\s[^,\[]*\.([fus])(?:8|16|32|64)\s[^\[]*$", parameter)
        for parameter in parameters.split(b",")
    )
    return "".join("?" if one is None else kinds[one[1]] for one in found)


def working_device():
    """The device that compiling and loading are for: the thread's current one."""
    from holdfast.core._device import Device

    return Device()


class ObjectCode:
    """Compiled code; made by ``Program.compile``, ``Linker.link`` or ``from_*``.

    It is loaded into a session when a kernel is first asked for. On the software device code of
    type "cubin" keeps its PTX, which is what runs there; ``code`` is a cubin with this PTX behind it.
    """

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "ObjectCode objects cannot be instantiated directly. "
            "Please use ObjectCode APIs (from_cubin, from_ptx) or Program APIs (compile)."
        )

    @classmethod
    def _make(cls, code_type, *, code=None, name="", symbols=None, stored=None, device=None,
              ptx=None, build=None, kinds=None, describe=None):  # fmt: skip
        """`ptx`: what is loaded, if not `code`; `device`: the one it was compiled for; `stored`: it,
        in the store of that device's daemon; `build`: makes `code` when it is asked for; `kinds`: of
        the kernels' parameters, as `kinds_in` has them; `describe`: asks for them, if they are not
        known."""
        session = None if device is None else device._session
        self = object.__new__(cls)
        self._code_type = code_type
        self._code = code
        self._name = name
        self._symbols = dict(symbols or {})
        self._stored = stored
        self._daemon = None if session is None else session._daemon
        self._session = None if session is None else weakref.ref(session)
        self._ordinal = None if session is None else device._ordinal
        self._ptx = ptx
        self._build = build
        self._kinds = dict(kinds or {})
        self._describe = describe
        self._path = None
        self._modules = weakref.WeakKeyDictionary()
        return self

    @classmethod
    def _from(cls, code_type, module, name, symbol_mapping):
        path = None
        if isinstance(module, (str, os.PathLike)):
            path = os.fspath(module)
            with open(path, "rb") as file:
                module = file.read()
        elif not isinstance(module, (bytes, bytearray)):
            raise TypeError(f"bytes or a path expected, got {type(module).__name__}")
        symbols = {plain_name(n): plain_name(s) for n, s in (symbol_mapping or {}).items()}
        self = cls._make(code_type, code=bytes(module), name=name, symbols=symbols)
        self._path = path
        if code_type == "cubin":
            self._ptx = _ptx_of(self._code)
        return self

    @classmethod
    def from_cubin(cls, module, *, name="", symbol_mapping=None):
        return cls._from("cubin", module, name, symbol_mapping)

    @classmethod
    def from_ptx(cls, module, *, name="", symbol_mapping=None):
        return cls._from("ptx", module, name, symbol_mapping)

    @classmethod
    def from_ltoir(cls, module, *, name="", symbol_mapping=None):
        return cls._from("ltoir", module, name, symbol_mapping)

    @classmethod
    def from_fatbin(cls, module, *, name="", symbol_mapping=None):
        return cls._from("fatbin", module, name, symbol_mapping)

    @classmethod
    def from_object(cls, module, *, name="", symbol_mapping=None):
        return cls._from("object", module, name, symbol_mapping)

    @classmethod
    def from_library(cls, module, *, name="", symbol_mapping=None):
        return cls._from("library", module, name, symbol_mapping)

    @property
    def code(self):
        """The bytes; of code that was read from a file, the file's name."""
        return self._bytes if self._path is None else self._path

    @property
    def _bytes(self):
        if self._code is None:
            self._code = self._build()
            if self._ptx is not None:
                self._code = _with_ptx(self._code, self._ptx)
        return self._code

    code_type = property(lambda self: self._code_type)
    name = property(lambda self: self._name)
    symbol_mapping = property(lambda self: dict(self._symbols))

    @property
    def handle(self):
        """A number of this process for the code, which is loaded for it; not a CUlibrary."""
        return id(self._load(self._working_device()._session))

    def _working_device(self):
        """The thread's current device. In a thread that has none: the one that the code was compiled
        for, whose session another thread may have opened."""
        session = None if self._session is None else self._session()
        if current_device() is None and session is not None and not session._closed:
            return session.device(self._ordinal)
        return working_device()

    def _what_loads(self):
        """(format, bytes) of what can run: the PTX if there is one."""
        if self._ptx is not None:
            return FORMATS["ptx"], self._ptx
        return FORMATS[self._code_type], self._bytes

    def _parameter_kinds(self, name):
        """A letter for each parameter of a kernel, as `kinds_in` has them. Empty: not known."""
        ptx = self._bytes if self._code_type == "ptx" else self._ptx
        if ptx and not self._kinds:
            self._kinds = kinds_in(ptx)
        return self._kinds.get(name, "")

    def _learned_kinds(self, name):
        """The same of a cubin that came without them. Empty: nobody can tell."""
        if self._describe is not None:
            try:
                self._kinds = self._describe()
            except (RuntimeError, ValueError):  # CUDAErrors, too
                pass
            self._describe = None
        return self._kinds.get(name, "")

    def _load(self, session):
        module = self._modules.get(session)
        if module is not None:
            return module
        if self._code_type not in _LOADABLE:
            raise RuntimeError(
                f'Unsupported code type "{self._code_type}" ({", ".join(_LOADABLE)} can be loaded)'
            )
        stored = self._stored
        if self._daemon is not session._daemon:
            kind, code = self._what_loads()
            symbols = [(name, lowered.encode()) for name, lowered in self._symbols.items()]
            stored = _native.put(session._daemon, code, kind, symbols)
        module = self._modules[session] = _native.load(session, stored)
        return module

    def get_kernel(self, name):
        """The kernel of this name, ``"vector_add<float>"``, or name in the object.

        Raises:
            CUDAError: there is none; the message lists those that exist.
        """
        name = plain_name(name)
        device = self._working_device()
        lowered = self._symbols.get(name, name)
        return Kernel._make(self, device, self._load(device._session), lowered)

    def get_global(self, name, device=None):
        """A __device__ or __constant__ variable of a device, as a Buffer."""
        from holdfast.core._buffer import Buffer

        device = self._working_device() if device is None else device
        buffer = Buffer._empty(device._session, device._ordinal, 0, None, None)
        buffer._global(self._load(device._session), self._symbols.get(name, name), device._ordinal)
        buffer._length = buffer._size
        return buffer

    def __reduce__(self):
        fields = (self._code_type, self._bytes, self._name, self._symbols, self._ptx, self._kinds)
        return _rebuild, fields

    def __eq__(self, other):
        return (
            isinstance(other, ObjectCode)
            and self._code_type == other._code_type
            and (self is other or self._bytes == other._bytes)
        )

    def __hash__(self):
        return hash((self._code_type, self._bytes))

    def __repr__(self):
        loaded = (id(module) for module in self._modules.values())
        return f"<ObjectCode handle={next(loaded, 0):#x} code_type={self._code_type!r}>"


def plain_name(name):
    """A name as str; compilers' interfaces have bytes."""
    if isinstance(name, bytes):
        name = name.decode()
    if not isinstance(name, str):
        raise TypeError(f"a name expected, got {type(name).__name__}")
    return name


def _rebuild(code_type, code, name, symbols, ptx, kinds=None):
    return ObjectCode._make(
        code_type, code=code, name=name, symbols=symbols, ptx=ptx, kinds=kinds
    )


class _Attribute(int):
    """A value that can also be called, as the methods of cuda.core before 1.0."""

    def __call__(self, device_id=None):
        attributes, name = self._of
        return int(self) if device_id is None else int(getattr(attributes[device_id], name))


class KernelAttributes:
    """Attributes of a kernel on one device: ``kernel.attributes.num_regs``.

    ``attributes[device]`` are those on another device.
    """

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "KernelAttributes cannot be instantiated directly. Please use Kernel APIs."
        )

    @classmethod
    def _of(cls, kernel, device_id):
        self = object.__new__(cls)
        self._kernel = kernel
        self._device_id = device_id
        return self

    def __repr__(self):
        return f"<KernelAttributes on device {self._device_id}: {', '.join(_ATTRIBUTES)}>"

    def __getitem__(self, device):
        return KernelAttributes._of(self._kernel, int(device))

    def __getattr__(self, name):
        if name.startswith("_") or name not in _ATTRIBUTES:
            raise AttributeError(name)
        values = self._kernel._description(self._device_id)[1]
        if _ATTRIBUTES[name] not in values:
            raise AttributeError(f"the driver has no attribute {name!r} of kernels")
        value = values[_ATTRIBUTES[name]]
        if name in _FLAGS:
            return bool(value)
        value = _Attribute(value)
        value._of = self, name
        return value

    def __dir__(self):
        return sorted(_ATTRIBUTES)


class KernelOccupancy:
    """How much of a kernel fits onto the device."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "KernelOccupancy cannot be instantiated directly. Please use Kernel APIs."
        )

    @classmethod
    def _of(cls, kernel):
        self = object.__new__(cls)
        self._kernel = kernel
        return self

    def max_active_blocks_per_multiprocessor(self, block_size, dynamic_shared_memory_size):
        kernel = self._kernel
        return kernel._active_blocks(kernel._device_id, block_size, dynamic_shared_memory_size)

    def max_potential_block_size(self, dynamic_shared_memory_needed, block_size_limit):
        """(min_grid_size, max_block_size), for the largest number of resident threads.

        Args:
            dynamic_shared_memory_needed: bytes of a block; or a function of a block's number of
                threads, Python's, ctypes' or a CUoccupancyB2DSize.
        """
        size_of = _function_of(dynamic_shared_memory_needed)
        if size_of is not None:
            return self._largest_block(size_of, block_size_limit)
        kernel = self._kernel
        found = kernel._block_size(
            kernel._device_id, dynamic_shared_memory_needed, block_size_limit
        )
        return MaxPotentialBlockSizeOccupancyResult(*found)

    def _largest_block(self, size_of, limit):
        from holdfast.core._device import Device

        properties = Device(self._kernel._device_id).properties
        most = self._kernel.attributes.max_threads_per_block
        if limit > 0:
            most = min(most, limit)
        best, found = 0, (0, 0)
        # Whole warps, and the limit itself, from the largest down.
        for size in sorted({most, *range(properties.warp_size, most, properties.warp_size)})[::-1]:
            blocks = self.max_active_blocks_per_multiprocessor(size, int(size_of(size)))
            if blocks * size > best:
                best, found = blocks * size, (blocks * properties.multiprocessor_count, size)
        return MaxPotentialBlockSizeOccupancyResult(*found)

    def available_dynamic_shared_memory_per_block(self, num_blocks_per_multiprocessor, block_size):
        kernel = self._kernel
        return kernel._dynamic_shared(
            kernel._device_id, num_blocks_per_multiprocessor, block_size
        )

    def max_potential_cluster_size(self, config, *, stream=None):
        return self._kernel._cluster_size(self._kernel._device_id, config)

    def max_active_clusters(self, config, *, stream=None):
        return self._kernel._active_clusters(self._kernel._device_id, config)


MaxPotentialBlockSizeOccupancyResult = namedtuple(
    "MaxPotentialBlockSizeOccupancyResult", ("min_grid_size", "max_block_size")
)


def _function_of(size):
    """The function of a block's threads that the number of bytes is to come from, or None."""
    if callable(size):
        return size
    if type(size).__name__ == "CUoccupancyB2DSize":
        import ctypes

        # As cuda.core takes it: made by CUoccupancyB2DSize(_ptr=function).
        return ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(int(size.getPtr()))
    return None


class Kernel(_native.Kernel):
    """A kernel of an ObjectCode, which it keeps loaded; made by ``ObjectCode.get_kernel``."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "Kernel objects cannot be instantiated directly. "
            "Please use ObjectCode APIs (get_kernel)."
        )

    @classmethod
    def _make(cls, code, device, module, name):
        self = _native.Kernel.__new__(cls)
        self._load(module, name, device._ordinal, code._parameter_kinds(name))
        self._code = code
        self._module = module
        self._lowered = name
        self._device_id = device._ordinal
        self._descriptions = {}
        device._session._kernels[self._handle] = self
        return self

    def __eq__(self, other):
        """Whether it is the same kernel of the same loaded object."""
        if not isinstance(other, Kernel):
            return NotImplemented
        return self._module is other._module and self._lowered == other._lowered

    def __hash__(self):
        return hash((id(self._module), self._lowered))

    def _learn_kinds(self):
        """For a Python number that is an argument: see ObjectCode._parameter_kinds."""
        return self._code._learned_kinds(self._lowered)

    def _warn_of_argument(self, text):
        """For an argument that may not mean what it says."""
        warn_program(text)

    @classmethod
    def from_handle(cls, handle, mod=None):
        """The kernel of the current session that has this ``handle``. ``mod``: the ObjectCode that
        it is of; a warning says if it is not."""
        number = operator.index(handle)
        if mod is not None and not isinstance(mod, ObjectCode):
            raise TypeError(f"an ObjectCode expected, got {type(mod).__name__}")
        kernel = working_device()._session._kernels.get(number)
        if kernel is None:
            raise not_served("a CUkernel of this process", "ObjectCode.from_cubin(...).get_kernel")
        if mod is not None and mod is not kernel._code:
            import warnings

            warnings.warn(f"{mod!r} does not match the kernel's own, {kernel._code!r}", stacklevel=2)
        return kernel

    def _description(self, device_id):
        if device_id not in self._descriptions:
            self._descriptions[device_id] = self._describe(device_id, tuple(_ATTRIBUTES.values()))
        return self._descriptions[device_id]

    @property
    def name(self):
        """The name in the object."""
        return self._description(self._device_id)[0]

    @property
    def attributes(self):
        return KernelAttributes._of(self, self._device_id)

    @property
    def occupancy(self):
        return KernelOccupancy._of(self)

    @property
    def num_arguments(self):
        return len(self._description(self._device_id)[2])

    @property
    def arguments_info(self):
        """Offset and size of each parameter, in bytes."""
        return [ParamInfo(*pair) for pair in self._description(self._device_id)[2]]

    @property
    def handle(self):
        """The kernel's name in its session; not a CUkernel."""
        return self._handle

    def __repr__(self):
        return f"<Kernel handle={self._handle:#x}>"
