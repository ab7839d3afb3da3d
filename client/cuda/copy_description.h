// SPDX-License-Identifier: Apache-2.0
//
// Converts CUDA's structures of copies to copies of boxes between two
// addresses.
#ifndef HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cuda/copy.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The kind of memory of an address, as the program's call declares it.
enum class Side { kHost, kDevice, kAny };

struct CopyEnd {
  uint64_t address = 0;  // of the first byte
  Side side = Side::kAny;
};

// Returns the memory at one end of a copy. INVALID_ARGUMENT: the side is
// kDevice, and the session has no memory at the address.
absl::StatusOr<Operand> Resolve(const MemoryMap& memory, const CopyEnd& end);

struct CopyDescription {
  CopyEnd destination;
  CopyEnd source;
  BoxCopy box;

  bool is_empty() const {
    return box.width == 0 || box.height == 0 || box.depth == 0;
  }
};

// Set *copy to the copy of `parameters`. CUDA_ERROR_INVALID_VALUE: a pitch or
// height is less than the box, an address is null or overflows, or a field is
// invalid. CUDA_ERROR_NOT_SUPPORTED: an end is an array. Ignore the contexts of
// a CUDA_MEMCPY3D_PEER, because the addresses determine the devices.
CUresult Describe(const CUDA_MEMCPY2D& parameters, CopyDescription* copy);
CUresult Describe(const CUDA_MEMCPY3D& parameters, CopyDescription* copy);
CUresult Describe(const CUDA_MEMCPY3D_PEER& parameters, CopyDescription* copy);

// Returns the CUDA structure of a copy, for a captured node.
CUDA_MEMCPY3D ParametersOf(const CopyDescription& copy);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_COPY_DESCRIPTION_H_
