// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/device.h"
#include "client/cpp/local/local_mapping.h"

namespace holdfast {

// Memory of this process's own CUDA context (PyTorch's, CuPy's, or of any CUDA
// code) as a buffer of a session, without a copy: `size` bytes at `pointer`,
// which is an address of options.device as this process counts. Waits.
//
// Both sides read and write it, and know nothing of each other's streams.
// Memory of cuMemCreate, with a descriptor to export, lives until both have let
// go. Memory of cuMemAlloc ends with this process's cuMemFree, whatever the
// buffer does; keep it for as long.
//
// The session reaches the whole allocation that the bytes lie in.
//
// FAILED_PRECONDITION: the daemon is not on this machine, or the memory cannot
// be shared (of cuMemAllocAsync, managed, made without a descriptor's type), or
// is not all in one allocation. UNAVAILABLE: no driver in this process.
// INVALID_ARGUMENT: the daemon's driver does not take it; the software device
// refuses memory of cuMemAlloc.
absl::StatusOr<Buffer> ImportLocal(const Device& device, uint64_t pointer,
                                   uint64_t size,
                                   const LocalMappingOptions& options = {});

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_
