# SPDX-License-Identifier: Apache-2.0
"""holdfast.bindings, on the software driver in this process.

The functions are those of CUDA's headers, so the tests are about what Python adds: names, tuples,
handles, structs, arrays and callbacks.
"""

import ctypes
import enum
import os
import subprocess

import numpy as np
import pytest

_FOLDER = subprocess.run(
    [os.environ["HOLDFAST_CLI"], "cuda-path", "--cpu"], capture_output=True, text=True, check=True
).stdout.strip()
os.environ["LD_LIBRARY_PATH"] = _FOLDER

from holdfast.bindings import driver, nvrtc, runtime  # noqa: E402
from holdfast.bindings._load import find_function  # noqa: E402

_SOURCE = b"""
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
struct Pair { int first; short second; };
extern "C" __global__ void store(int* to, int number, Pair pair, int kind) {
  to[0] = number; to[1] = pair.first; to[2] = pair.second; to[3] = kind;
}
extern "C" __global__ void add(int* to, int number) { atomicAdd(to, number); }
template <typename T> __global__ void fill(T* to, T value) { to[threadIdx.x] = value; }
"""


def check(result):
    """Asserts success. Returns the values after the result, as programs of cuda.bindings do."""
    assert result[0] == 0, result
    return result[1] if len(result) == 2 else result[1:] or None


@pytest.fixture(scope="module", autouse=True)
def context():
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    made = check(driver.cuCtxCreate(None, 0, device))
    yield made
    check(driver.cuCtxDestroy(made))


def compile_source(source, *names, options=()):
    """(PTX, the lowered names)"""
    program = check(nvrtc.nvrtcCreateProgram(source, b"test.cu", 0, None, None))
    for name in names:
        check(nvrtc.nvrtcAddNameExpression(program, name))
    check(nvrtc.nvrtcCompileProgram(program, len(options), list(options)))
    lowered = [check(nvrtc.nvrtcGetLoweredName(program, name)) for name in names]
    ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    check(nvrtc.nvrtcDestroyProgram(program))
    return ptx, lowered


@pytest.fixture(scope="module")
def ptx(context):
    return compile_source(_SOURCE, b"fill<double>", options=[b"--fmad=false"])


@pytest.fixture(scope="module")
def module(ptx):
    loaded = check(driver.cuModuleLoadData(ptx[0]))
    yield loaded
    check(driver.cuModuleUnload(loaded))


@pytest.fixture
def stream():
    made = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    yield made
    check(driver.cuStreamDestroy(made))


@pytest.fixture
def memory():
    """Allocates device memory that ends with the test."""
    pointers = []

    def allocate(size):
        pointers.append(check(driver.cuMemAlloc(size)))
        return pointers[-1]

    yield allocate
    for pointer in pointers:
        check(driver.cuMemFree(pointer))


def read(pointer, count, dtype=np.int32):
    found = np.zeros(count, dtype)
    check(driver.cuMemcpyDtoH(found, pointer, found.nbytes))
    return found


# Kernel arguments.


def _as_addresses(values):
    arrays = [np.array([int(v)], np.uint64) if hasattr(v, "getPtr") else v for v in values]
    table = np.array([array.ctypes.data for array in arrays], np.uint64)
    return table.ctypes.data, (arrays, table)


def _as_buffer(values):
    arrays = [np.array([int(v)], np.intp) if hasattr(v, "getPtr") else v for v in values]
    return np.array([array.ctypes.data for array in arrays], np.intp), arrays


def _as_types(values):
    types = [ctypes.c_void_p if hasattr(v, "getPtr") else np.ctypeslib.as_ctypes_type(v.dtype)
             for v in values]  # fmt: skip
    plain = [v if hasattr(v, "getPtr") else v.item() for v in values]
    return (tuple(plain), tuple(types)), None


def _as_themselves(values):
    types = [None if hasattr(v, "getPtr") else np.ctypeslib.as_ctypes_type(v.dtype) for v in values]
    return (tuple(values), tuple(types)), None


