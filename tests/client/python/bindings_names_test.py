# SPDX-License-Identifier: Apache-2.0
"""The names, handles and enumerations of holdfast.bindings. No driver is loaded."""

import ctypes
import inspect
import os
import re

import numpy as np
import pytest
from holdfast.bindings import driver, nvrtc, runtime

_CUDA_H = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include", "cuda.h")


def test_every_function_of_the_header_is_there():
    if not os.path.exists(_CUDA_H):
        pytest.skip("no cuda.h")
    with open(_CUDA_H, encoding="utf-8") as file:
        text = file.read()
    declared = set(re.findall(r"^CUresult\s+CUDAAPI\s+(cu\w+)\s*\(", text, re.MULTILINE))
    versions = {name for name in declared if re.search(r"_v\d+$|_pt[ds][sz]$", name)}
    assert len(declared - versions) > 350
    assert sorted(declared - versions - set(dir(driver))) == []
    assert all(callable(getattr(driver, name)) for name in declared - versions)


@pytest.mark.parametrize("module_of", [driver, runtime, nvrtc])
def test_every_name_can_be_made(module_of):
    for name in dir(module_of):
        found = getattr(module_of, name)
        if inspect.isclass(found) and hasattr(found, "getPtr"):
            assert found().getPtr() and isinstance(repr(found()), str), name
    assert not hasattr(module_of, "no_such_name")


@pytest.mark.parametrize(("function", "parameters"), [
    (driver.cuInit, "Flags"),
    (driver.cuDeviceGetName, "length dev"),
    (driver.cuDeviceGetExecAffinitySupport, "typename dev"),
    (driver.cuCtxCreate, "ctxCreateParams flags dev"),
    (driver.cuModuleLoadDataEx, "image numOptions options optionValues"),
    (driver.cuModuleEnumerateFunctions, "numFunctions mod"),
    (driver.cuLinkAddData, "state typename data size name numOptions options optionValues"),
    (driver.cuMemSetAccess, "ptr size desc count"),
    (driver.cuMemPoolSetAttribute, "pool attr value"),
    (driver.cuPointerGetAttributes, "numAttributes attributes ptr"),
    (driver.cuMemRangeGetAttribute, "dataSize attribute devPtr count"),
    (driver.cuStreamGetCaptureInfo, "hStream"),
    (driver.cuThreadExchangeStreamCaptureMode, "mode"),
    (driver.cuGraphAddKernelNode, "hGraph dependencies numDependencies nodeParams"),
    (driver.cuGraphAddDependencies, "hGraph from_ to edgeData numDependencies"),
    (driver.cuGraphGetEdges, "hGraph numEdges"),
    (driver.cuOccupancyMaxPotentialBlockSize,
     "func blockSizeToDynamicSMemSize dynamicSMemSize blockSizeLimit"),
    (driver.cuDevSmResourceSplitByCount, "nbGroups input_ useFlags minCount"),
    (driver.cuGetProcAddress, "symbol cudaVersion flags"),
    (driver.cuMemcpyBatchAsync, "dsts srcs sizes count attrs attrsIdxs numAttrs hStream"),
    (driver.cuDeviceGetTexture1DLinearMaxWidth, "pformat numChannels dev"),
    (driver.cuGLGetDevices, "cudaDeviceCount deviceList"),
    (driver.cuVDPAUGetDevice, "vdpDevice vdpGetProcAddress"),
    (driver.cuEGLStreamConsumerAcquireFrame, "conn pCudaResource pStream timeout"),
    (driver.cuGraphicsResourceGetMappedEglFrame, "resource index mipLevel"),
    (runtime.cudaGraphicsGLRegisterImage, "image target flags"),
    (runtime.cudaEGLStreamProducerReturnFrame, "conn eglframe pStream"),
    (runtime.make_cudaExtent, "w h d"),
    (runtime.getLocalRuntimeVersion, ""),
    (runtime.cudaMalloc, "size"),
    (runtime.cudaMemcpy, "dst src count kind"),
    (runtime.cudaGetDeviceProperties, "device"),
    (runtime.cudaPointerGetAttributes, "ptr"),
    (runtime.cudaMemPoolCreate, "poolProps"),
    (runtime.cudaGraphAddKernelNode, "graph pDependencies numDependencies pNodeParams"),
    (nvrtc.nvrtcCreateProgram, "src name numHeaders headers includeNames"),
    (nvrtc.nvrtcGetSupportedArchs, ""),
])  # fmt: skip
def test_functions_have_their_parameters(function, parameters):
    assert " ".join(inspect.signature(function).parameters) == parameters


