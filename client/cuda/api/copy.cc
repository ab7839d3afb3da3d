// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies and fills.
#include "client/cuda/copy.h"

#include "client/cpp/place.h"
#include "client/cuda/call.h"

using namespace holdfast::libcuda;

namespace {

// Does the call return when the copy is done, or when it is submitted?
enum class Wait { kNo, kYes };

// The caller says by the function or by a struct where an address lies.
enum class Side { kHost, kDevice, kAny };

absl::StatusOr<Operand> Resolve(Process& process, uint64_t address, Side side) {
  if (side == Side::kDevice) return Operand::OnDevice(process.memory, address);
  return Operand::At(process.memory, address);
}

uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

CUresult CopyLinear(uint64_t to, Side to_side, uint64_t from, Side from_side,
                    size_t size, CUstream handle, Wait wait) {
  return WithWork(handle, [&](Process& process, Stream& stream) -> CUresult {
    if (size == 0) return CUDA_SUCCESS;
    if (to == 0 || from == 0) return CUDA_ERROR_INVALID_VALUE;
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand destination,
                              Resolve(process, to, to_side));
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand source,
                              Resolve(process, from, from_side));
    HOLDFAST_ANSWER_IF_ERROR(
        CopyBytes(destination, source, size, stream.queue()));
    // Ordinary memory was copied already. Between devices CUDA does not wait.
    const bool pinned = !destination.is_ordinary() && !source.is_ordinary() &&
                        !(destination.is_device() && source.is_device());
    return wait == Wait::kYes && pinned ? Answer(stream.queue().Synchronize())
                                        : CUDA_SUCCESS;
  });
}

// One end of a copy of two or three dimensions, as its struct says it.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t pitch;
  size_t rows;  // of a slice
  size_t x, y, z;
};