@pytest.mark.parametrize("form", [_as_addresses, _as_buffer, _as_types, _as_themselves])
def test_saxpy_with_arguments_in_each_form(module, stream, memory, form):
    n = 5000
    x, y = np.random.default_rng(1).random((2, n), np.float32)
    out = np.zeros(n, np.float32)
    on_device = [memory(x.nbytes) for _ in range(3)]
    for pointer, array in zip(on_device, (x, y)):
        check(driver.cuMemcpyHtoDAsync(pointer, array.ctypes.data, array.nbytes, stream))
    kernel = check(driver.cuModuleGetFunction(module, b"saxpy"))
    arguments, kept = form([np.array([2], np.float32), *on_device, np.array([n], np.uint64)])
    check(driver.cuLaunchKernel(kernel, 20, 1, 1, 256, 1, 1, 0, stream, arguments, 0))
    del kept
    check(driver.cuMemcpyDtoHAsync(out.ctypes.data, on_device[2], out.nbytes, stream))
    check(driver.cuStreamSynchronize(stream))
    assert np.array_equal(out, 2 * x + y)


def test_structs_and_enumerations_are_arguments(module, memory):
    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_short)]

    to = memory(16)
    kernel = check(driver.cuModuleGetFunction(module, b"store"))
    memory_type = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    values = to, np.int64(-5), Pair(6, 7), memory_type
    types = None, ctypes.c_int, None, None
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, (values, types), 0))
    assert read(to, 4).tolist() == [-5, 6, 7, 2]


def test_what_lies_in_memory_of_the_program_is_passed_by_its_address(module):
    host = check(driver.cuMemHostAlloc(16, driver.CU_MEMHOSTALLOC_DEVICEMAP))
    ctypes.memset(host, 0, 16)
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    for value in (driver.cuuint32_t(_ptr=host), runtime.dim3(_ptr=host + 4), host + 8):
        arguments = (value, 5), (ctypes.c_void_p, ctypes.c_int)
        check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0))
    check(driver.cuCtxSynchronize())
    assert list((ctypes.c_int * 4).from_address(host)) == [5, 5, 5, 0]
    check(driver.cuMemFreeHost(host))


class Of3(enum.Enum):
    THREE = 3


@pytest.mark.parametrize(
    "value, kind, number",
    [
        (driver.CUmemorytype.CU_MEMORYTYPE_DEVICE, ctypes.c_int, 2),
        (runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice, ctypes.c_int, 3),
        (runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice, ctypes.c_longlong, 3),
        (runtime.cudaMemcpyKind.cudaMemcpyDeviceToDevice, None, 3),
        (Of3.THREE, ctypes.c_uint, 3),
        (Of3.THREE, None, 3),
        (True, ctypes.c_int, 1),
        (np.bool_(True), ctypes.c_int, 1),
        (np.uint8(7), ctypes.c_int, 7),
        (np.array(8), ctypes.c_int, 8),
        (np.array([8]), ctypes.c_int, 8),
        (ctypes.c_short(-9), ctypes.c_int, -9),
        ((ctypes.c_int * 1)(4), None, 4),
        ((ctypes.c_int * 1)(4), ctypes.c_int * 1, 4),
        (driver.cuuint32_t(6), None, 6),
        (driver.cuuint32_t(6), ctypes.c_int, 6),
    ],
)
def test_a_number_is_an_argument_in_each_of_its_forms(module, memory, value, kind, number):
    to = memory(4)
    check(driver.cuMemsetD32(to, 0, 1))
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    arguments = (to, value), (ctypes.c_void_p, kind)
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0))
    assert read(to, 1)[0] == number


@pytest.mark.parametrize(
    "wrong, reason",
    [
        ((1,), "not a valid type"),
        (((1,), (ctypes.c_int, None)), "1 values, but 2 types"),
        (((object(),), (None,)), "needs a type"),
        (((1,), (None,)), "needs a type"),
        (((1,), (int,)), "<class 'int'> is not a type of ctypes"),
        (((Of3.THREE,), (Of3,)), "is not a type of ctypes"),
        (((np.float32(1),), (np.float32,)), "is not a type of ctypes"),
        (((1,), (8,)), "8 is not a type of ctypes"),
        (((1.5,), (ctypes.c_int,)), "1.5 is no value of c_int"),
        ((("text",), (ctypes.c_int,)), "'text' is no value of c_int"),
        (((np.zeros(2, np.int32),), (ctypes.c_int,)), "is no value of c_int"),
        ((([1],), (ctypes.c_double,)), r"\[1\] is no value of c_double"),
        (1.5, "expected Type int or buffer protocol"),
    ],
)
def test_arguments_in_no_form_are_refused(module, wrong, reason):
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    with pytest.raises(TypeError, match=reason):
        driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, wrong, 0)


