# SPDX-License-Identifier: Apache-2.0
"""The structs of holdfast.bindings: their texts, members and memory. No driver is loaded."""

import ctypes
import weakref

import pytest
from holdfast.bindings import driver, runtime


def _word(struct, offset):
    """Eight bytes of a struct's memory, as a number."""
    return ctypes.c_uint64.from_address(struct.getPtr() + offset).value


# Texts.


def test_a_struct_is_written_with_its_members_one_below_the_other():
    parameters = driver.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS()
    parameters.flags = 3
    parameters.params.nvSciSync.fence = 16
    assert repr(parameters).splitlines() == [
        "params :",
        "    fence :",
        "        value : 0",
        "    nvSciSync :",
        "        fence : 0x10",
        "        reserved : 16",
        "    keyedMutex :",
        "        key : 0",
        "    reserved : [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
        "flags : 3",
        "reserved : [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]",
    ]


@pytest.mark.parametrize(("struct", "member", "value", "text"), [
    (driver.CUmemLocation, "type", driver.CUmemLocationType(1),
     "<CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE: 1>"),
    (driver.CUDA_KERNEL_NODE_PARAMS, "func", 16, "<CUfunction 0x10>"),
    (driver.CUDA_KERNEL_NODE_PARAMS, "kernelParams", 16, "16"),
    (driver.CUDA_KERNEL_NODE_PARAMS, "extra", 16, "16"),
    (driver.CUDA_MEMSET_NODE_PARAMS, "dst", 16, "<CUdeviceptr 16>"),
    (driver.CUDA_HOST_NODE_PARAMS, "userData", 16, "0x10"),
    (driver.CUgraphEdgeData, "reserved", bytes(5), repr(bytes(5))),
    (driver.CUuuid, "bytes", bytes(range(16)), bytes(range(16)).hex()),
    (runtime.cudaKernelNodeParams, "func", 16, "0x10"),
    (runtime.cudaDeviceProp, "luid", b"abcdefgh", b"abcdefgh".hex()),
    (runtime.cudaDeviceProp, "name", b"a device", "a device"),
])  # fmt: skip
def test_a_member_is_written_as_its_type_is(struct, member, value, text):
    made = struct()
    setattr(made, member, value)
    assert f"{member} : {text}" in repr(made).splitlines()


# Members.


@pytest.mark.parametrize("least", [-128, 0])
def test_a_member_of_characters_takes_signed_and_unsigned_numbers(least):
    handle = driver.CUipcMemHandle()
    for value in range(least, least + 256):
        handle.reserved = 64 * [value]
        assert handle.reserved[0] == value % 256


@pytest.mark.parametrize(("struct", "member", "values", "error"), [
    (driver.CUipcMemHandle, "reserved", 63 * [0], ValueError),
    (driver.CUipcMemHandle, "reserved", 65 * [0], ValueError),
    (driver.CUipcMemHandle, "reserved", 64 * [256], OverflowError),
    (driver.CUgraphEdgeData, "reserved", 5 * [-1], OverflowError),
    (driver.CUDA_TEXTURE_DESC, "addressMode", 2 * [0], IndexError),
    (driver.CUDA_TEXTURE_DESC, "addressMode", 4 * [0], IndexError),
    (driver.CUDA_TEXTURE_DESC, "borderColor", 3 * [0.0], IndexError),
])  # fmt: skip
def test_a_member_takes_as_many_values_as_it_has(struct, member, values, error):
    made = struct()
    before = getattr(made, member)
    with pytest.raises(error):
        setattr(made, member, values)
    assert getattr(made, member) == before


def test_a_number_is_taken_of_whatever_has_one():
    parameters = driver.CUDA_MEMSET_NODE_PARAMS()
    parameters.width, parameters.height = 12.5, driver.CUdevice(3)
    assert (parameters.width, parameters.height) == (12, 3)
    with pytest.raises(TypeError):
        parameters.width = "12"