// The end's first byte and its distances. CUDA_ERROR_INVALID_VALUE: the
// distances are less than the box, or no address comes of them.
CUresult Locate(const End& end, const BoxCopy& box, uint64_t* address,
                Side* side, Pitches* pitches) {
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      *address = AddressOf(end.host);
      *side = Side::kHost;
      break;
    case CU_MEMORYTYPE_DEVICE:
      *address = end.device;
      *side = Side::kDevice;
      break;
    case CU_MEMORYTYPE_UNIFIED:
      *address = end.device;
      *side = Side::kAny;
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t row = end.pitch != 0 ? end.pitch : box.width + end.x;
  const uint64_t rows = end.rows != 0 ? end.rows : box.height + end.y;
  if (*address == 0 || row < box.width || row - box.width < end.x ||
      (box.depth > 1 && (rows < box.height || rows - box.height < end.y))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t offset = 0;
  if (__builtin_mul_overflow(row, rows, &pitches->slice) ||
      __builtin_mul_overflow(end.z, rows, &offset) ||
      __builtin_add_overflow(offset, end.y, &offset) ||
      __builtin_mul_overflow(offset, row, &offset) ||
      __builtin_add_overflow(offset, end.x, &offset) ||
      __builtin_add_overflow(*address, offset, address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  pitches->row = row;
  return CUDA_SUCCESS;
}

CUresult CopyVolume(const End& to, const End& from, BoxCopy box,
                    CUstream handle, Wait wait) {
  uint64_t destination = 0;
  uint64_t source = 0;
  Side to_side{};
  Side from_side{};
  CUresult result = Locate(to, box, &destination, &to_side, &box.destination);
  if (result != CUDA_SUCCESS) return result;
  result = Locate(from, box, &source, &from_side, &box.source);
  if (result != CUDA_SUCCESS) return result;
  return WithWork(handle, [&](Process& process, Stream& stream) -> CUresult {
    if (box.width == 0 || box.height == 0 || box.depth == 0) {
      return CUDA_SUCCESS;
    }
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand target,
                              Resolve(process, destination, to_side));
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand origin,
                              Resolve(process, source, from_side));
    HOLDFAST_ANSWER_IF_ERROR(CopyBoxes(box, target, origin, stream.queue()));
    return wait == Wait::kYes ? Answer(stream.queue().Synchronize())
                              : CUDA_SUCCESS;
  });
}

CUresult Copy2D(const CUDA_MEMCPY2D* p, CUstream stream, Wait wait) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyVolume({p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, 0,
                     p->dstXInBytes, p->dstY, 0},
                    {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, 0,
                     p->srcXInBytes, p->srcY, 0},
                    {.width = p->WidthInBytes, .height = p->Height}, stream,
                    wait);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER: the session's addresses tell the
// devices, so that the contexts of the latter say nothing new.
template <typename Parameters>
CUresult Copy3D(const Parameters* p, CUstream stream, Wait wait) {
  if (p == nullptr || p->srcLOD != 0 || p->dstLOD != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CopyVolume(
      {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstPitch, p->dstHeight,
       p->dstXInBytes, p->dstY, p->dstZ},
      {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcPitch, p->srcHeight,
       p->srcXInBytes, p->srcY, p->srcZ},
      {.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth},
      stream, wait);
}

CUresult CheckContexts(CUcontext to, CUcontext from) {
  return WithProcess([&](Process& process) {
    for (const CUcontext context : {to, from}) {
      if (context != nullptr && process.contexts().Find(context) == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                  CUcontext from_context, size_t size, CUstream stream) {
  const CUresult result = CheckContexts(to_context, from_context);
  return result != CUDA_SUCCESS ? result
                                : CopyLinear(to, Side::kAny, from, Side::kAny,
                                             size, stream, Wait::kNo);
}

// `count` elements of `width` bytes in each of `height` rows.
CUresult FillRows(CUdeviceptr address, size_t pitch, uint32_t value,
                  size_t width, size_t count, size_t height, CUstream handle) {
  return WithWork(handle, [&](Process& process, Stream& stream) -> CUresult {
    if (count == 0 || height == 0) return CUDA_SUCCESS;
    if (address % width != 0 || pitch % width != 0 ||
        count > SIZE_MAX / width) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand target,
                              Operand::OnDevice(process.memory, address));
    const absl::string_view pattern(reinterpret_cast<const char*>(&value),
                                    width);
    return Answer(holdfast::Fill(
        target.place(),
        {.width = count * width, .height = height, .pitch = pitch}, pattern,
        stream.queue()));
  });
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(to, Side::kAny, from, Side::kAny, size, nullptr,
                    Wait::kYes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                       CUstream stream) {
  return CopyLinear(to, Side::kAny, from, Side::kAny, size, stream, Wait::kNo);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  return CopyLinear(to, Side::kDevice, AddressOf(from), Side::kHost, size,
                    nullptr, Wait::kYes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size,
                              CUstream stream) {
  return CopyLinear(to, Side::kDevice, AddressOf(from), Side::kHost, size,
                    stream, Wait::kNo);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  return CopyLinear(AddressOf(to), Side::kHost, from, Side::kDevice, size,
                    nullptr, Wait::kYes);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(AddressOf(to), Side::kHost, from, Side::kDevice, size,
                    stream, Wait::kNo);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(to, Side::kDevice, from, Side::kDevice, size, nullptr,
                    Wait::kNo);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(to, Side::kDevice, from, Side::kDevice, size, stream,
                    Wait::kNo);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return Copy2D(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Copy2D(copy, stream, Wait::kNo);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  return Copy3D(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Copy3D(copy, stream, Wait::kNo);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from,
                               size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* first,
                               size_t attribute_count, CUstream stream) {
  if (AnyNull(to, from, sizes) || count == 0 ||
      (attribute_count > 0 && AnyNull(attributes, first))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = CopyLinear(to[i], Side::kAny, from[i], Side::kAny,
                                       sizes[i], stream, Wait::kNo);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size) {
  return CopyPeer(to, to_context, from, from_context, size, nullptr);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context,
                           CUdeviceptr from, CUcontext from_context,
                           size_t size, CUstream stream) {
  return CopyPeer(to, to_context, from, from_context, size, stream);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return Copy3D(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return Copy3D(copy, stream, Wait::kNo);
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

}  // extern "C"