def test_a_launch_has_a_config_with_attributes(module, memory):
    to = memory(16)
    check(driver.cuMemsetD32(to, 0, 4))
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PRIORITY
    attribute.value.priority = 0
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = 3, 1, 1
    config.blockDimX, config.blockDimY, config.blockDimZ = 2, 2, 1
    config.attrs, config.numAttrs = [attribute], 1
    arguments = (to, 5), (ctypes.c_void_p, ctypes.c_int)
    check(driver.cuLaunchKernelEx(config, kernel, kernelParams=arguments, extra=0))
    assert read(to, 1)[0] == 60
    assert [a.id for a in config.attrs] == [attribute.id] and config.hStream == driver.CUstream(0)


def test_an_argument_that_does_not_fit_its_type_is_refused(module, memory):
    kernel, to = check(driver.cuModuleGetFunction(module, b"add")), memory(4)
    for number, kind in (
        (2**32 + 5, ctypes.c_int),
        (-(2**31) - 1, ctypes.c_int),
        (200, ctypes.c_byte),
        (-1, ctypes.c_uint),
        (2**64, ctypes.c_void_p),
    ):
        with pytest.raises(OverflowError, match="does not fit"):
            driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, ((to, number), (None, kind)), 0)


# Structs.


def test_members_of_all_kinds_are_attributes(memory):
    node = driver.CUgraphNodeParams()
    node.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMSET
    node.memset.dst, node.memset.value = driver.CUdeviceptr(64), 5
    assert (int(node.memset.dst), node.memset.value) == (64, 5)
    assert node.type is driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_MEMSET
    again = driver.CUgraphNodeParams(_ptr=node.getPtr())
    assert again.memset.value == 5 and "value : 5" in repr(again.memset)
    operation = driver.CUstreamBatchMemOpParams()
    operation.waitValue.value64 = driver.cuuint64_t(1 << 40)
    assert int(operation.waitValue.value64) == 1 << 40
    access = driver.CUmemAccessDesc()
    location = driver.CUmemLocation()
    location.type, location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 3
    access.location = location
    location.id = 4
    assert access.location.id == 3
    with pytest.raises(TypeError):
        access.location = access
    with pytest.raises(OverflowError):
        node.memset.value = 1 << 32
    with pytest.raises(AttributeError):
        node.no_such_member = 1


def test_arrays_and_texts_in_structs():
    identifier = driver.CUuuid()
    identifier.bytes = bytes(range(16))
    assert identifier.bytes == bytes(range(16))
    description = driver.CUDA_TEXTURE_DESC()
    description.borderColor = [1, 2, 3, 0.5]
    description.addressMode = 3 * [driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP]
    assert description.borderColor == [1, 2, 3, 0.5]
    assert description.addressMode[2] is driver.CUaddress_mode.CU_TR_ADDRESS_MODE_CLAMP
    properties = runtime.cudaDeviceProp()
    properties.name, properties.maxGridSize = b"a device", [1, 2, 3]
    assert (properties.name, properties.maxGridSize) == (b"a device", [1, 2, 3])
    assert runtime.make_cudaExtent(3, 2, 1).height == 2


def test_a_copy_is_described_by_a_struct(memory):
    rows = np.arange(24, dtype=np.uint8).reshape(4, 6)
    to = memory(64)
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
    copy.srcHost, copy.srcPitch, copy.srcXInBytes = rows, 6, 1
    copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.dstDevice, copy.dstPitch = to, 8
    copy.WidthInBytes, copy.Height = 4, 4
    check(driver.cuMemcpy2D(copy))
    assert np.array_equal(read(to, 32, np.uint8).reshape(4, 8)[:, :4], rows[:, 1:5])


# Results of functions.


