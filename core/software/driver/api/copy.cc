// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies and fills.
#include "core/software/driver/copy.h"

#include "core/software/driver/api/capture_call.h"
#include "core/software/driver/call.h"
#include "core/software/driver/copy_description.h"

using namespace holdfast::software;

namespace {

uintptr_t Address(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

CUresult CopyOrCapture(Driver& driver, Stream& stream, const Copy& copy,
                       bool wait) {
  CUresult result;
  if (Captured(driver, stream, &result, [&](NodeWork* node) {
        if (wait) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        if (BytesOf(copy) > 0 && !Locate(driver.memory, copy).valid()) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        *node = CopyWork{ParametersOf(copy), copy, stream.context().handle()};
        return CUDA_SUCCESS;
      })) {
    return result;
  }
  return EnqueueCopy(driver, stream, copy, wait);
}

CUresult CopyLinear(uintptr_t to, Side to_side, uintptr_t from, Side from_side,
                    size_t size, CUstream stream_handle, bool wait) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    Copy copy;
    copy.destination = {to, to_side, size, 1};
    copy.source = {from, from_side, size, 1};
    copy.width = size;
    return CopyOrCapture(driver, stream, copy, wait);
  });
}

CUresult CopyVolume(const EndDescription& to, const EndDescription& from,
                    Copy copy, CUstream stream_handle, bool wait) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
      return CUDA_SUCCESS;
    }
    CUresult result = ResolveEnd(to, copy, &copy.destination);
    if (result == CUDA_SUCCESS) result = ResolveEnd(from, copy, &copy.source);
    if (result != CUDA_SUCCESS) return result;
    return CopyOrCapture(driver, stream, copy, wait);
  });
}

CUresult Copy2D(const CUDA_MEMCPY2D* p, CUstream stream, bool wait) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Copy copy;
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  return CopyVolume({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, 0,
                     p->dstXInBytes, p->dstY, 0},
                    {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, 0,
                     p->srcXInBytes, p->srcY, 0},
                    copy, stream, wait);
}

