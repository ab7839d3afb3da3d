# SPDX-License-Identifier: Apache-2.0
"""The names that programs for cuda.core have used since 0.3 mean what they meant."""

import dataclasses
import os
import pickle
import warnings

import holdfast
import numpy as np
import pytest
from holdfast import core
from holdfast.core import (
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
    Buffer,
    Context,
    CUDAError,
    Device,
    DeviceMemoryResource,
    EventOptions,
    LaunchConfig,
    Linker,
    PinnedMemoryResource,
    Program,
    ProgramOptions,
    Stream,
    StreamOptions,
    launch,
    system,
    utils,
)
from holdfast.core import typing as names

_ADD = 'extern "C" __global__ void add(int* x, int by) { x[threadIdx.x] += by; }'


@pytest.fixture
def add(device):
    return Program(_ADD, "c++").compile("cubin").get_kernel("add")


# ---------------------------------------------------------------- options


def test_an_event_option_has_its_name_of_before_and_that_of_today():
    old = EventOptions(enable_timing=True, busy_waited_sync=True)
    assert old == EventOptions(timing_enabled=True, blocking_sync=True)
    assert old.enable_timing and old.timing_enabled
    old.enable_timing = False
    assert not old.timing_enabled
    assert EventOptions(support_ipc=True).ipc_enabled


def test_options_are_data_classes():
    options = EventOptions(timing_enabled=True)
    assert dataclasses.is_dataclass(options)
    assert "timing_enabled" in [field.name for field in dataclasses.fields(EventOptions)]
    assert dataclasses.asdict(options)["timing_enabled"] is True
    changed = dataclasses.replace(options, timing_enabled=False)
    assert changed == EventOptions(timing_enabled=False) and options.timing_enabled


def test_an_option_that_no_version_has_is_refused():
    with pytest.raises(TypeError, match="no field 'timing'"):
        EventOptions(timing=True)
    with pytest.raises(TypeError, match="timing_enabled was given twice"):
        EventOptions(timing_enabled=True, enable_timing=True)
    with pytest.raises(AttributeError, match="no field 'timing'"):
        EventOptions().timing = True


def test_a_dict_of_old_options_makes_an_event_that_has_a_time(device, stream):
    begin = device.create_event({"enable_timing": True})
    end = stream.record(options={"enable_timing": True})
    assert not begin.is_timing_disabled and not end.is_sync_busy_waited
    stream.record(begin)
    stream.record(end)
    end.sync()
    assert isinstance(end - begin, float)


def test_options_can_be_pickled():
    options = EventOptions(enable_timing=True)
    assert pickle.loads(pickle.dumps(options)) == options


def test_a_cooperative_launch_has_two_names(device, stream, add):
    config = LaunchConfig(grid=1, block=4, cooperative_launch=True)
    assert config == LaunchConfig(grid=1, block=4, is_cooperative=True)
    assert config.is_cooperative and config.cooperative_launch
    x = device.allocate(16, stream)
    x.fill(0, stream=stream)
    launch(stream, config, add, x, 7)
    assert (x.copy_to(np.empty(4, np.int32), stream=stream) == 7).all()


# ---------------------------------------------------------------- streams


def test_memory_can_be_allocated_without_a_stream(device, add):
    x = device.allocate(16)
    stream = device.default_stream
    x.fill(1, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=4), add, x, 1)
    assert (x.copy_to(np.empty(4, np.int32), stream=stream) == 0x01010102).all()


def test_default_streams_are_streams_of_the_current_device(device, other):
    assert LEGACY_DEFAULT_STREAM == device.default_stream
    assert hash(LEGACY_DEFAULT_STREAM) == hash(device.default_stream)
    assert PER_THREAD_DEFAULT_STREAM != LEGACY_DEFAULT_STREAM
    assert hash(PER_THREAD_DEFAULT_STREAM) != hash(LEGACY_DEFAULT_STREAM)
    assert LEGACY_DEFAULT_STREAM.device is device
    other.device(0).set_current()
    assert LEGACY_DEFAULT_STREAM.device is other.device(0)
    assert LEGACY_DEFAULT_STREAM == other.device(0).default_stream
    assert LEGACY_DEFAULT_STREAM != device.default_stream