def test_a_handle_of_a_struct_stays_in_the_memory_of_the_struct():
    parameters = driver.CUDA_KERNEL_NODE_PARAMS()
    function = parameters.func
    parameters.func = 5
    assert int(function) == 5 and function.getPtr() == parameters.getPtr()
    address = parameters.getPtr()
    del parameters
    assert int(function) == 5 and function.getPtr() == address


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("struct", [
    driver.CUDA_CONDITIONAL_NODE_PARAMS, runtime.cudaConditionalNodeParams,
])  # fmt: skip
def test_the_graphs_of_a_conditional_node_are_0_before_there_is_a_node(struct, count):
    parameters = struct()
    assert parameters.phGraph_out == []
    parameters.size = count
    assert [int(graph) for graph in parameters.phGraph_out] == count * [0]


def test_a_member_that_points_to_a_handle_is_the_handle():
    parameters = driver.CUmemDecompressParams()
    assert int(parameters.dstActBytes) == 0
    count = driver.cuuint32_t(7)
    parameters.dstActBytes = count
    assert int(parameters.dstActBytes) == 7 and parameters.dstActBytes.getPtr() == count.getPtr()


@pytest.mark.parametrize(("frame", "array"), [
    (driver.CUeglFrame, driver.CUarray), (runtime.cudaEglFrame, runtime.cudaArray_t),
])  # fmt: skip
def test_a_frame_of_egl_has_arrays_or_pitched_memory(frame, array):
    made = frame()
    assert [int(plane) for plane in made.frame.pArray] == [0, 0, 0]
    made.frame.pArray = [1, array(2), 3]
    assert [int(plane) for plane in made.frame.pArray] == [1, 2, 3]
    made.planeCount = 2
    assert "planeCount : 2" in repr(made).splitlines()


def test_structs_of_an_array_are_copies():
    made = runtime.cudaEglFrame()
    plane = made.frame.pPitch[0]
    plane.pitch = 5
    assert made.frame.pPitch[0].pitch == 0
    made.frame.pPitch = 3 * [plane]
    plane.pitch = 6
    assert [one.pitch for one in made.frame.pPitch] == [5, 5, 5]
    plane = made.planeDesc[1]
    plane.width = 7
    made.planeDesc = [plane, plane, plane]
    assert [one.width for one in made.planeDesc] == [7, 7, 7]


# Memory.


@pytest.mark.parametrize(("struct", "member", "values"), [
    (driver.CUlaunchConfig, "attrs", [driver.CUlaunchAttribute()]),
    (driver.CUDA_MEM_ALLOC_NODE_PARAMS, "accessDescs", [driver.CUmemAccessDesc()]),
    (driver.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, "extSemArray", [driver.CUexternalSemaphore(1)]),
    (driver.CUDA_KERNEL_NODE_PARAMS, "kernelParams", ((1,), (ctypes.c_int,))),
])  # fmt: skip
def test_a_list_in_memory_of_the_program_ends_with_its_struct(struct, member, values):
    outer = struct()
    empty = ctypes.string_at(outer.getPtr(), driver.sizeof(struct))
    inner = struct(_ptr=outer.getPtr())
    setattr(inner, member, values)
    assert ctypes.string_at(outer.getPtr(), driver.sizeof(struct)) != empty
    del inner
    assert ctypes.string_at(outer.getPtr(), driver.sizeof(struct)) == empty


def test_a_member_that_is_assigned_again_and_again_ends_once():
    outer = driver.CUlaunchConfig()
    inner = driver.CUlaunchConfig(_ptr=outer.getPtr())
    inner.attrs = [driver.CUlaunchAttribute()]
    before = len(weakref.finalize._registry)
    for _ in range(100):
        inner.attrs = [driver.CUlaunchAttribute()]
    assert len(weakref.finalize._registry) == before
    del inner
    assert not _word(outer, 40)


def test_a_struct_clears_only_its_own_list():
    outer = driver.CUlaunchConfig()
    inner = driver.CUlaunchConfig(_ptr=outer.getPtr())
    inner.attrs = [driver.CUlaunchAttribute()]
    outer.attrs = 2 * [driver.CUlaunchAttribute()]
    del inner
    assert len(outer.attrs) == 2 and _word(outer, 40)


def test_a_list_within_memory_of_the_program_ends_with_the_whole_struct():
    outer = driver.CUgraphNodeParams()
    inner = driver.CUgraphNodeParams(_ptr=outer.getPtr())
    kernel = inner.kernel
    kernel.kernelParams = (1,), (ctypes.c_int,)
    del kernel
    assert outer.kernel.kernelParams
    del inner
    assert outer.kernel.kernelParams == 0
