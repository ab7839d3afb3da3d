// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/device.h"
#include "client/cpp/local/local_mapping.h"

namespace holdfast {

// Imports memory of this process's own CUDA context (PyTorch's, CuPy's, or any
// CUDA code's) as a buffer of a session, without a copy: `size` bytes at
// `pointer`, an address of options.device. Waits.
//
// The session and this process can read and write the memory; their streams are
// not ordered. Memory of cuMemCreate with an exportable descriptor lives until
// the session and this process have released it. Memory of cuMemAlloc ends with
// this process's cuMemFree: keep it as long as the buffer.
//
// The session has access to the whole allocation that contains the bytes.
//
// FAILED_PRECONDITION: the daemon is not on this machine; the memory cannot be
// shared (it comes from cuMemAllocAsync, is managed, or has no exportable
// type); or it is not in one allocation. UNAVAILABLE: this process has no
// driver. INVALID_ARGUMENT: the daemon's driver refuses the memory; the
// software device refuses memory of cuMemAlloc.
absl::StatusOr<Buffer> ImportLocal(const Device& device, uint64_t pointer,
                                   uint64_t size,
                                   const LocalMappingOptions& options = {});

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MEMORY_H_
