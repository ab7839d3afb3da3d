# SPDX-License-Identifier: Apache-2.0
"""holdfast.core behaves as cuda.core does."""

import ctypes
import io
import pickle
import sys

import holdfast
import numpy as np
import pytest
from holdfast import _progress
from holdfast.core import (
    Buffer,
    CUDAError,
    Device,
    DeviceMemoryResource,
    Event,
    EventOptions,
    Kernel,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Linker,
    LinkerOptions,
    NVRTCError,
    ObjectCode,
    PinnedMemoryResource,
    Program,
    ProgramOptions,
    Stream,
    StreamOptions,
    _buffer,
    launch,
)

SCALE = r"""
extern "C" __global__ void scale(float* data, float factor, size_t n) {
  size_t i = threadIdx.x + blockIdx.x * (size_t)blockDim.x;
  if (i < n) data[i] *= factor;
}
"""


def kernel_of(code, name, target="cubin", **options):
    return Program(code, "c++", ProgramOptions(**options)).compile(target).get_kernel(name)


# ---------------------------------------------------------------- devices


def test_a_device_is_the_same_object_for_its_ordinal(device):
    assert Device(0) is Device(0) is Device() is Device(Device(0)) is device
    assert int(device) == device.device_id == 0
    assert device in Device.get_all_devices()
    assert pickle.loads(pickle.dumps(device)) is device
    assert device.arch == "".join(map(str, device.compute_capability))
    assert device.compute_capability.major >= 7
    assert len(device.uuid) == 36 and device.name in repr(device)


def test_an_array_in_place_of_a_size_is_refused_with_the_way_out(device):
    with pytest.raises(TypeError, match="number of bytes, got ndarray: its nbytes"):
        device.allocate(np.zeros(3))
    assert device.allocate(np.int64(8)).size == device.allocate(np.array(8)).size == 8


def test_tables_of_attributes_say_what_they_are(device):
    assert "names, which dir() lists" in repr(device.properties)


def test_properties_are_the_drivers_attributes(device):
    assert device.properties.warp_size == 32
    assert device.properties.max_threads_per_block >= 1024
    assert device.properties.unified_addressing is True
    assert "multiprocessor_count" in dir(device.properties)
    # Deprecated attributes are told, and not listed.
    assert "cooperative_multi_device_launch" not in dir(device.properties)
    assert "can_use_64_bit_stream_mem_ops" in dir(device.properties)
    assert not any(name.endswith("_v1") for name in dir(device.properties))
    assert device.properties.cooperative_multi_device_launch in (0, 1)
    with pytest.raises(AttributeError, match="no_such"):
        device.properties.no_such


def test_an_ordinal_that_does_not_exist_is_refused(session):
    with pytest.raises(ValueError, match="-1"):
        Device(-1)
    with pytest.raises(ValueError, match="99"):
        Device(99)


# ------------------------------------------------- streams and events


def test_handles_are_made_by_devices_and_streams_only():
    for cls in Stream, Event, Buffer, ObjectCode, Kernel, holdfast.Session:
        with pytest.raises(RuntimeError):
            cls()


def test_stream_options(device):
    stream = device.create_stream(options=StreamOptions(nonblocking=False))
    assert not stream.is_nonblocking and stream.device is device
    assert device.create_stream(options={"priority": 0}).priority == 0
    stream.sync()
    stream.close()
    stream.close()
    with pytest.raises(RuntimeError, match="closed"):
        stream.sync()


def test_event_times_and_their_errors(device, stream):
    timed = EventOptions(timing_enabled=True)
    start, end, plain = device.create_event(timed), device.create_event(timed), device.create_event()
    with pytest.raises(RuntimeError, match="must be recorded"):
        end - start
    with pytest.raises(RuntimeError, match="timing enabled"):
        plain - start
    stream.record(start)
    assert stream.record(end) is end
    end.sync()
    assert end.is_done and end - start >= 0
    assert stream.record(options={"timing_enabled": True}).is_timing_enabled
    with pytest.raises(TypeError):
        end - 1


def test_streams_wait_for_each_other(device, stream):
    other = device.create_stream()
    buffer = device.allocate(1 << 20, stream=stream)
    buffer.fill(7, stream=stream)
    other.wait(stream)
    other.wait(stream.record())
    got = np.empty(1 << 20, np.uint8)
    buffer.copy_to(got, stream=other)
    assert (got == 7).all()
    with pytest.raises(ValueError):
        other.wait(None)


# ------------------------------------------------------------- memory


