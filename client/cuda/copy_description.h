// SPDX-License-Identifier: Apache-2.0
//
// CUDA's structures of copies as boxes between two addresses.
#ifndef HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cuda/copy.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The caller says by the function or by a struct where an address lies.
enum class Side { kHost, kDevice, kAny };

struct CopyEnd {
  uint64_t address = 0;  // of the first byte
  Side side = Side::kAny;
};

// INVALID_ARGUMENT: the side is kDevice, and the session has no memory there.
absl::StatusOr<Operand> Resolve(const MemoryMap& memory, const CopyEnd& end);

struct CopyDescription {
  CopyEnd destination;
  CopyEnd source;
  BoxCopy box;

  bool is_empty() const {
    return box.width == 0 || box.height == 0 || box.depth == 0;
  }
};

// CUDA_ERROR_INVALID_VALUE: distances are less than the box, or no address
// comes of them. CUDA_ERROR_NOT_SUPPORTED: an array. The contexts of a
// CUDA_MEMCPY3D_PEER say nothing new: the session's addresses tell the devices.
CUresult Describe(const CUDA_MEMCPY2D& parameters, CopyDescription* copy);
CUresult Describe(const CUDA_MEMCPY3D& parameters, CopyDescription* copy);
CUresult Describe(const CUDA_MEMCPY3D_PEER& parameters, CopyDescription* copy);

// The inverse, for a node that was captured.
CUDA_MEMCPY3D ParametersOf(const CopyDescription& copy);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_