def test_a_failure_has_no_outputs():
    assert driver.cuDeviceGet(99) == (driver.CUresult.CUDA_ERROR_INVALID_DEVICE, None)
    assert driver.cuModuleGetGlobal(None, b"x")[1:] == (None, None)
    assert driver.cuMemFree(driver.CUdeviceptr(12345))[0] != 0
    assert driver.cuGetErrorName(driver.CUresult.CUDA_ERROR_INVALID_VALUE) == (
        driver.CUresult.CUDA_SUCCESS, b"CUDA_ERROR_INVALID_VALUE",
    )  # fmt: skip


@pytest.mark.parametrize(("call", "error"), [
    (lambda: driver.cuInit(), TypeError),
    (lambda: driver.cuInit(-1), OverflowError),
    (lambda: driver.cuInit("0"), TypeError),
    (lambda: driver.cuMemcpyHtoD(0, 1.5, 4), TypeError),
    (lambda: driver.cuMemcpy2D(driver.CUDA_MEMCPY3D()), TypeError),
    (lambda: driver.cuModuleGetFunction(0, "a text"), TypeError),
    (lambda: driver.cuMemSetAccess(0, 0, [], 1), RuntimeError),
    (lambda: nvrtc.nvrtcCompileProgram(0, 2, [b"-x"]), RuntimeError),
    (lambda: driver.cuLinkCreate(1, [driver.CUjit_option.CU_JIT_WALL_TIME], []), RuntimeError),
    (lambda: driver.cuModuleLoadDataEx(0, 1, [driver.CUjit_option.CU_JIT_WALL_TIME], []),
     RuntimeError),
    (lambda: driver.cuDeviceGetName(8, 1 << 31), OverflowError),
    (lambda: driver.cuCtxCreate(driver.CUlaunchConfig(), 0, 0), TypeError),
])  # fmt: skip
def test_wrong_arguments_are_errors_of_python(call, error):
    with pytest.raises(error):
        call()


def test_only_as_many_options_are_taken_as_the_call_says():
    options = [driver.CUjit_option.CU_JIT_WALL_TIME]
    result = driver.cuModuleLoadDataEx(0, 0, options, [])
    assert result == (driver.CUresult.CUDA_ERROR_INVALID_VALUE, None)


def test_a_size_may_be_the_result_of_a_division():
    pointer = check(driver.cuMemAlloc(16 / 2))
    check(driver.cuMemsetD8(pointer, 1, 8.0))
    check(driver.cuMemFree(pointer))


def test_the_runtime_works_in_the_driver_that_is_loaded(memory):
    pointer = memory(16)
    check(runtime.cudaMemset(pointer, 1, 16))
    assert read(pointer, 4).tolist() == 4 * [0x01010101]


def test_the_runtime_tells_its_version():
    version = check(runtime.getLocalRuntimeVersion())
    assert version == check(runtime.cudaRuntimeGetVersion()) and version // 1000 == 13


def test_a_function_that_the_library_lacks_is_an_error():
    with pytest.raises(RuntimeError, match='Function "cuNoSuchFunction" not found'):
        find_function("driver", "cuNoSuchFunction")


def test_devices_are_described():
    device = check(driver.cuDeviceGet(0))
    name = check(driver.cuDeviceGetName(128, device))
    assert len(name) == 128 and b"Holdfast" in name.split(b"\0")[0]
    assert len(check(driver.cuDeviceGetUuid(device)).bytes) == 16
    assert len(check(driver.cuDeviceComputeCapability(device))) == 2
    assert check(driver.cuDeviceTotalMem(device)) > 1 << 20
    address = check(driver.cuDeviceGetPCIBusId(32, device)).split(b"\0")[0]
    assert int(check(driver.cuDeviceGetByPCIBusId(address))) == int(device)
    pointer, status = check(driver.cuGetProcAddress(b"cuMemAlloc", 13000, 0))
    assert pointer and status.name == "CU_GET_PROC_ADDRESS_SUCCESS"


def test_attributes_have_the_types_of_their_values(memory, context):
    pointer = memory(1000)
    get = driver.cuPointerGetAttribute
    names = driver.CUpointer_attribute
    assert check(get(names.CU_POINTER_ATTRIBUTE_CONTEXT, pointer)) == context
    kind = check(get(names.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer))
    assert kind is driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    assert check(get(names.CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer)) is False
    asked = [names.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, names.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL]
    assert check(driver.cuPointerGetAttributes(2, asked, pointer)) == (pointer, 0)