@pytest.mark.parametrize("size", [4, 4096, 1 << 20, 5_000_000])
def test_arrays_go_in_and_out(device, stream, size):
    array = np.random.default_rng(0).integers(0, 255, size, np.uint8)
    buffer = device.allocate(size, stream=stream)
    buffer.copy_from(array, stream=stream)
    array_copy = array.copy()
    array[:] = 0  # may be used again at once
    got = buffer.copy_to(np.empty(size, np.uint8), stream=stream)
    assert np.array_equal(got, array_copy)
    assert buffer.size == size and buffer.is_device_accessible and not buffer.is_host_accessible


def test_buffers_copy_fill_and_check_sizes(device, stream):
    resource = DeviceMemoryResource(device)
    a = resource.allocate(1024, stream=stream)
    a.fill(np.uint32(0x01020304), stream=stream)
    b = a.copy_to(stream=stream)
    assert isinstance(b, Buffer) and b.memory_resource is resource
    got = b.copy_to(np.empty(256, np.uint32), stream=stream)
    assert (got == 0x01020304).all()
    with pytest.raises(ValueError, match="mismatch"):
        a.copy_from(resource.allocate(8, stream=stream), stream=stream)
    with pytest.raises(ValueError, match="512"):
        a.copy_from(np.empty(512, np.uint8), stream=stream)
    with pytest.raises(OverflowError):
        a.fill(256, stream=stream)
    with pytest.raises(ValueError, match="1, 2, or 4"):
        a.fill(b"123", stream=stream)
    with pytest.raises(TypeError):
        a.fill("x", stream=stream)
    with pytest.raises(ValueError, match="divisible"):
        resource.allocate(6, stream=stream).fill(b"1234", stream=stream)
    with pytest.raises(TypeError, match="stream is required"):
        a.fill(1, stream=None)
    with pytest.raises(ValueError, match="contiguous"):
        a.copy_from(np.empty((512, 4), np.uint8)[:, ::2], stream=stream)
    a.close()
    a.close(stream)
    with pytest.raises(RuntimeError, match="closed"):
        a.copy_to(got, stream=stream)
    with resource.allocate(0, stream=stream) as empty:
        assert empty.size == 0


@pytest.mark.parametrize("kind", [PinnedMemoryResource, LegacyPinnedMemoryResource])
def test_pinned_memory_stages_copies(device, stream, kind):
    host = kind().allocate(4096, stream=stream)
    assert host.is_host_accessible and host.device_id == -1
    view = np.frombuffer(host.memory, np.float32)
    view[:] = np.arange(1024)
    buffer = device.allocate(4096, stream=stream)
    buffer.copy_from(host, stream=stream)
    other = buffer.copy_to(kind().allocate(4096, stream=stream), stream=stream)
    stream.sync()
    assert np.array_equal(np.frombuffer(other.memory, np.float32), np.arange(1024))


def test_pinned_memory_is_of_no_device():
    assert PinnedMemoryResource().device_id == -1
    assert LegacyPinnedMemoryResource().device_id == -1  # as cuda.core 1.3


def test_a_kernel_is_equal_to_itself(device):
    code = Program('extern "C" __global__ void a() {} extern "C" __global__ void b() {}', "c++")
    module = code.compile("cubin")
    one, again, other = (module.get_kernel(name) for name in ("a", b"a", "b"))
    assert one == again and hash(one) == hash(again) and len({one, again, other}) == 2
    assert one != other and one != "a"


def test_symbols_may_be_bytes_as_compilers_give_them(device):
    ptx = Program('extern "C" __global__ void lowered() {}', "c++").compile("ptx").code
    for name in ("lowered", b"lowered"):
        module = ObjectCode.from_ptx(ptx, symbol_mapping={"mine": name})
        assert module.get_kernel("mine").name == "lowered"
    with pytest.raises(TypeError, match="a name expected, got int"):
        ObjectCode.from_ptx(ptx, symbol_mapping={"mine": 1})


def test_a_program_may_have_no_name_and_one_with_a_folder(device, tmp_path):
    source = '#include "beside.h"\nextern "C" __global__ void k(int* x) { *x = BESIDE; }'
    assert Program("", "c++", ProgramOptions(name=None)).compile("ptx").name == "default_program"
    (tmp_path / "beside.h").write_text("#define BESIDE 42")
    name = str(tmp_path / "source.cu")
    assert Program(source, "c++", ProgramOptions(name=name)).compile("ptx").name == name
    with pytest.raises(NVRTCError, match="beside.h"):
        Program(source, "c++", ProgramOptions(name="source.cu")).compile("ptx")


