# SPDX-License-Identifier: Apache-2.0
from collections import namedtuple

from holdfast import _native, _session, _sharing
from holdfast.core._context import Context
from holdfast.core._event import Event, EventOptions
from holdfast.core._memory import DeviceMemoryResource, GraphMemoryResource
from holdfast.core._options import as_options, not_served
from holdfast.core._borrowed_stream import borrowed, default_stream_of
from holdfast.core._stream import Stream, StreamOptions, check_stream

_MAX_ORDINAL = 2**32 - 1

ComputeCapability = namedtuple("ComputeCapability", ("major", "minor"))


class DeviceProperties:
    """Every attribute of a device, by cuda.core's names: ``properties.multiprocessor_count``.

    The names are those of CU_DEVICE_ATTRIBUTE in lower case; ``dir()`` lists those of the driver,
    but for deprecated ones, which cuda.core does not have. An attribute that answers yes or no is a
    bool.
    """

    _DEPRECATED = frozenset((
        "can_use_stream_mem_ops_v1", "can_use_64_bit_stream_mem_ops_v1",
        "can_use_stream_wait_value_nor_v1", "cooperative_multi_device_launch",
    ))  # fmt: skip

    # Beside those that end in "_supported".
    _BOOLS = frozenset((
        "gpu_overlap", "kernel_exec_timeout", "integrated", "can_map_host_memory",
        "concurrent_kernels", "ecc_enabled", "tcc_driver", "unified_addressing", "managed_memory",
        "multi_gpu_board", "pageable_memory_access", "concurrent_managed_access",
        "can_use_host_pointer_for_registered_mem", "cooperative_launch", "can_flush_remote_writes",
        "pageable_memory_access_uses_host_page_tables", "direct_managed_mem_access_from_host",
        "cluster_launch", "can_use_64_bit_stream_mem_ops", "can_use_stream_wait_value_nor",
        "unified_function_pointers", "mps_enabled", "can_tex2d_gather",
    ))  # fmt: skip

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "DeviceProperties cannot be instantiated directly. Please use Device.properties."
        )

    @classmethod
    def _of(cls, attributes):
        self = object.__new__(cls)
        self._attributes = attributes
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            value = self._attributes[name]
        except KeyError:
            raise AttributeError(
                f"the driver of this device has no attribute {name!r}; dir() lists those it has"
            ) from None
        return bool(value) if name in self._BOOLS or name.endswith("_supported") else value

    def __dir__(self):
        return sorted(self._attributes.keys() - self._DEPRECATED)

    def __repr__(self):
        return f"<DeviceProperties: {len(dir(self))} names, which dir() lists>"