def test_structs_pass_by_value_and_arrays_by_their_elements(memory, stream):
    size = 4096
    managed = check(driver.cuMemAllocManaged(size, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL))
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    preferred = driver.CUmem_advise.CU_MEM_ADVISE_SET_PREFERRED_LOCATION
    check(driver.cuMemAdvise(managed, size, preferred, place))
    check(driver.cuMemPrefetchAsync(managed, size, place, 0, stream))
    asked = driver.CUmem_range_attribute
    get = driver.cuMemRangeGetAttribute
    location = asked.CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
    assert check(get(4, location, managed, size)) == 0
    assert len(check(get(8, asked.CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, size))) == 2
    order = driver.CUmemcpyAttributes()
    order.srcAccessOrder = driver.CUmemcpySrcAccessOrder.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
    to = [memory(16), memory(16)]
    check(driver.cuMemsetD32(managed, 9, size // 4))
    check(driver.cuMemcpyBatchAsync(to, 2 * [managed], [16, 8], 2, [order], [0], 1, stream))
    check(driver.cuStreamSynchronize(stream))
    assert read(to[0], 4).tolist() == 4 * [9] and read(to[1], 2).tolist() == 2 * [9]
    check(driver.cuMemFree(managed))


def test_pools_are_made_from_properties(stream):
    properties = driver.CUmemPoolProps()
    properties.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    pool = check(driver.cuMemPoolCreate(properties))
    threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    check(driver.cuMemPoolSetAttribute(pool, threshold, driver.cuuint64_t(4096)))
    assert int(check(driver.cuMemPoolGetAttribute(pool, threshold))) == 4096
    pointer = check(driver.cuMemAllocFromPoolAsync(256, pool, stream))
    check(driver.cuMemFreeAsync(pointer, stream))
    check(driver.cuStreamSynchronize(stream))
    check(driver.cuMemPoolDestroy(pool))


def test_memory_is_mapped(memory):
    properties = driver.CUmemAllocationProp()
    properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    size = check(driver.cuMemGetAllocationGranularity(properties, minimum))
    address = check(driver.cuMemAddressReserve(size, 0, 0, 0))
    handle = check(driver.cuMemCreate(size, properties, 0))
    check(driver.cuMemMap(address, size, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location = properties.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    check(driver.cuMemSetAccess(address, size, [access], 1))
    check(driver.cuMemsetD32(address, 77, 4))
    assert read(address, 4).tolist() == 4 * [77]
    check(driver.cuMemUnmap(address, size))
    check(driver.cuMemRelease(handle))
    check(driver.cuMemAddressFree(address, size))


def test_host_memory_is_an_address():
    address = check(driver.cuMemHostAlloc(64, driver.CU_MEMHOSTALLOC_DEVICEMAP))
    assert isinstance(address, int)
    ctypes.memset(address, 3, 64)
    pointer = check(driver.cuMemHostGetDevicePointer(address, 0))
    assert read(pointer, 1)[0] == 0x03030303
    check(driver.cuMemFreeHost(address))


def test_code_is_linked_with_options(ptx, context):
    log, errors = bytearray(4096), bytearray(4096)
    options = driver.CUjit_option
    values = {
        options.CU_JIT_INFO_LOG_BUFFER: log, options.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: len(log),
        options.CU_JIT_ERROR_LOG_BUFFER: errors,
        options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: len(errors),
    }  # fmt: skip
    state = check(driver.cuLinkCreate(len(values), list(values), list(values.values())))
    source = driver.CUjitInputType.CU_JIT_INPUT_PTX
    check(driver.cuLinkAddData(state, source, ptx[0], len(ptx[0]), b"test.ptx", 0, [], []))
    address, size = check(driver.cuLinkComplete(state))
    assert address and size
    loaded = check(driver.cuModuleLoadData(address))
    check(driver.cuModuleGetFunction(loaded, b"saxpy"))
    check(driver.cuLinkDestroy(state))
    state = check(driver.cuLinkCreate(len(values), list(values), list(values.values())))
    assert driver.cuLinkAddData(state, source, b"no ptx\0", 7, b"x.ptx", 0, [], [])[0] != 0
    check(driver.cuLinkDestroy(state))
    assert errors.rstrip(b"\0")


def test_libraries_list_their_kernels(ptx, memory):
    library = check(driver.cuLibraryLoadData(ptx[0], [], [], 0, [], [], 0))
    count = check(driver.cuLibraryGetKernelCount(library))
    kernels = check(driver.cuLibraryEnumerateKernels(count, library))
    names = {check(driver.cuKernelGetName(kernel)) for kernel in kernels}
    assert {b"saxpy", b"store", b"add", ptx[1][0]} == names
    fill = check(driver.cuLibraryGetKernel(library, ptx[1][0]))
    to = memory(64)
    function = check(driver.cuKernelGetFunction(fill))
    arguments = (to, 1.5), (ctypes.c_void_p, ctypes.c_double)
    check(driver.cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, arguments, 0))
    assert read(to, 8, np.float64).tolist() == 8 * [1.5]
    assert check(driver.cuKernelGetParamInfo(fill, 1)) == (8, 8)
    check(driver.cuLibraryUnload(library))


def test_functions_of_python_are_called_back(stream):
    called = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def note(data):
        called.append(data)

    wrapped = driver.CUhostFn(_ptr=ctypes.addressof(note))
    check(driver.cuLaunchHostFunc(stream, wrapped, 17))
    check(driver.cuLaunchHostFunc(stream, note, None))
    check(driver.cuStreamSynchronize(stream))
    assert called == [17, None]


def test_the_occupancy_is_told(module):
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    assert check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel, 128, 0)) > 0
    grid, block = check(driver.cuOccupancyMaxPotentialBlockSize(kernel, None, 0, 0))
    assert grid > 0 and block > 0
    asked = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    assert check(driver.cuFuncGetAttribute(asked, kernel)) >= 128


def test_a_context_is_made_in_the_earlier_form(context):
    made = check(driver.cuCtxCreate(0, check(driver.cuDeviceGet(0))))
    assert check(driver.cuCtxGetCurrent()) == made
    check(driver.cuCtxDestroy(made))
    check(driver.cuCtxSetCurrent(context))


def test_events_measure(stream):
    first, last = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
    check(driver.cuEventRecord(first, stream))
    check(driver.cuEventRecord(last, stream))
    check(driver.cuEventSynchronize(last))
    assert check(driver.cuEventElapsedTime(first, last)) >= 0


# Graphs.


def _kernel_node(module, to, number):
    parameters = driver.CUDA_KERNEL_NODE_PARAMS()
    parameters.func = check(driver.cuModuleGetFunction(module, b"add"))
    parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1
    parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = 4, 1, 1
    parameters.kernelParams = (to, number), (ctypes.c_void_p, ctypes.c_int)
    return parameters


def test_a_graph_is_made_of_nodes(module, memory, stream, context):
    to = memory(4)
    graph = check(driver.cuGraphCreate(0))
    clear = driver.CUDA_MEMSET_NODE_PARAMS()
    clear.dst, clear.elementSize, clear.width, clear.height, clear.value = to, 4, 1, 1, 1
    first = check(driver.cuGraphAddMemsetNode(graph, None, 0, clear, context))
    parameters = _kernel_node(module, to, 10)
    last = check(driver.cuGraphAddKernelNode(graph, [first], 1, parameters))
    nodes, count = check(driver.cuGraphGetNodes(graph))
    assert (nodes, count) == ([], 2)
    nodes, count = check(driver.cuGraphGetNodes(graph, count))
    assert set(nodes) == {first, last} and count == 2
    starts, ends, data, count = check(driver.cuGraphGetEdges(graph, 1))
    assert (starts, ends, count) == ([first], [last], 1) and data[0].from_port == 0
    assert check(driver.cuGraphNodeGetType(last)).name == "CU_GRAPH_NODE_TYPE_KERNEL"
    assert check(driver.cuGraphKernelNodeGetParams(last)).blockDimX == 4

    instance = check(driver.cuGraphInstantiate(graph, 0))
    check(driver.cuGraphLaunch(instance, stream))
    check(driver.cuStreamSynchronize(stream))
    assert read(to, 1)[0] == 41
    parameters.kernelParams = (to, 20), (ctypes.c_void_p, ctypes.c_int)
    check(driver.cuGraphExecKernelNodeSetParams(instance, last, parameters))
    check(driver.cuGraphLaunch(instance, stream))
    check(driver.cuStreamSynchronize(stream))
    assert read(to, 1)[0] == 81
    check(driver.cuGraphExecDestroy(instance))
    check(driver.cuGraphDestroy(graph))


def test_nodes_of_any_type_are_made_of_one_struct(module, memory, stream):
    to = memory(4)
    check(driver.cuMemsetD32(to, 0, 1))
    graph = check(driver.cuGraphCreate(0))
    allocation = driver.CUDA_MEM_ALLOC_NODE_PARAMS()
    allocation.poolProps.allocType = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    allocation.poolProps.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    allocation.bytesize = 256
    first = check(driver.cuGraphAddMemAllocNode(graph, None, 0, allocation))
    assert int(allocation.dptr)
    node = driver.CUgraphNodeParams()
    node.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL
    node.kernel.func = check(driver.cuModuleGetFunction(module, b"add"))
    node.kernel.gridDimX = node.kernel.gridDimY = node.kernel.gridDimZ = 1
    node.kernel.blockDimX = node.kernel.blockDimY = node.kernel.blockDimZ = 2
    node.kernel.kernelParams = (to, 1), (None, ctypes.c_int)
    second = check(driver.cuGraphAddNode(graph, [first], [driver.CUgraphEdgeData()], 1, node))
    check(driver.cuGraphAddMemFreeNode(graph, [second], 1, allocation.dptr))
    instance = check(driver.cuGraphInstantiate(graph, 0))
    check(driver.cuGraphLaunch(instance, stream))
    check(driver.cuStreamSynchronize(stream))
    assert read(to, 1)[0] == 8
    other = check(driver.cuGraphCreate(0))
    result, information = driver.cuGraphExecUpdate(instance, other)
    assert result == driver.CUresult.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    assert information.result != driver.CUgraphExecUpdateResult.CU_GRAPH_EXEC_UPDATE_SUCCESS


def test_a_graph_is_captured(module, memory, stream):
    to = memory(4)
    check(driver.cuMemsetD32(to, 0, 1))
    kernel = check(driver.cuModuleGetFunction(module, b"add"))
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    assert check(driver.cuThreadExchangeStreamCaptureMode(mode)).name.endswith("GLOBAL")
    check(driver.cuThreadExchangeStreamCaptureMode(0))
    check(driver.cuStreamBeginCapture(stream, mode))
    arguments = (to, 3), (ctypes.c_void_p, ctypes.c_int)
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0))
    status, _, graph, nodes, data, count = check(driver.cuStreamGetCaptureInfo(stream))
    assert status.name == "CU_STREAM_CAPTURE_STATUS_ACTIVE" and len(nodes) == count == 1
    assert data == [] or data[0].to_port == 0
    assert check(driver.cuStreamEndCapture(stream)) == graph
    instance = check(driver.cuGraphInstantiate(graph, 0))
    for _ in range(3):
        check(driver.cuGraphLaunch(instance, stream))
    check(driver.cuStreamSynchronize(stream))
    assert read(to, 1)[0] == 9


# NVRTC.


def test_what_does_not_compile_has_a_log():
    program = check(nvrtc.nvrtcCreateProgram(b"no code", b"wrong.cu", 1, [b"int x;"], [b"x.h"]))
    result = nvrtc.nvrtcCompileProgram(program, 0, [])
    assert result == (nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION,)
    assert nvrtc.nvrtcGetErrorString(result[0])[1] == b"NVRTC_ERROR_COMPILATION"
    log = bytearray(check(nvrtc.nvrtcGetProgramLogSize(program)))
    check(nvrtc.nvrtcGetProgramLog(program, log))
    assert b"wrong.cu" in log
    check(nvrtc.nvrtcDestroyProgram(program))


def test_the_compiler_tells_its_architectures():
    assert check(nvrtc.nvrtcVersion())[0] >= 13
    assert 90 in check(nvrtc.nvrtcGetSupportedArchs())