def test_macros_are_names_pairs_and_one_list_of_them(device):
    ProgramOptions(define_macro=["A", ("B", "1 + 2")]).as_bytes()
    with pytest.raises(RuntimeError, match="define_macro"):
        ProgramOptions(define_macro=[["A", "1"], ["B", "2"]]).as_bytes()


def test_a_context_is_set_with_its_own_device(device, address):
    assert device.set_current(device.context) == device.context
    with pytest.raises(TypeError, match="a Context expected, got int"):
        device.set_current(5)
    with holdfast.connect(address) as other:
        with pytest.raises(RuntimeError, match="is of another device"):
            device.set_current(other.device(0).context)
    assert Device() is device


def test_a_device_can_access_itself(device):
    assert device.can_access_peer(device) and device.can_access_peer(device.device_id)


@pytest.mark.parametrize("kind", [PinnedMemoryResource, LegacyPinnedMemoryResource])
def test_kernels_use_pinned_memory_in_place_where_the_daemon_is_here(address, stream, kind):
    host = kind().allocate(4096, stream=stream)
    view = np.frombuffer(host.memory, np.float32)
    view[:] = 2
    kernel = kernel_of(SCALE, "scale")
    config = LaunchConfig(grid=2, block=256)
    arguments = host.handle + 2048, np.float32(3), np.uint64(512)
    assert host.is_device_accessible == address.startswith("unix:")
    if not host.is_device_accessible:
        with pytest.raises(ValueError, match="daemon is on another machine"):
            launch(stream, config, kernel, *arguments)
        return
    launch(stream, config, kernel, *arguments)
    builder = stream.device.create_graph_builder().begin_building()
    launch(builder, config, kernel, host, np.float32(0.5), np.uint64(512))
    builder.end_building().complete().launch(stream)
    stream.sync()
    assert (view[:512] == 1).all() and (view[512:] == 6).all()


def test_pinned_memory_is_given_to_numpy_by_dlpack(embedded):
    with holdfast.connect(embedded) as session:
        stream = session.device(0).create_stream()
        host = PinnedMemoryResource().allocate(64, stream=stream)
        array = np.from_dlpack(host)
        # NumPy makes what it takes by DLPack read-only before 2.1.
        np.frombuffer(host.memory, np.uint8)[:] = 3
        assert array.shape == (64,) and (array == 3).all()
        host.close()
        assert (array == 3).all()  # the array keeps the memory
        with pytest.raises(BufferError, match="in the daemon"):
            np.from_dlpack(session.device(0).allocate(4, stream=stream))


def test_arena_arrays_are_copied_in_place(device, stream, session):
    array = holdfast.empty_pinned((300, 400), np.float32)
    assert array.shape == (300, 400) and array.dtype == np.float32
    array[:] = np.arange(400)
    buffer = device.allocate(array.nbytes, stream=stream)
    buffer.copy_from(array, stream=stream)
    stream.sync()
    array[:] = 0
    rows = array[100:200]
    part = device.allocate(rows.nbytes, stream=stream)
    part.copy_from(rows, stream=stream)
    buffer.copy_to(array, stream=stream)
    stream.sync()
    assert (array == np.arange(400)).all()
    part.copy_to(rows, stream=stream)
    stream.sync()
    assert (array[100:200] == 0).all() and (array[200] == np.arange(400)).all()


# ---------------------------------------------- compiling and launching


@pytest.mark.parametrize("target", ["cubin", "ptx"])
def test_a_kernel_computes(device, stream, target):
    kernel = kernel_of(SCALE, "scale", target, arch=f"sm_{device.arch}")
    data = np.arange(1000, dtype=np.float32)
    buffer = device.allocate(data.nbytes, stream=stream)
    buffer.copy_from(data, stream=stream)
    config = LaunchConfig(grid=4, block=256)
    launch(stream, config, kernel, buffer, np.float32(3), np.uint64(1000))
    launch(stream, {"grid": 4, "block": 256}, kernel, buffer.handle + 400, np.float32(2), 900)
    expected = data * 3
    expected[100:] *= 2
    assert np.array_equal(buffer.copy_to(np.empty_like(data), stream=stream), expected)


ARGUMENTS = r"""
struct Pair { int a; double b; };
template <typename T> __global__ void put(T* out, T value) { *out = value; }
extern "C" __global__ void pair(double* out, Pair p) { *out = p.a + p.b; }
extern "C" __global__ void complex(double* out, double2 z) { out[0] = z.x; out[1] = z.y; }
"""


