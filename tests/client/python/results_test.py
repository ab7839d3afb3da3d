# SPDX-License-Identifier: Apache-2.0
"""What programs for cuda.core compare, match or check: results of the bindings, texts of exceptions,
types of values."""

import numpy as np
import pytest
from holdfast import core
from holdfast.bindings import driver, nvrtc
from holdfast.core import (
    CUDAError,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    NVRTCError,
    Program,
    ProgramOptions,
    launch,
    system,
)
from holdfast.core._utils import cuda_utils
from holdfast.core._utils.cuda_utils import handle_return
from holdfast.core.graph import GraphDefinition
from holdfast.core.typing import PCHStatusType
from holdfast.core.utils import StridedMemoryView


def test_a_result_gives_what_is_behind_it():
    ok = driver.CUresult.CUDA_SUCCESS
    assert handle_return((ok,)) is None
    assert handle_return((ok, 0)) == 0
    assert handle_return((ok, 1, "two")) == (1, "two")
    assert cuda_utils.driver is driver


def test_a_result_that_is_an_error_is_raised(session):
    with pytest.raises(CUDAError, match="CUDA_ERROR_INVALID_VALUE: ") as caught:
        handle_return((driver.CUresult.CUDA_ERROR_INVALID_VALUE, None))
    assert (caught.value.result, caught.value.result_name) == (1, "CUDA_ERROR_INVALID_VALUE")
    with pytest.raises(RuntimeError, match="Unknown error type: 3"):
        handle_return((3, None))


def test_a_result_of_nvrtc_has_the_log():
    program = handle_return(nvrtc.nvrtcCreateProgram(b"wrong", b"a.cu", 0, [], []))
    with pytest.raises(NVRTCError, match="(?s)NVRTC_ERROR_COMPILATION: .*a.cu") as caught:
        handle_return(nvrtc.nvrtcCompileProgram(program, 0, []), handle=program)
    assert "error" in caught.value.log
    with pytest.raises(NVRTCError, match="NVRTC_ERROR_COMPILATION"):
        handle_return(nvrtc.nvrtcCompileProgram(program, 0, []))


def test_the_status_of_precompiled_headers_is_of_its_type(device, tmp_path):
    program = Program("", "c++", ProgramOptions(create_pch=str(tmp_path / "x")))
    assert program.pch_status is None
    program.compile("ptx")
    assert program.pch_status is PCHStatusType.NOT_ATTEMPTED
    assert program.pch_status == "not_attempted"


def test_pinned_memory_of_no_bytes_has_no_address(device):
    with LegacyPinnedMemoryResource().allocate(0) as empty:
        assert (empty.handle, empty.size) == (0, 0)


def test_a_version_of_dlpack_that_is_none_is_refused_by_its_value(device):
    buffer = LegacyPinnedMemoryResource().allocate(16)
    for exporting in (buffer, StridedMemoryView.from_any_interface(buffer)):
        with pytest.raises(BufferError, match=r"^Expected max_version tuple\[int, int\], got \(\)"):
            exporting.__dlpack__(max_version=())


def test_what_nvml_alone_knows_is_refused_as_a_runtime_error(session):
    with pytest.raises(RuntimeError, match="requires NVML support"):
        system.get_kernel_mode_driver_version()


def test_a_method_of_options_may_be_replaced_and_no_name_is_new(monkeypatch):
    options = ProgramOptions(arch="sm_90")
    monkeypatch.setattr(options, "as_bytes", lambda: 1)
    assert options.as_bytes() == 1
    monkeypatch.undo()
    assert options.as_bytes("nvrtc")[0] == b"-arch=sm_90"
    with pytest.raises(AttributeError, match="no field 'archs'"):
        options.archs = "sm_90"


def test_a_configuration_that_is_changed_is_of_later_launches(device, stream):
    source = 'extern "C" __global__ void count(int* x) { atomicAdd(x, 1); }'
    count = Program(source, "c++").compile("cubin").get_kernel("count")
    x = device.allocate(4, stream=stream)
    x.fill(0, stream=stream)
    config = LaunchConfig(grid=1, block=1)
    node = GraphDefinition().launch(config, count, x)
    launch(stream, config, count, x)
    config.grid, config.block, config.shmem_size, config.is_cooperative = 2, (4, 1), 16, 1
    assert config == LaunchConfig(grid=2, block=4, shmem_size=16, is_cooperative=True)
    assert node.config == LaunchConfig(grid=1, block=1)
    launch(stream, config, count, x)
    assert x.copy_to(np.zeros(1, np.int32), stream=stream)[0] == 1 + 2 * 4
    config.cluster = 2
    assert config.cluster == (2, 1, 1)
    config.cluster = None
    config.programmatic_stream_serialization = True
    assert config.programmatic_stream_serialization is True
    assert config != LaunchConfig(grid=2, block=4, shmem_size=16, is_cooperative=True)
    with pytest.raises(ValueError, match="grid must be at least 1"):
        config.grid = 0
    assert config.grid == (2, 1, 1)


@pytest.mark.parametrize("descriptor", [core.IPCBufferDescriptor, core.IPCEventDescriptor])
def test_a_descriptor_is_not_made_from_nothing(descriptor):
    with pytest.raises(RuntimeError, match="objects cannot be instantiated directly"):
        descriptor()


def test_a_view_by_its_constructor_warns_of_the_interface():
    with pytest.warns(DeprecationWarning, match="from a DLPack-supporting object is deprecated"):
        StridedMemoryView(np.zeros(3), stream_ptr=-1)
    with pytest.warns(DeprecationWarning, match="empty StridedMemoryView is deprecated"):
        with pytest.raises(TypeError, match="needs an object"):
            StridedMemoryView()


def test_elements_of_a_size_alone_have_no_type_in_dlpack(device):
    buffer = LegacyPinnedMemoryResource().allocate(16)
    view = StridedMemoryView.from_buffer(buffer, 4, itemsize=4)
    with pytest.raises(BufferError, match="needs a dtype"):
        view.__dlpack__()
    assert np.from_dlpack(view.view(dtype=np.int32)).shape == (4,)
    assert StridedMemoryView.from_buffer(buffer, 16).dtype == np.uint8