class Device:
    """A device of a session; the same object for the same thread, session and ordinal.

    ``Device()`` is the thread's current device, else the first of the process's own session, which
    is opened for it, with the daemon that ``holdfast.connect()`` finds.
    """

    def __new__(cls, device_id=None):
        if isinstance(device_id, Device):
            return device_id
        current = _session.current_device()
        if device_id is None and current is not None:
            return current
        session = _session.default_session() if current is None else current._session
        if device_id is None:
            device_id = session._ordinals[0]
        return cls._of(session, device_id)

    @classmethod
    def _of(cls, session, device_id):
        devices = session._thread.__dict__.setdefault("devices", {})
        device = devices.get(device_id)
        if device is not None:
            return device
        device_id = _native.whole_number("device_id", device_id, _MAX_ORDINAL)
        if device_id not in session._ordinals:
            raise ValueError(
                f"device_id={device_id}: the session's devices are {list(session._ordinals)}"
            )
        self = object.__new__(cls)
        self._session = session
        self._ordinal = device_id
        devices[device_id] = self
        return self

    @classmethod
    def get_all_devices(cls):
        """The devices of the current session."""
        return cls()._session.devices

    device_id = property(lambda self: self._ordinal, doc="The ordinal.")
    session = property(lambda self: self._session, doc="The session it belongs to.")

    def _info(self):
        return self._session._info(self._ordinal)

    @property
    def name(self):
        return self._info()["name"]

    @property
    def uuid(self):
        text = self._info()["uuid"].hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    @property
    def pci_bus_id(self):
        return self._info()["pci_bus_id"]

    @property
    def compute_capability(self):
        return ComputeCapability(*self._info()["compute_capability"])

    @property
    def arch(self):
        """``"90"``, for ``ProgramOptions(arch=f"sm_{device.arch}")``."""
        major, minor = self._info()["compute_capability"]
        return f"{major}{minor}"

    @property
    def properties(self):
        info = self._info()
        if "properties" not in info:
            info["properties"] = DeviceProperties._of(info["attributes"])
        return info["properties"]

    @property
    def total_memory(self):
        """Bytes."""
        return self._info()["total_memory"]

    @property
    def is_software(self):
        """Whether this is Holdfast's software device, which runs kernels on the CPU."""
        return self._info()["is_software"]

    def can_access_peer(self, peer):
        """Whether kernels of this device can be given access to the peer's memory; its own is."""
        ordinal = Device(peer)._ordinal
        return ordinal == self._ordinal or self._session._can_access_peer(self._ordinal, ordinal)

    def set_current(self, ctx=None):
        """Makes this the device of ``Device()``, Program and the memory resources of this thread.

        Args:
            ctx: the device's context, which is always current. With it, the context of the device
                before is returned.
        """
        if ctx is not None:
            if not isinstance(ctx, Context):
                raise TypeError(f"a Context expected, got {type(ctx).__name__}")
            if ctx != self.context:
                raise RuntimeError(f"{ctx!r} is of another device than {self!r}")
        previous = _session.current_device()
        _session.set_current_device(self)
        if ctx is not None:
            return None if previous is None else previous.context
        return None

    @property
    def context(self):
        return Context._of(self)

    @property
    def memory_resource(self):
        return self._session._resources.setdefault(
            self._ordinal, DeviceMemoryResource._of(self)
        )

    @memory_resource.setter
    def memory_resource(self, resource):
        self._session._resources[self._ordinal] = resource

    @property
    def default_stream(self):
        """A stream of the session; no other session shares it."""
        return default_stream_of(self)

    def create_stream(self, obj=None, options=None):
        """Makes a stream, or, with ``obj``, one more object for a stream of the session. A stream
        of another library is not served."""
        if isinstance(obj, (StreamOptions, dict)):
            raise TypeError("options are given by name: create_stream(options=...)")
        if obj is not None:
            return borrowed(self._session, obj)
        return Stream._make(self, as_options(StreamOptions, options))

    def create_event(self, options=None):
        options = as_options(EventOptions, options)
        if options.ipc_enabled:
            raise TypeError("IPC-enabled events must be bound; use Stream.record for creation.")
        return Event._make(self, options)

    def allocate(self, size, stream=None):
        """Allocates ``size`` bytes of the device, in the stream's order; None: the default
        stream's. A GraphBuilder's are its graph's."""
        stream = self.default_stream if stream is None else stream
        resource = self.memory_resource
        if type(resource) is DeviceMemoryResource and check_stream(stream)._builder is not None:
            resource = GraphMemoryResource(self)
        return resource.allocate(size, stream=stream)

    def sync(self):
        """Waits for all work of the session, and raises what has failed."""
        self._session.sync()

    def create_graph_builder(self):
        """A GraphBuilder with a stream of its own."""
        return self.create_stream().create_graph_builder()

    def create_context(self, options):
        raise not_served("a green context", "the executor has one context a device")

    @property
    def resources(self):
        raise not_served("a share of a device", "the executor has one context a device")

    def create_opaque_array(self, options):
        raise not_served("an array for textures", "read the Buffer, and interpolate in the kernel")

    create_mipmapped_array = create_opaque_array

    def create_texture_object(self, *, resource, options=None):
        raise not_served("a texture", "read the Buffer, and interpolate in the kernel")

    def create_surface_object(self, *, resource):
        raise not_served("a surface", "write the Buffer")

    def to_system_device(self):
        """What ``holdfast.core.system`` says of the device."""
        from holdfast.core.system import Device as SystemDevice

        return SystemDevice._of(self)

    def __int__(self):
        return self._ordinal

    __index__ = __int__

    def __eq__(self, other):
        return (
            isinstance(other, Device)
            and self._session is other._session
            and self._ordinal == other._ordinal
        )

    def __hash__(self):
        return hash((id(self._session), self._ordinal))

    def __reduce__(self):
        """The device of the same daemon: of the session that the other process has there."""
        return _sharing.device_at, (self._session.address, self._ordinal)

    def __repr__(self):
        return f"<Device {self._ordinal} ({self.name})>"

    def _repr_html_(self):
        from holdfast import _html

        return _html.card(self.name, (
            ("device", f"{self._ordinal} of session {self._session.id}"),
            ("memory", _html.bytes_of(self.total_memory)),
            ("compute capability", ".".join(map(str, self.compute_capability))),
        ))  # fmt: skip