@pytest.mark.parametrize(
    "cpp, value, dtype",
    [
        ("bool", True, np.bool_),
        ("signed char", np.int8(-5), np.int8),
        ("short", np.int16(-300), np.int16),
        ("int", -70000, np.int32),
        ("int", ctypes.c_int32(-7), np.int32),
        ("long long", -(1 << 40), np.int64),
        ("unsigned long long", (1 << 64) - 1, np.uint64),
        ("unsigned", 0xFFFFFFFF, np.uint32),
        ("float", np.float32(1.5), np.float32),
        ("float", ctypes.c_float(2.5), np.float32),
        ("double", 0.1, np.float64),
        ("double", np.float64(0.2), np.float64),
    ],
)
def test_scalars_arrive_as_they_are(device, stream, cpp, value, dtype):
    name = f"put<{cpp}>"
    kernel = Program(ARGUMENTS, "c++").compile("cubin", (name,)).get_kernel(name)
    out = device.allocate(np.dtype(dtype).itemsize, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, out, value)
    got = out.copy_to(np.empty(1, dtype), stream=stream)[0]
    assert got == getattr(value, "value", value)


def test_structs_and_complex_arrive(device, stream):
    module = Program(ARGUMENTS, "c++").compile("cubin")
    config = LaunchConfig(grid=1, block=1)
    out = device.allocate(16, stream=stream)
    got = np.empty(2)
    pair = np.zeros((), np.dtype([("a", np.int32), ("b", np.float64)], align=True))
    pair["a"], pair["b"] = 3, 0.5
    launch(stream, config, module.get_kernel("pair"), out, pair[()])
    assert out.copy_to(got, stream=stream)[0] == 3.5

    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]

    launch(stream, config, module.get_kernel("pair"), out, Pair(4, 0.25))
    assert out.copy_to(got, stream=stream)[0] == 4.25
    for value in 1 + 2j, np.complex128(1 + 2j):
        launch(stream, config, module.get_kernel("complex"), out, value)
        assert list(out.copy_to(got, stream=stream)) == [1, 2]


def test_wrong_arguments_are_refused_before_the_launch(device, stream):
    kernel = kernel_of(SCALE, "scale")
    config = LaunchConfig(grid=1, block=1)
    buffer = device.allocate(4, stream=stream)
    good = (buffer, np.float32(1), np.uint64(1))
    for wrong in None, "text", np.zeros(2, np.float32), b"12345678", object():
        with pytest.raises(TypeError, match="unsupported type"):
            launch(stream, config, kernel, wrong, *good[1:])
    with pytest.raises(TypeError, match="numpy.float32"):
        launch(stream, config, kernel, buffer, 1.0, np.uint64(1))
    with pytest.raises(ValueError, match="3 parameters, 2"):
        launch(stream, config, kernel, *good[:2])
    with pytest.raises(OverflowError):
        launch(stream, config, kernel, buffer, np.float32(1), 1 << 64)
    with pytest.raises(TypeError, match="stream is required"):
        launch(None, config, kernel, *good)
    with pytest.raises(TypeError):
        launch(stream, config, "kernel", *good)
    with pytest.raises(TypeError, match="Buffers, numbers"):
        launch(stream, config, kernel, [1], *good[1:])
    with pytest.raises(TypeError, match=r"argument 1: numpy.float64 has 8 bytes.*pass numpy.float32"):
        launch(stream, config, kernel, buffer, np.float64(1), np.uint64(1))
    buffer.close()
    with pytest.raises(RuntimeError, match="closed"):
        launch(stream, config, kernel, *good)
    stream.sync()


def test_what_stands_in_place_of_a_stream_is_named(device, stream):
    kernel = kernel_of(SCALE, "scale")
    config = LaunchConfig(grid=1, block=1)
    order = r"launch\(stream, config, kernel, \*kernel_args\), got "
    with pytest.raises(TypeError, match=order + "LaunchConfig, Stream, Kernel") as raised:
        launch(config, stream, kernel)
    assert raised.value.__suppress_context__
    with pytest.raises(TypeError, match=order + "Stream, Kernel, LaunchConfig"):
        launch(stream, kernel, config)
    with pytest.raises(TypeError, match=r"got int; Device.create_stream\(\) makes one"):
        launch(0, config, kernel)