@pytest.mark.parametrize("default", [LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM])
def test_a_default_stream_takes_all_work(device, stream, add, default):
    x = device.allocate(16, stream=default)
    x.fill(0, stream=default)
    launch(default, LaunchConfig(grid=1, block=4), add, x, 3)
    event = default.record()
    default.wait(stream)
    default.wait(event)
    stream.wait(default)
    assert (x.copy_to(np.empty(4, np.int32), stream=stream) == 3).all()
    default.sync()
    default.close()
    assert isinstance(default, Stream) and default.handle and default.is_nonblocking
    x.close(default)
    assert pickle.loads(pickle.dumps(default)) is default


def test_a_default_stream_can_be_recorded(device, add):
    x = device.allocate(16)
    x.fill(0, stream=LEGACY_DEFAULT_STREAM)
    builder = LEGACY_DEFAULT_STREAM.create_graph_builder().begin_building()
    launch(builder, LaunchConfig(grid=1, block=4), add, x, 5)
    graph = builder.end_building().complete()
    graph.launch(LEGACY_DEFAULT_STREAM)
    graph.launch(LEGACY_DEFAULT_STREAM)
    assert (x.copy_to(np.empty(4, np.int32), stream=LEGACY_DEFAULT_STREAM) == 10).all()


def test_the_default_stream_is_each_threads_own_if_a_variable_says_so(device, monkeypatch):
    monkeypatch.setenv("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", "1")
    assert device.default_stream == PER_THREAD_DEFAULT_STREAM
    assert core.default_stream() == PER_THREAD_DEFAULT_STREAM


def test_a_stream_is_found_by_its_handle(device, stream, add):
    found = Stream.from_handle(int(stream.handle))
    assert found == stream and hash(found) == hash(stream) and found != device.create_stream()
    assert {stream: 1}[found] == 1
    found.close()  # borrowed: the stream stays
    x = device.allocate(16, found)
    x.fill(0, stream=found)
    launch(found, LaunchConfig(grid=1, block=4), add, x, 1)
    stream.sync()
    assert Stream.from_handle(0) is LEGACY_DEFAULT_STREAM
    assert stream != "a stream" and (stream == 7) is False


def test_a_number_that_is_no_stream_of_the_session_is_refused(device):
    with pytest.raises(NotImplementedError, match="CUstream of this process"):
        Stream.from_handle(0x5555_0000_0000)


def test_an_object_that_stands_for_a_stream_gives_that_stream(device, stream):
    class Wrapper:
        def __cuda_stream__(self):
            return stream.__cuda_stream__()

    assert device.create_stream(Wrapper()) == stream
    assert device.create_stream(stream) == stream
    with pytest.raises(NotImplementedError):  # another library would take it for a pointer
        stream.__cuda_stream__()
    with pytest.raises(TypeError, match="__cuda_stream__"):
        device.create_stream(object())


def test_streams_and_events_tell_their_context(device, stream):
    assert stream.context == stream.record().context == device.context
    assert hash(stream.context) == hash(device.context)
    assert stream.context.handle and not stream.context.is_green
    assert stream.context != "a context"
    own = device.context.create_stream(StreamOptions(priority=0))
    assert own.device is device
    with pytest.raises(RuntimeError, match="cannot be instantiated directly"):
        Context()


# ---------------------------------------------------------------- programs


def test_ptx_is_linked_by_either_name(device):
    ptx = Program(_ADD, "c++").compile("ptx").code.decode()
    program = Program(ptx, names.SourceCodeType.PTX)
    assert program.link(names.ObjectCodeFormatType.CUBIN).get_kernel("add").num_arguments == 2
    assert program.backend is names.CompilerBackendType.NVJITLINK
    assert Program(_ADD, "c++").backend is names.CompilerBackendType.NVRTC


