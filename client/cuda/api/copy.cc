// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies and fills.
#include "client/cuda/copy.h"

#include "client/cpp/place.h"
#include "client/cuda/api/call.h"
#include "client/cuda/copy_description.h"
#include "client/cuda/graph/work.h"

using namespace holdfast::libcuda;

namespace {

// Does the call return when the copy is done, or when it is submitted?
enum class Wait { kNo, kYes };

CopyEnd EndAt(const void* pointer) {
  return {reinterpret_cast<uint64_t>(pointer), Side::kHost};
}
CopyEnd EndAt(CUdeviceptr address, Side side = Side::kDevice) {
  return {address, side};
}

CUresult CaptureCopy(Process& process, Stream& stream,
                     const CopyDescription& copy, NodeWork* work) {
  const std::shared_ptr<Context> context = stream.context();
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  CopyWork captured{
      .parameters = ParametersOf(copy),
      .copy = copy,
      .context = {context->handle(), context->device().ordinal()}};
  return AcceptWork(process, captured, work);
}

CUresult Submit(Process& process, const Stream& stream,
                const CopyDescription& copy, Wait wait) {
  if (copy.is_empty()) return CUDA_SUCCESS;
  HOLDFAST_ANSWER_OR_ASSIGN(const Operand destination,
                            Resolve(process.memory, copy.destination));
  HOLDFAST_ANSWER_OR_ASSIGN(const Operand source,
                            Resolve(process.memory, copy.source));
  HOLDFAST_ANSWER_IF_ERROR(
      CopyBoxes(copy.box, destination, source, stream.queue()));
  // Ordinary memory was copied already. Between devices CUDA does not wait.
  const bool waits = !destination.is_ordinary() && !source.is_ordinary() &&
                     !(destination.is_device() && source.is_device());
  return wait == Wait::kYes && waits ? Answer(stream.queue().Synchronize())
                                     : CUDA_SUCCESS;
}

CUresult Copy(const CopyDescription& copy, CUstream handle, Wait wait) {
  return WithWork(
      handle,
      [&](Process& process, Stream& stream, NodeWork* work) {
        return wait == Wait::kYes ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                  : CaptureCopy(process, stream, copy, work);
      },
      [&](Process& process, Stream& stream) {
        return Submit(process, stream, copy, wait);
      });
}

CUresult CopyLinear(CopyEnd to, CopyEnd from, size_t size, CUstream handle,
                    Wait wait) {
  if (size > 0 && (to.address == 0 || from.address == 0)) {
    // As in CUDA's driver, a capture survives it, unless the copy would wait.
    const auto capture = [&](Process&, Stream&, NodeWork*) {
      return wait == Wait::kYes ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                : CUDA_ERROR_INVALID_VALUE;
    };
    return WithWork(handle, capture,
                    [](Process&, Stream&) { return CUDA_ERROR_INVALID_VALUE; });
  }
  return Copy({to, from, {.width = size}}, handle, wait);
}

// CUDA_MEMCPY2D, CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER.
template <typename Parameters>
CUresult CopyVolume(const Parameters* parameters, CUstream stream, Wait wait) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CopyDescription copy;
  const CUresult result = Describe(*parameters, &copy);
  return result != CUDA_SUCCESS ? result : Copy(copy, stream, wait);
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
  return result != CUDA_SUCCESS
             ? result
             : CopyLinear(EndAt(to, Side::kAny), EndAt(from, Side::kAny), size,
                          stream, Wait::kNo);
}