@pytest.mark.parametrize("name", ["copy_to_host", "cpu", "get", "numpy", "tobytes"])
def test_other_librarys_names_of_a_copy_lead_to_copy_to(device, stream, name):
    buffer = device.allocate(4, stream=stream)
    with pytest.raises(AttributeError, match=rf"no {name}: copy_to\(array, stream=stream\)"):
        getattr(buffer, name)


@pytest.mark.parametrize("dim", [0, -1, (1, 0), (1, 1, 1, 1), "1", None])
def test_launch_configurations_are_checked(dim):
    with pytest.raises((ValueError, TypeError)):
        LaunchConfig(grid=dim, block=1)


def test_launch_configurations_are_values():
    config = LaunchConfig(grid=(2, 3), block=32, shmem_size=64, is_cooperative=True)
    assert config.grid == (2, 3, 1) and config.block == (32, 1, 1) and config.shmem_size == 64
    assert config == LaunchConfig((2, 3), None, 32, 64, True) != LaunchConfig(grid=1, block=1)
    assert LaunchConfig(grid=1, cluster=2, block=1).cluster == (2, 1, 1)


def test_a_launch_that_the_device_refuses_is_refused_at_once(device, stream):
    kernel = kernel_of(SCALE, "scale")
    buffer = device.allocate(4, stream=stream)
    with pytest.raises(CUDAError, match="4096") as caught:
        launch(stream, LaunchConfig(grid=1, block=4096), kernel, buffer, np.float32(1), 1)
    assert caught.value.code == "OUT_OF_RANGE" and isinstance(caught.value, ValueError)
    stream.sync()


CLUSTER = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each thread reads what the same thread of the next block of its cluster wrote.
extern "C" __global__ void ring(unsigned* out) {
  __shared__ unsigned mine[32];
  cg::cluster_group cluster = cg::this_cluster();
  mine[threadIdx.x] = 1000 * cluster.block_rank() + threadIdx.x;
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  unsigned* there = cluster.map_shared_rank(mine, next);
  unsigned found = there[threadIdx.x] + 100000 * cluster.query_shared_rank(there);
  out[blockIdx.x * blockDim.x + threadIdx.x] = found;
  cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2) pairs() {}