CUresult Copy3D(const CUDA_MEMCPY3D* p, CUstream stream, bool wait) {
  if (p == nullptr || p->srcLOD != 0 || p->dstLOD != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Copy copy;
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  copy.depth = p->Depth;
  return CopyVolume({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch,
                     p->dstHeight, p->dstXInBytes, p->dstY, p->dstZ},
                    {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch,
                     p->srcHeight, p->srcXInBytes, p->srcY, p->srcZ},
                    copy, stream, wait);
}

// All devices have one address space here: a copy to a peer is a copy, with
// or without peer access.
CUresult CheckContexts(CUcontext to, CUcontext from) {
  const auto missing = [](CUcontext context) {
    return context != nullptr && FindContext(context) == nullptr;
  };
  return missing(to) || missing(from) ? CUDA_ERROR_INVALID_CONTEXT
                                      : CUDA_SUCCESS;
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                  CUcontext from_context, size_t size, CUstream stream,
                  bool wait) {
  const CUresult result = CheckContexts(to_context, from_context);
  if (result != CUDA_SUCCESS) return result;
  return CopyLinear(to, Side::kDevice, from, Side::kDevice, size, stream, wait);
}

CUresult Copy3DPeer(const CUDA_MEMCPY3D_PEER* p, CUstream stream, bool wait) {
  if (p == nullptr || p->srcLOD != 0 || p->dstLOD != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult result = CheckContexts(p->dstContext, p->srcContext);
  if (result != CUDA_SUCCESS) return result;
  Copy copy;
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  copy.depth = p->Depth;
  return CopyVolume({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch,
                     p->dstHeight, p->dstXInBytes, p->dstY, p->dstZ},
                    {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch,
                     p->srcHeight, p->srcXInBytes, p->srcY, p->srcZ},
                    copy, stream, wait);
}

CUresult FillRows(CUdeviceptr address, size_t pitch, uint32_t value,
                  size_t element, size_t width, size_t height,
                  CUstream stream_handle) {
  return WithStream(stream_handle, [&](Driver& driver, Stream& stream) {
    const Fill fill{address, pitch, value, element, width, height};
    CUresult result;
    if (Captured(driver, stream, &result, [&](NodeWork* node) {
          *node = FillWork{fill, stream.context().handle()};
          return CheckFill(driver.memory, fill);
        })) {
      return result;
    }
    return EnqueueFill(driver, stream, fill);
  });
}

// Attributes hold from an index of the batch on: checked, and then of no
// effect, since copies read in stream order or earlier in any case.
bool ValidAttributes(const CUmemcpyAttributes* attributes, const size_t* first,
                     size_t count, size_t copies) {
  if (count == 0) return true;
  if (AnyNull(attributes, first) || first[0] != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const CUmemcpySrcAccessOrder order = attributes[i].srcAccessOrder;
    if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
        order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY || first[i] >= copies ||
        (i > 0 && first[i] <= first[i - 1])) {
      return false;
    }
  }
  return true;
}

EndDescription Describe(const CUmemcpy3DOperand& operand) {
  return {operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER ? CU_MEMORYTYPE_UNIFIED
                                                         : CU_MEMORYTYPE_ARRAY,
          nullptr,
          operand.op.ptr.ptr,
          operand.op.ptr.rowLength,
          operand.op.ptr.layerHeight,
          0,
          0,
          0};
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(to, Side::kAny, from, Side::kAny, size, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                       CUstream stream) {
  return CopyLinear(to, Side::kAny, from, Side::kAny, size, stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  return CopyLinear(to, Side::kDevice, Address(from), Side::kHost, size,
                    nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size,
                              CUstream stream) {
  return CopyLinear(to, Side::kDevice, Address(from), Side::kHost, size, stream,
                    false);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  return CopyLinear(Address(to), Side::kHost, from, Side::kDevice, size,
                    nullptr, true);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(Address(to), Side::kHost, from, Side::kDevice, size, stream,
                    false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(to, Side::kDevice, from, Side::kDevice, size, nullptr,
                    true);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(to, Side::kDevice, from, Side::kDevice, size, stream,
                    false);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, true);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, true);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Copy2D(copy, stream, false);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  return Copy3D(copy, nullptr, true);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Copy3D(copy, stream, false);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return FillRows(to, 0, value, 1, count, 1, nullptr);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return FillRows(to, 0, value, 2, count, 1, nullptr);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return FillRows(to, 0, value, 4, count, 1, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return FillRows(to, 0, value, 1, count, 1, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  return FillRows(to, 0, value, 2, count, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return FillRows(to, 0, value, 4, count, 1, stream);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value,
                         size_t width, size_t height) {
  return FillRows(to, pitch, value, 1, width, height, nullptr);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
                          size_t width, size_t height) {
  return FillRows(to, pitch, value, 2, width, height, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value,
                          size_t width, size_t height) {
  return FillRows(to, pitch, value, 4, width, height, nullptr);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 1, width, height, stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
                            size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 2, width, height, stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 4, width, height, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size) {
  return CopyPeer(to, to_context, from, from_context, size, nullptr,
                  /*wait=*/true);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context,
                           CUdeviceptr from, CUcontext from_context,
                           size_t size, CUstream stream) {
  return CopyPeer(to, to_context, from, from_context, size, stream,
                  /*wait=*/false);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return Copy3DPeer(copy, nullptr, /*wait=*/true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return Copy3DPeer(copy, stream, /*wait=*/false);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from,
                               size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* first,
                               size_t attribute_count, CUstream stream) {
  if (AnyNull(to, from, sizes) || count == 0 ||
      !ValidAttributes(attributes, first, attribute_count, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = CopyLinear(to[i], Side::kAny, from[i], Side::kAny,
                                       sizes[i], stream, /*wait=*/false);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                                 unsigned long long flags, CUstream stream) {
  if (copies == nullptr || count == 0 || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    Copy copy;
    copy.width = copies[i].extent.width;
    copy.height = copies[i].extent.height;
    copy.depth = copies[i].extent.depth;
    const CUresult result =
        CopyVolume(Describe(copies[i].dst), Describe(copies[i].src), copy,
                   stream, /*wait=*/false);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