// `count` elements of `width` bytes in each of `height` rows. CUDA waits only
// where the memory is the host's.
CUresult FillRows(CUdeviceptr address, size_t pitch, uint32_t value,
                  size_t width, size_t count, size_t height, CUstream handle,
                  Wait wait) {
  const auto submit = [&](Process& process, Stream& stream) -> CUresult {
    if (count == 0 || height == 0) return CUDA_SUCCESS;
    if (address % width != 0 || count > SIZE_MAX / width ||
        (height > 1 && (pitch % width != 0 || pitch < count * width))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    HOLDFAST_ANSWER_OR_ASSIGN(const Operand target,
                              Operand::OnDevice(process.memory, address));
    const absl::string_view pattern(reinterpret_cast<const char*>(&value),
                                    width);
    HOLDFAST_ANSWER_IF_ERROR(holdfast::Fill(
        target.place(),
        {.width = count * width, .height = height, .pitch = pitch}, pattern,
        stream.queue()));
    return wait == Wait::kYes && !target.is_device()
               ? Answer(stream.queue().Synchronize())
               : CUDA_SUCCESS;
  };
  const CUDA_MEMSET_NODE_PARAMS parameters{
      address, pitch, value, static_cast<unsigned>(width), count, height};
  const auto capture = [&](Process& process, Stream& stream,
                           NodeWork* work) -> CUresult {
    if (count == 0 || height == 0) {
      *work = EmptyWork{};
      return CUDA_SUCCESS;
    }
    const std::shared_ptr<Context> context = stream.context();
    return context == nullptr
               ? CUDA_ERROR_CONTEXT_IS_DESTROYED
               : ReadFill(process, parameters, context->handle(), work);
  };
  return WithWork(handle, capture, submit);
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(EndAt(to, Side::kAny), EndAt(from, Side::kAny), size,
                    nullptr, Wait::kYes);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                       CUstream stream) {
  return CopyLinear(EndAt(to, Side::kAny), EndAt(from, Side::kAny), size,
                    stream, Wait::kNo);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t size) {
  return CopyLinear(EndAt(to), EndAt(from), size, nullptr, Wait::kYes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t size,
                              CUstream stream) {
  return CopyLinear(EndAt(to), EndAt(from), size, stream, Wait::kNo);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t size) {
  return CopyLinear(EndAt(to), EndAt(from), size, nullptr, Wait::kYes);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(EndAt(to), EndAt(from), size, stream, Wait::kNo);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  return CopyLinear(EndAt(to), EndAt(from), size, nullptr, Wait::kYes);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size,
                              CUstream stream) {
  return CopyLinear(EndAt(to), EndAt(from), size, stream, Wait::kNo);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return CopyVolume(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return CopyVolume(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return CopyVolume(copy, stream, Wait::kNo);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  return CopyVolume(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return CopyVolume(copy, stream, Wait::kNo);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from,
                               size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* first,
                               size_t attribute_count, CUstream stream) {
  if (AnyNull(to, from, sizes) || count == 0 ||
      (attribute_count > 0 && AnyNull(attributes, first))) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result =
        CopyLinear(EndAt(to[i], Side::kAny), EndAt(from[i], Side::kAny),
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
  return CopyVolume(copy, nullptr, Wait::kYes);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return CopyVolume(copy, stream, Wait::kNo);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return FillRows(to, 0, value, 1, count, 1, nullptr, Wait::kYes);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return FillRows(to, 0, value, 2, count, 1, nullptr, Wait::kYes);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return FillRows(to, 0, value, 4, count, 1, nullptr, Wait::kYes);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return FillRows(to, 0, value, 1, count, 1, stream, Wait::kNo);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  return FillRows(to, 0, value, 2, count, 1, stream, Wait::kNo);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return FillRows(to, 0, value, 4, count, 1, stream, Wait::kNo);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value,
                         size_t width, size_t height) {
  return FillRows(to, pitch, value, 1, width, height, nullptr, Wait::kYes);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
                          size_t width, size_t height) {
  return FillRows(to, pitch, value, 2, width, height, nullptr, Wait::kYes);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value,
                          size_t width, size_t height) {
  return FillRows(to, pitch, value, 4, width, height, nullptr, Wait::kYes);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 1, width, height, stream, Wait::kNo);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
                            size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 2, width, height, stream, Wait::kNo);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream) {
  return FillRows(to, pitch, value, 4, width, height, stream, Wait::kNo);
}

}  // extern "C"