"""


@pytest.fixture
def clusters(device):
    if not device.properties.cluster_launch:
        pytest.skip("the device has no clusters")
    options = ProgramOptions(arch=f"sm_{device.arch}")
    return Program(CLUSTER, "c++", options).compile("cubin")


def rings(grid, cluster):
    nexts = [(block % cluster + 1) % cluster for block in range(grid * cluster)]
    return [101000 * n + thread for n in nexts for thread in range(32)]


@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_blocks_of_a_cluster_reach_each_others_shared_memory(device, stream, clusters, blocks):
    out = device.allocate(4 * 32 * 5 * blocks, stream=stream)
    config = LaunchConfig(grid=5, cluster=blocks, block=32)
    launch(stream, config, clusters.get_kernel("ring"), out)
    found = out.copy_to(np.empty(32 * 5 * blocks, np.uint32), stream=stream)
    assert found.tolist() == rings(5, blocks)


def test_a_graphs_kernel_keeps_its_cluster(device, stream, clusters):
    out = device.allocate(4 * 32 * 6, stream=stream)
    stream.sync()
    builder = device.create_graph_builder().begin_building()
    config = LaunchConfig(grid=3, cluster=2, block=32)
    launch(builder, config, clusters.get_kernel("ring"), out)
    graph = builder.end_building().complete()
    for _ in range(2):
        out.fill(0, stream=stream)
        graph.launch(stream)
        found = out.copy_to(np.empty(32 * 6, np.uint32), stream=stream)
        assert found.tolist() == rings(3, 2)


def test_clusters_that_are_not_possible_are_refused(stream, clusters):
    ring, pairs = clusters.get_kernel("ring"), clusters.get_kernel("pairs")
    for config, kernel in (
        (LaunchConfig(grid=1, cluster=9, block=32), ring),
        (LaunchConfig(grid=3, block=32), pairs),
        (LaunchConfig(grid=1, cluster=4, block=32), pairs),
    ):
        with pytest.raises(CUDAError, match="cluster"):
            launch(stream, config, kernel, *([0] if kernel is ring else []))
            stream.sync()
    launch(stream, LaunchConfig(grid=2, block=32), pairs)
    stream.sync()


def test_a_kernel_says_which_clusters_it_may_have(clusters):
    ring, pairs = clusters.get_kernel("ring"), clusters.get_kernel("pairs")
    assert pairs.attributes.required_cluster_width == 2
    assert pairs.attributes.required_cluster_height == 1
    assert pairs.attributes.cluster_size_must_be_set
    assert ring.attributes.required_cluster_width == 0
    config = LaunchConfig(grid=2, cluster=2, block=32)
    assert ring.occupancy.max_potential_cluster_size(config) >= 8
    assert ring.occupancy.max_active_clusters(config) >= 1


def test_compile_errors_have_the_log(device):
    bad = 'extern "C" __global__ void k() { not_a_real_symbol; }'
    with pytest.raises(NVRTCError, match="compilation log") as caught:
        Program(bad, "c++").compile("cubin")
    assert 'identifier "not_a_real_symbol" is undefined' in str(caught.value)
    assert "not_a_real_symbol" in caught.value.log
    assert str(caught.value).count("is undefined") == 1


def test_a_module_that_does_not_load_is_no_source(device):
    broken = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }"
    with pytest.raises(CUDAError) as caught:
        ObjectCode.from_ptx(broken).get_kernel("k")
    assert not isinstance(caught.value, NVRTCError)



def test_program_options(device, stream):
    code = '#include "tile.h"\nextern "C" __global__ void k(int* x) { *x = TILE + EXTRA; }'
    kernel = kernel_of(
        code,
        "k",
        headers={"tile.h": "#define TILE 40"},
        define_macro=[("EXTRA", "2"), "OTHER"],
        std="c++17",
        fma=False,
    )
    out = device.allocate(4, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, out)
    assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 42
    assert ProgramOptions(fma=False, arch="sm_90").as_bytes("nvrtc") == [
        b"-arch=sm_90",
        b"--fmad=false",
    ]
    with pytest.raises(TypeError, match="no_such"):
        ProgramOptions(no_such=1)
    with pytest.raises(RuntimeError, match="fortran"):
        Program("", "fortran")
    with pytest.raises(ValueError, match="object"):
        Program("", "c++").compile("object")


def test_options_are_spelled_as_the_backend_wants_them(device):
    options = ProgramOptions(arch="sm_80", ftz=True, fma=False, link_time_optimization=True)
    assert options.as_bytes("NVVM") == [b"-arch=compute_80", b"-ftz=1", b"-fma=0", b"-gen-lto"]
    assert options.as_bytes("nvjitlink") == [b"-arch=sm_80", b"-lto", b"-ftz=true", b"-fma=false"]
    arch = f"-arch=sm_{device.arch}".encode()
    assert ProgramOptions(split_compile=0).as_bytes("nvrtc") == [arch, b"--split-compile=0"]
    assert LinkerOptions(split_compile=0).as_bytes() == [arch, b"-split-compile=0"]
    assert ProgramOptions(include_path=["/a", "/b"], pch=True).as_bytes("nvrtc") == [
        arch, b"--include-path=/a", b"--include-path=/b", b"--pch",
    ]  # fmt: skip
    assert b"-gen-lto" in ProgramOptions().as_bytes("nvvm", "ltoir")
    with pytest.raises(ValueError, match="nonsense"):
        options.as_bytes("nonsense")
    for field in "restrict", "lineinfo":
        with pytest.raises(CUDAError, match=f"{field} is not supported by NVVM backend"):
            ProgramOptions(**{field: True}).as_bytes("nvvm")
    linking = LinkerOptions(arch="sm_80", ptx=True, optimization_level=3)
    assert linking.as_bytes() == [b"-arch=sm_80", b"-ptx", b"-O3"]
    for backend in "nonsense", "driver":
        with pytest.raises(ValueError, match=f"only supports 'nvjitlink' backend, got '{backend}'"):
            linking.as_bytes(backend)


def test_headers_of_this_machine_are_sent(device, stream, tmp_path):
    for folder in "tiles", "more":
        (tmp_path / folder).mkdir()
    (tmp_path / "tiles" / "tile.h").write_text('#pragma once\n#include "size.h"\n')
    (tmp_path / "tiles" / "size.h").write_text("#define SIZE 40\n")
    (tmp_path / "more" / "size.h").write_text("#define MORE_SIZE 2\n")
    (tmp_path / "first.h").write_text("#define FIRST 100\n")
    code = """#include <tiles/tile.h>