def test_a_linker_tells_its_backend(device):
    options = ProgramOptions(relocatable_device_code=True)
    linker = Linker(Program(_ADD, "c++", options).compile("ptx"))
    assert linker.backend == Linker.which_backend() == names.CompilerBackendType.NVJITLINK


def test_attributes_of_a_kernel_are_properties_and_methods(device, add):
    attributes = add.attributes
    assert attributes.max_threads_per_block() == attributes.max_threads_per_block >= 1
    assert attributes.num_regs(device) == attributes[device].num_regs


# ---------------------------------------------------------------- graphs


def test_a_graph_is_printed(device, stream, add, capsys, tmp_path):
    x = device.allocate(16, stream)
    builder = device.create_graph_builder().begin_building()
    launch(builder, LaunchConfig(grid=1, block=4), add, x, 1)
    builder.end_building().complete()
    options = core.graph.GraphDebugPrintOptions(verbose=True, kernel_node_params=True)
    builder.debug_print(options=options)
    assert "digraph" in (printed := capsys.readouterr().out) and "add" in printed
    builder.graph_definition.debug_print(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == printed


def test_memory_for_a_graph_builder_is_the_graphs(device, stream):
    builder = stream.create_graph_builder().begin_building()
    x = device.allocate(16, stream=builder)
    x.fill(9, stream=builder)
    graph = builder.end_building().complete()
    graph.launch(stream)
    assert (x.copy_to(np.empty(16, np.uint8), stream=stream) == 9).all()


def test_a_definition_has_its_methods_of_before(device, stream):
    definition = core.graph.GraphDef()
    condition = definition.create_condition(default_value=0)
    event = device.create_event()
    memory = definition.alloc(64)
    memory.memset(memory.dptr, 1, 64).record_event(event).free(memory.dptr)
    definition.if_cond(condition).then.empty()
    assert isinstance(condition, core.graph.Condition)
    definition.instantiate().launch(stream)
    stream.sync()


# ---------------------------------------------------------------- modules


def test_a_value_by_name_is_a_str():
    cubin = names.ObjectCodeFormatType.CUBIN
    assert cubin == "cubin" and str(cubin) == f"{cubin}" == "cubin"
    assert names.ObjectCodeFormatType("ptx") is names.ObjectCodeFormatType.PTX
    assert pickle.loads(pickle.dumps(cubin)) is cubin
    assert isinstance(LEGACY_DEFAULT_STREAM, names.IsStreamType)


def test_the_system_is_the_sessions(session, device):
    assert system.get_num_devices() == system.num_devices == len(session.devices)
    assert system.devices == Device.get_all_devices()
    major, minor = system.driver_version
    assert (major, minor) == system.get_user_mode_driver_version() >= (12, 0)
    seen = device.to_system_device()
    assert seen == system.Device(index=0) == system.Device(uuid=f"GPU-{device.uuid}")
    assert seen.to_cuda_device() is device and seen.name == device.name
    assert [d.index for d in system.Device.get_all_devices()] == list(range(len(session.devices)))
    with pytest.raises(NotImplementedError, match="NVML"):
        seen.temperature  # noqa: B018
    with pytest.raises(ValueError, match="index=99"):
        system.Device(index=99)


def test_experimental_is_the_same_package():
    import holdfast.core.experimental as experimental
    from holdfast.core.experimental import utils as old_utils
    from holdfast.core.experimental.graph import GraphBuilder

    assert experimental.Device is Device and old_utils is utils
    assert experimental.__version__ == core.__version__ >= "1.2"
    assert GraphBuilder is core.graph.GraphBuilder is experimental.GraphBuilder
    assert set(core.__all__) <= set(dir(experimental))


def test_exceptions_are_where_programs_have_them_from():
    from holdfast.core._utils.cuda_utils import ComputeCapability, CUDAError, NVRTCError

    assert (CUDAError, NVRTCError) == (core.CUDAError, core.NVRTCError)
    assert ComputeCapability is core.ComputeCapability
    assert issubclass(core.CUDAWarning, Warning)


@pytest.mark.parametrize(
    "name", ["ManagedMemoryResource", "VirtualMemoryResource", "TensorMapDescriptor", "SMResource"]
)
def test_a_class_that_is_not_served_says_so_when_an_object_is_made(name):
    cls = getattr(core, name)
    with pytest.raises(NotImplementedError, match="is not served by Holdfast: "):
        cls()


def test_textures_can_be_imported_but_not_made():
    from holdfast.core.texture import TextureObject

    with pytest.raises(NotImplementedError, match="a texture is not served"):
        TextureObject.from_descriptor()


# ---------------------------------------------------------------- copies


def test_many_buffers_are_copied_by_one_call(device, stream):
    srcs = [device.allocate(16, stream) for _ in range(3)]
    dsts = [device.allocate(16, stream) for _ in range(3)]
    for value, src in enumerate(srcs):
        src.fill(value, stream=stream)
    options = utils.CopyOptions(src_access_order="during_api_call")
    utils.copy_batch(stream, srcs, dsts, options=options)
    for value, dst in enumerate(dsts):
        assert (dst.copy_to(np.empty(16, np.uint8), stream=stream) == value).all()


def test_a_batch_that_does_not_match_copies_nothing(device, stream):
    src, dst, short = (device.allocate(size, stream) for size in (16, 16, 8))
    dst.fill(1, stream=stream)
    src.fill(2, stream=stream)
    with pytest.raises(ValueError, match="at 1"):
        utils.copy_batch(stream, [src, src], [dst, short])
    with pytest.raises(ValueError, match="srcs has 2 Buffers, dsts 1"):
        utils.copy_batch(stream, [src, src], [dst])
    with pytest.raises(ValueError, match="options length 2"):
        utils.copy_batch(stream, [src], [dst], options=[utils.CopyOptions()] * 2)
    with pytest.raises(TypeError, match="sequence of Buffers"):
        utils.copy_batch(stream, src, [dst])
    with pytest.raises(TypeError, match="LEGACY_DEFAULT_STREAM"):
        utils.copy_batch(LEGACY_DEFAULT_STREAM, [src], [dst])
    builder = stream.create_graph_builder().begin_building()
    for recorded in (builder, stream):
        with pytest.raises(TypeError, match="copy_batch does not accept"):
            utils.copy_batch(recorded, [src], [dst])
    builder.close()
    assert (dst.copy_to(np.empty(16, np.uint8), stream=stream) == 1).all()


def test_copy_options_are_checked_when_they_are_made():
    options = utils.CopyOptions("any", overlap_mode=utils.MemcpyOverlapMode.DEFAULT)
    assert options.src_access_order is utils.MemcpySrcAccessOrder.ANY
    assert options == utils.CopyOptions("any") and hash(options) == hash(utils.CopyOptions("any"))
    with pytest.raises(ValueError, match="invalid src_access_order: 'soon'"):
        utils.CopyOptions("soon")
    with pytest.raises(AttributeError):
        options.overlap_mode = "default"


# ---------------------------------------------------------------- handles and texts


def test_work_goes_to_the_stream_that_an_object_stands_for(device, stream, add):
    class Wrapper:
        def __cuda_stream__(self):
            return stream.__cuda_stream__()

    x = device.allocate(16, stream)
    x.fill(0, stream=stream)
    with pytest.warns(DeprecationWarning, match="foreign stream objects.*is deprecated"):
        launch(Wrapper(), LaunchConfig(grid=1, block=4), add, x, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(stream, LaunchConfig(grid=1, block=4), add, x, 0)
        launch(LEGACY_DEFAULT_STREAM, LaunchConfig(grid=1, block=4), add, x, 0)
    assert (x.copy_to(np.empty(4, np.int32), stream=Wrapper()) == 2).all()


@pytest.mark.parametrize("told, message", [
    ((1, 0), "must be 0, got 1"), ((0, 1, 2), "got 3 elements"), (7, "got <class 'int'>"),
])  # fmt: skip
def test_what_stands_for_no_stream_is_refused(device, told, message):
    class Wrapper:
        def __cuda_stream__(self):
            return told

    with pytest.raises(RuntimeError, match=message):
        device.create_stream(Wrapper())


def test_a_stream_told_by_an_attribute_is_taken_with_a_warning(device, stream):
    class Wrapper:
        __cuda_stream__ = (0, int(stream.handle))

    with pytest.warns(DeprecationWarning, match="as an attribute is deprecated"):
        assert device.create_stream(Wrapper()) == stream


def test_a_part_of_a_buffer_is_made_by_its_handle(device, stream, add):
    whole = device.allocate(64, stream)
    whole.fill(0, stream=stream)
    part = Buffer.from_handle(whole.handle + 16, 16)
    launch(stream, LaunchConfig(grid=1, block=4), add, part, 7)
    found = whole.copy_to(np.empty(16, np.int32), stream=stream)
    assert found.tolist() == [0] * 4 + [7] * 4 + [0] * 8
    part.close()
    assert whole.copy_to(np.empty(16, np.int32), stream=stream)[4] == 7


def test_a_kernel_is_found_by_its_handle(device, stream, add):
    assert core.Kernel.from_handle(int(add.handle)) is add
    found = core.Kernel.from_handle(add.handle, add._code)
    x = device.allocate(16, stream)
    x.fill(0, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=4), found, x, 6)
    assert (x.copy_to(np.empty(4, np.int32), stream=stream) == 6).all()
    other = Program(_ADD, "c++").compile("cubin")
    with pytest.warns(UserWarning, match="does not match"):
        core.Kernel.from_handle(add.handle, other)
    for wrong in ("a kernel", 2.5, None):
        with pytest.raises(TypeError):
            core.Kernel.from_handle(wrong)
    with pytest.raises(TypeError, match="an ObjectCode expected"):
        core.Kernel.from_handle(add.handle, "code")


def test_programs_and_linkers_have_a_number_as_a_handle(device):
    program = Program(_ADD, "c++")
    other = Program(_ADD, "c++")
    assert int(program.handle) and program.handle != other.handle
    code = Program(_ADD, "c++", ProgramOptions(relocatable_device_code=True)).compile("ptx")
    assert int(Linker(code).handle)


def test_default_streams_have_the_spelling_of_before_06(device):
    assert Stream.legacy_default() == LEGACY_DEFAULT_STREAM
    assert Stream.per_thread_default() == PER_THREAD_DEFAULT_STREAM


def test_the_version_of_cuda_has_three_parts_too(device):
    assert system.get_driver_version_full()[:2] == system.get_driver_version()


def test_objects_are_shown_by_their_handles(device, stream, add):
    assert repr(stream) == f"<Stream handle={stream.handle:#x} context=0x1>"
    assert repr(device.context) == "<Context handle=0x1 device=0>"
    event = stream.record()
    assert repr(event) == f"<Event handle={event.handle:#x}>"
    assert repr(add) == f"<Kernel handle={add.handle:#x}>"
    code = add._code
    assert repr(code) == f"<ObjectCode handle={code.handle:#x} code_type='cubin'>"
    assert "handle=0x0 " in repr(Program(_ADD, "c++").compile("ltoir"))


# ---------------------------------------------------------------- several devices


@pytest.fixture
def pair(monkeypatch):
    """Two devices of a private daemon."""
    if os.environ.get("HOLDFAST_TEST_DEVICE", "cpu") != "cpu":
        pytest.skip("the machine may have one device")
    monkeypatch.setenv("HOLDFAST_SOFTWARE_DEVICES", "2")
    with holdfast.connect("embedded:device=cpu") as session:
        session.device(0).set_current()
        yield session.devices
    holdfast._session.set_current_device(None)


def test_kernels_of_a_peer_use_memory_that_is_accessible_by_it(pair):
    owner, peer = pair
    memory = owner.memory_resource
    assert set(memory.peer_accessible_by) == set() and peer not in memory.peer_accessible_by
    x = owner.allocate(16)
    x.fill(0, stream=owner.default_stream)
    owner.sync()
    peer.set_current()
    add = Program(_ADD, "c++").compile("cubin").get_kernel("add")
    stream = peer.create_stream()
    one = LaunchConfig(grid=1, block=4)

    memory.peer_accessible_by = [peer]
    assert memory.peer_accessible_by == {peer} and 1 in memory.peer_accessible_by
    assert DeviceMemoryResource(owner).peer_accessible_by == {peer}
    launch(stream, one, add, x, 3)
    stream.sync()
    assert (x.copy_to(np.empty(4, np.int32), stream=owner.default_stream) == 3).all()

    memory.peer_accessible_by -= {peer}
    assert not memory.peer_accessible_by and memory.peer_accessible_by & {peer} == set()
    with pytest.raises(CUDAError):
        launch(stream, one, add, x, 3)
        stream.sync()


def test_the_devices_that_have_access_are_a_set(pair):
    owner, peer = pair
    access = owner.memory_resource.peer_accessible_by
    access.add(owner)  # always has it
    assert len(access) == 0
    access |= [1]
    access.add(peer)
    assert list(access) == [peer] and access | {owner} == {owner, peer}
    access ^= {peer}
    assert list(access) == []
    access.symmetric_difference_update([peer])
    access &= {owner}
    assert list(access) == [] and "no device" not in access
    access.discard(peer)
    access.update([peer], [owner])
    access.clear()
    assert repr(access) == "PeerAccess({})"
    with pytest.raises(ValueError, match="device_id=7"):
        access.add(7)


def test_a_part_of_pinned_memory_is_made_by_its_address(device, stream):
    whole = PinnedMemoryResource().allocate(64, stream=stream)
    array = np.frombuffer(whole.memory, np.uint8)
    array[:] = np.arange(64)
    part = Buffer.from_handle(array.ctypes.data + 16, 8)
    assert part.copy_to(np.empty(8, np.uint8), stream=stream).tolist() == list(range(16, 24))
    part.fill(0, stream=stream)
    stream.sync()
    assert array[15] == 15 and not array[16:24].any() and array[24] == 24
    same = Buffer.from_handle(array.ctypes.data, 64)
    assert same.is_device_accessible == whole.is_device_accessible
    with pytest.raises(ValueError, match="100 bytes at 16 of a Buffer of 64 bytes"):
        Buffer.from_handle(array.ctypes.data + 16, 100)


def test_buffers_of_the_same_bytes_are_equal(device, stream):
    whole = device.allocate(64, stream)
    same, part = Buffer.from_handle(whole.handle, 64), Buffer.from_handle(whole.handle + 16, 16)
    assert same == whole and hash(same) == hash(whole) and {whole: 1}[same] == 1
    assert part != whole and part.sub(4, 4) == whole.sub(20, 4)
    assert whole != device.allocate(64, stream) and (whole == 7) is False
    pinned = PinnedMemoryResource().allocate(64, stream=stream)
    array = np.frombuffer(pinned.memory, np.uint8)
    assert Buffer.from_handle(array.ctypes.data, 64) == pinned
    assert Buffer.from_handle(array.ctypes.data + 1, 63) != pinned


def test_an_event_of_another_process_is_passed_on(device, stream):
    event = stream.record(options={"ipc_enabled": True})
    there = pickle.loads(pickle.dumps(event))
    assert there.ipc_descriptor == event.ipc_descriptor
    assert (there.device, there.context) == (None, None) != (event.device, event.context)
    stream.wait(pickle.loads(pickle.dumps(there)))
    stream.sync()


@pytest.mark.parametrize("modules, error, message", [
    (42, TypeError, "must be a sequence of 2-tuples"),
    (["one"], TypeError, "Each extra module must be a 2-tuple"),
    ([(42, b"x")], TypeError, "Module name at index 0 must be a string"),
    ([("a", b"x"), ("b", 42)], TypeError, "Module source at index 1 must be str"),
    ([("a", b"")], ValueError, "Module source for 'a'.*cannot be empty"),
])  # fmt: skip
def test_modules_of_nvvm_are_checked_where_they_come_in(modules, error, message):
    with pytest.raises(error, match=message):
        core.ProgramOptions(extra_sources=modules)