def test_handles_are_numbers_that_compare():
    first, second = driver.CUstream(7), driver.CUstream(7)
    assert int(first) == 7 and first == second and hash(first) == hash(second)
    assert first != driver.CUstream(8) and first != driver.CUevent(7)
    assert ctypes.c_uint64.from_address(first.getPtr()).value == 7
    assert int(driver.CUstream(_ptr=first.getPtr())) == 7
    # Pointers are written in base 16, numbers in base 10.
    assert repr(driver.CUcontext(16)) == "<CUcontext 0x10>"
    assert repr(driver.CUhostFn(16)) == "<CUhostFn 0x10>"
    assert repr(driver.CUdeviceptr(2**64 - 1)) == f"<CUdeviceptr {2**64 - 1}>"
    assert repr(driver.CUdevice(1)) == "<CUdevice 1>"
    assert repr(runtime.cudaSurfaceObject_t(16)) == "<cudaSurfaceObject_t 16>"
    assert isinstance(runtime.cudaStream_t(3), driver.CUstream) and runtime.cudaStream_t(7) == first
    assert np.array([driver.CUdeviceptr(9)], np.intp)[0] == 9


@pytest.mark.parametrize(("handle", "number"), [
    (driver.cuuint32_t, 2**32), (driver.cuuint64_t, 2**64), (driver.CUdevice, 2**31),
    (driver.CUstream, -1), (driver.CUdeviceptr, 2**64),
])  # fmt: skip
def test_a_handle_refuses_a_number_that_it_cannot_hold(handle, number):
    with pytest.raises(OverflowError):
        handle(number)


def test_enumerations_are_numbers_with_names():
    assert driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY == 2
    assert driver.CUresult(2).name == "CUDA_ERROR_OUT_OF_MEMORY"
    assert str(driver.CUresult(2)) == f"{driver.CUresult(2)}" == repr(driver.CUresult(2))
    assert repr(driver.CUresult(2)) == "<CUresult.CUDA_ERROR_OUT_OF_MEMORY: 2>"
    assert f"{driver.CUresult(2):03}" == "002"
    with pytest.raises(ValueError):
        driver.CUresult(123456)
    assert driver.CUDA_VERSION // 1000 == 13
    assert (driver.CU_STREAM_PER_THREAD, driver.CU_DEVICE_CPU) == (2, -1)
    assert driver.CUDA_MEMCPY2D_st is driver.CUDA_MEMCPY2D
    assert driver.sizeof(driver.CUlaunchConfig) == 56 and driver.sizeof(driver.CUdevice) == 4
    assert driver.sizeof(objType=driver.CUresult) == 4
    with pytest.raises(TypeError):
        driver.sizeof(int)
    assert runtime.cudaError_t.cudaErrorInvalidValue == 1
    assert nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION == 6
    assert runtime.cudaDataType is runtime.cudaDataType_t
    assert repr(runtime.cudaDataType(0)) == "<cudaDataType.CUDA_R_32F: 0>"
    assert runtime.libraryPropertyType.PATCH_LEVEL == 2


def test_the_types_of_graphics_are_there():
    assert driver.MAX_PLANES == runtime.CUDA_EGL_MAX_PLANES == 3
    assert driver.CUDA_EGL_INFINITE_TIMEOUT == 0xFFFFFFFF
    for module_of in (driver, runtime):
        assert repr(module_of.EGLStreamKHR(16)) == "<EGLStreamKHR 0x10>"
        for handle in (module_of.GLenum, module_of.GLuint, module_of.EGLint, module_of.VdpDevice):
            assert int(handle(16)) == 16 and module_of.sizeof(handle) == 4
    assert driver.CUGLDeviceList.CU_GL_DEVICE_LIST_ALL == 1