#include "more/size.h"
#include <cuda_fp16.h>
extern "C" __global__ void k(int* x) { *x = SIZE + MORE_SIZE + FIRST; }"""
    out = device.allocate(4, stream=stream)
    for path in tmp_path, [str(tmp_path), "/no/such/folder"]:
        options = dict(include_path=path, pre_include=str(tmp_path / "first.h"))
        launch(stream, LaunchConfig(grid=1, block=1), kernel_of(code, "k", **options), out)
        assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 142
    # The lines of the source keep their numbers.
    with pytest.raises(NVRTCError, match=r"default_program\(2\)"):
        Program("int a;\n!", "c++", options).compile("ptx")


def test_options_without_effect_are_taken(device, tmp_path):
    options = ProgramOptions(
        pch=True,
        pch_dir=str(tmp_path),
        no_source_include=True,
        use_bundled_headers=True,
        time=True,
        fdevice_time_trace=str(tmp_path / "trace"),
    )
    program = Program(SCALE, "c++", options)
    assert program.pch_status is None
    assert b"scale" in program.compile("ptx").code
    assert program.pch_status == "not_attempted"
    assert list(tmp_path.iterdir()) == []


def test_hints_of_ptx_and_of_links_are_taken(device, stream):
    ptx = Program(SCALE, "c++", dict(relocatable_device_code=True)).compile("ptx")
    assert b"\0" not in ptx.code
    hints = dict(max_register_count=32, lineinfo=True, fma=True, ftz=False, split_compile=0)
    program = Program(ptx.code.decode(), "ptx", ProgramOptions(**hints))
    linking = LinkerOptions(optimization_level=3, verbose=True, time=True, no_cache=True, **hints)
    for target in "cubin", "ptx":
        for code in program.compile(target), Linker(ptx, options=linking).link(target):
            assert code.get_kernel("scale").num_arguments == 3


def test_link_time_optimization_is_for_linked_ptx_too(device):
    options = ProgramOptions(link_time_optimization=True)
    for target in "ptx", "ltoir":
        assert len(Program(SCALE, "c++", options).compile(target).code) > 0
    code = Program(SCALE, "c++", options).compile("ltoir")
    linked = Linker(code, options=LinkerOptions(link_time_optimization=True, ptx=True)).link("ptx")
    assert linked.code_type == "ptx" and b".entry scale" in linked.code


def test_object_code_is_what_it_says(device, stream):
    cubin = Program(SCALE, "c++").compile("cubin")
    assert cubin.code_type == "cubin" and cubin.code[:4] == b"\x7fELF"
    ptx = Program(SCALE, "c++", ProgramOptions(name="x")).compile("ptx")
    assert ptx.code_type == "ptx" and b".visible .entry scale" in ptx.code and ptx.name == "x"
    again = ObjectCode.from_ptx(ptx.code)
    assert again.get_kernel("scale").num_arguments == 3
    for code in cubin, ptx:
        copy = pickle.loads(pickle.dumps(code))
        assert copy == code and copy.get_kernel("scale").num_arguments == 3
    with pytest.raises(CUDAError, match="scale"):
        ptx.get_kernel("no_such_kernel")
    with pytest.raises(RuntimeError, match="Unsupported code type"):
        ObjectCode.from_ltoir(b"1234").get_kernel("x")


def test_kernels_tell_about_themselves(device, stream):
    kernel = kernel_of(SCALE, "scale")
    assert kernel.name == "scale" and kernel.num_arguments == 3
    assert [tuple(p) for p in kernel.arguments_info] == [(0, 8), (8, 4), (16, 8)]
    assert kernel.attributes.max_threads_per_block > 0
    assert kernel.attributes[device].num_regs == kernel.attributes.num_regs
    assert kernel.occupancy.max_active_blocks_per_multiprocessor(128, 0) > 0
    size = kernel.occupancy.max_potential_block_size(0, 0)
    by_function = kernel.occupancy.max_potential_block_size(lambda threads: 16 * threads, 300)
    assert by_function.min_grid_size > 0 and 0 < by_function.max_block_size <= 300
    assert kernel.occupancy.max_potential_block_size(lambda threads: 1 << 30, 0) == (0, 0)
    assert size.max_block_size > 0 and size.min_grid_size > 0
    assert kernel.occupancy.available_dynamic_shared_memory_per_block(1, 128) > 0


def test_globals_are_buffers(device, stream):
    code = '__device__ int answer = 42; extern "C" __global__ void k() { ++answer; }'
    module = Program(code, "c++").compile("cubin", ("&answer",))
    answer = module.get_global("&answer")
    launch(stream, LaunchConfig(grid=1, block=1), module.get_kernel("k"))
    assert answer.size == 4 and answer.copy_to(np.empty(1, np.int32), stream=stream)[0] == 43


@pytest.mark.parametrize("kind", ["ptx", "ltoir"])
def test_objects_are_linked(device, stream, kind):
    options = ProgramOptions(relocatable_device_code=True)
    main = 'extern "C" __device__ int f(int); extern "C" __global__ void k(int* x) { *x = f(21); }'
    library = 'extern "C" __device__ int f(int x) { return 2 * x; }'
    parts = [Program(code, "c++", options).compile(kind) for code in (main, library)]
    linker = Linker(*parts, options={"link_time_optimization": True} if kind == "ltoir" else None)
    linked = linker.link("cubin")
    assert linked.code_type == "cubin" and linker.which_backend() == "nvJitLink"
    out = device.allocate(4, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), linked.get_kernel("k"), out)
    assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 42

    with pytest.raises(ValueError, match="At least one"):
        Linker()
    broken = Linker(parts[0])
    with pytest.raises(CUDAError):
        broken.link("cubin").get_kernel("k")


class BFloat16:
    """As scalars of ml_dtypes are: no buffer protocol, but a dtype and their bytes."""

    dtype = "bfloat16"

    def __init__(self, bits):
        self._bits = bits

    def tobytes(self):
        return self._bits.to_bytes(2, "little")


def test_bfloat16_goes_as_its_bytes(device, stream):
    source = (
        'extern "C" __global__ void widen(unsigned short x, unsigned* out) { *out = x << 16; }'
    )
    out = device.allocate(4, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel_of(source, "widen"), BFloat16(0x3FC0), out)
    assert out.copy_to(np.empty(1, np.float32), stream=stream)[0] == 1.5


def test_objects_show_themselves_in_notebooks(device, stream):
    assert device.name in device._repr_html_()
    html = device.session._repr_html_()
    assert device.session.id in html and device.name in html
    assert device.name in stream._repr_html_()
    buffer = device.allocate(3 << 20, stream=stream)
    assert "3.0 MiB" in buffer._repr_html_() and "device 0" in buffer._repr_html_()
    buffer.close()
    assert "closed" in buffer._repr_html_()


def test_a_block_by_position_is_said_to_be_a_cluster():
    with pytest.raises(ValueError, match="second value is cluster"):
        LaunchConfig(1, 32)


def test_none_is_no_argument_and_the_error_says_what_a_null_pointer_is(device, stream):
    kernel = kernel_of('extern "C" __global__ void k(int* p, int* out) { *out = p == 0; }', "k")
    out = device.allocate(4, stream=stream)
    config = LaunchConfig(grid=1, block=1)
    with pytest.raises(TypeError, match="a null pointer is 0"):
        launch(stream, config, kernel, None, out)
    launch(stream, config, kernel, 0, out)
    assert out.copy_to(np.empty(1, np.int32), stream=stream)[0] == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_terminals_alone(device, stream, monkeypatch):
    monkeypatch.setattr(_progress, "_DELAY", 0)
    monkeypatch.setattr(_progress, "_INTERVAL", 0)
    monkeypatch.setattr(_buffer, "_LARGE", 1000)
    monkeypatch.setattr(_buffer, "_PIECE", 400)
    data = np.arange(1000, dtype=np.uint8)
    buffer = device.allocate(1000, stream=stream)
    for file in io.StringIO(), Terminal():
        monkeypatch.setattr(sys, "stderr", file)
        buffer.fill(0, stream=stream)
        buffer.copy_from(data, stream=stream)
        assert (buffer.copy_to(np.empty_like(data), stream=stream) == data).all()
        assert ("uploading: 100 %" in file.getvalue()) == file.isatty()


def test_a_compilation_says_how_long_it_takes(monkeypatch):
    monkeypatch.setattr(_progress, "_DELAY", 0)
    terminal = Terminal()
    line = _progress.Line("compiling x", terminal)
    line(2, 5)
    assert "compiling x: 0.0 s, 2 of 5 in the queue" in terminal.getvalue()
    line.close()
    monkeypatch.setattr(sys, "stderr", None)
    assert _progress.compile_line("x") is None


@pytest.mark.parametrize(
    "use",
    [
        lambda d, s: Stream.from_handle(0x5555_5555_0000),
        lambda d, s: s.__cuda_stream__(),
        lambda d, s: Kernel.from_handle(0x5555_5555_0000),
    ],
)
def test_what_cannot_cross_says_so(device, stream, use):
    with pytest.raises(NotImplementedError, match="not served by Holdfast: "):
        use(device, stream)
