// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies of linear memory.
#include "client/cudart/call.h"
#include "client/cudart/copy_description.h"

using namespace holdfast::libcudart;

namespace {

CUresult Copy(const Driver& driver, void* to, const void* from, size_t size,
              cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return driver.MemcpyHtoD(Address(to), from, size);
    case cudaMemcpyDeviceToHost:
      return driver.MemcpyDtoH(to, Address(from), size);
    case cudaMemcpyDeviceToDevice:
      return driver.MemcpyDtoD(Address(to), Address(from), size);
    default:
      return driver.Memcpy(Address(to), Address(from), size);
  }
}

CUresult CopyAsync(const Driver& driver, void* to, const void* from,
                   size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return driver.MemcpyHtoDAsync(Address(to), from, size, stream);
    case cudaMemcpyDeviceToHost:
      return driver.MemcpyDtoHAsync(to, Address(from), size, stream);
    case cudaMemcpyDeviceToDevice:
      return driver.MemcpyDtoDAsync(Address(to), Address(from), size, stream);
    default:
      return driver.MemcpyAsync(Address(to), Address(from), size, stream);
  }
}

// body(const Driver&), if there is anything to copy in a direction that exists.
template <typename Body>
cudaError_t WithCopy(cudaMemcpyKind kind, size_t size, Body body) {
  if (!IsDirection(kind)) return Record(cudaErrorInvalidMemcpyDirection);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    return size == 0 ? cudaSuccess : Translate(body(driver));
  });
}

// body(const Driver&, char* address) with the address in a variable, which
// `wrong` of the directions does not reach.
template <typename Body>
cudaError_t WithVariable(const void* symbol, size_t offset, size_t size,
                         cudaMemcpyKind kind, cudaMemcpyKind wrong, Body body) {
  if (kind == wrong || kind == cudaMemcpyHostToHost) {
    return Record(cudaErrorInvalidMemcpyDirection);
  }
  return WithCopy(kind, size, [&](const Driver& driver) -> cudaError_t {
    CUdeviceptr address = 0;
    size_t limit = 0;
    const cudaError_t error = FindVariable(driver, symbol, &address, &limit);
    if (error != cudaSuccess) return error;
    if (offset > limit || size > limit - offset) return cudaErrorInvalidValue;
    return Translate(body(driver, reinterpret_cast<char*>(address) + offset));
  });
}

// body(const Driver&, const CUDA_MEMCPY2D&) with rows of memory.
template <typename Body>
cudaError_t WithRows(void* to, size_t to_pitch, const void* from,
                     size_t from_pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, Body body) {
  const size_t size = height == 0 ? 0 : width;
  // NVIDIA's runtime gives one row another error than several.
  if (size > to_pitch || size > from_pitch) {
    return Record(height == 1 ? cudaErrorInvalidValue
                              : cudaErrorInvalidPitchValue);
  }
  return WithCopy(kind, size, [&](const Driver& driver) {
    const CUDA_MEMCPY2D rows =
        DescribeRows(to, to_pitch, from, from_pitch, width, height, kind);
    return body(driver, rows);
  });
}

// body(const Driver&, const CUDA_MEMCPY3D&).
template <typename Body>
cudaError_t WithBox(const cudaMemcpy3DParms* box, Body body) {
  if (box == nullptr) return Record(cudaErrorInvalidValue);
  const cudaExtent& extent = box->extent;
  const bool is_empty =
      extent.width == 0 || extent.height == 0 || extent.depth == 0;
  const size_t size = is_empty ? 0 : 1;
  return WithCopy(box->kind, size, [&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D described;
    const cudaError_t error = DescribeBox(driver, *box, &described);
    return error != cudaSuccess ? error : Translate(body(driver, described));
  });
}

// The same between devices.
template <typename Body>
cudaError_t WithPeerBox(const cudaMemcpy3DPeerParms* box, Body body) {
  if (box == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D_PEER described;
    const cudaError_t error = DescribePeerBox(driver, *box, &described);
    return error != cudaSuccess ? error : Translate(body(driver, described));
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t size,
                       cudaMemcpyKind kind) {
  return WithCopy(kind, size, [&](const Driver& driver) {
    return Copy(driver, to, from, size, kind);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return WithCopy(kind, size, [&](const Driver& driver) {
    return CopyAsync(driver, to, from, size, kind, stream);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from,
                               size_t size, size_t offset,
                               cudaMemcpyKind kind) {
  return WithVariable(symbol, offset, size, kind, cudaMemcpyDeviceToHost,
                      [&](const Driver& driver, char* to) {
                        return Copy(driver, to, from, size, kind);
                      });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t size,
                                 size_t offset, cudaMemcpyKind kind) {
  return WithVariable(symbol, offset, size, kind, cudaMemcpyHostToDevice,
                      [&](const Driver& driver, const char* from) {
                        return Copy(driver, to, from, size, kind);
                      });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from,
                                    size_t size, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return WithVariable(symbol, offset, size, kind, cudaMemcpyDeviceToHost,
                      [&](const Driver& driver, char* to) {
                        return CopyAsync(driver, to, from, size, kind, stream);
                      });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t size,
                                      size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return WithVariable(symbol, offset, size, kind, cudaMemcpyHostToDevice,
                      [&](const Driver& driver, const char* from) {
                        return CopyAsync(driver, to, from, size, kind, stream);
                      });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from,
                         size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return WithRows(to, to_pitch, from, from_pitch, width, height, kind,
                  [](const Driver& driver, const CUDA_MEMCPY2D& rows) {
                    return driver.Memcpy2DUnaligned(&rows);
                  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                              size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return WithRows(to, to_pitch, from, from_pitch, width, height, kind,
                  [&](const Driver& driver, const CUDA_MEMCPY2D& rows) {
                    return driver.Memcpy2DAsync(&rows, stream);
                  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* box) {
  return WithBox(box, [](const Driver& driver, const CUDA_MEMCPY3D& described) {
    return driver.Memcpy3D(&described);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* box,
                              cudaStream_t stream) {
  return WithBox(box,
                 [&](const Driver& driver, const CUDA_MEMCPY3D& described) {
                   return driver.Memcpy3DAsync(&described, stream);
                 });
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* box) {
  return WithPeerBox(
      box, [](const Driver& driver, const CUDA_MEMCPY3D_PEER& described) {
        return driver.Memcpy3DPeer(&described);
      });
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* box,
                                  cudaStream_t stream) {
  return WithPeerBox(
      box, [&](const Driver& driver, const CUDA_MEMCPY3D_PEER& described) {
        return driver.Memcpy3DPeerAsync(&described, stream);
      });
}

cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from,
                                 const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes,
                                 size_t* indices, size_t attribute_count,
                                 cudaStream_t stream) {
  return CallInContext(&Driver::MemcpyBatchAsync,
                       reinterpret_cast<CUdeviceptr*>(const_cast<void**>(to)),
                       reinterpret_cast<CUdeviceptr*>(const_cast<void**>(from)),
                       const_cast<size_t*>(sizes), count,
                       As<CUmemcpyAttributes>(attributes), indices,
                       attribute_count, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* boxes,
                                   unsigned long long flags,
                                   cudaStream_t stream) {
  return CallInContext(&Driver::Memcpy3DBatchAsync, count,
                       As<CUDA_MEMCPY3D_BATCH_OP>(boxes), flags, stream);
}

}  // extern "C"
