// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MAPPING_H_
#define HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MAPPING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/sharing/export.h"

namespace holdfast {

struct LocalMappingOptions {
  // The driver's library; empty: libcuda.so.1. For a daemon on the software
  // device: the path of its driver, from DescribeDevice.
  std::string driver = {};
  // The ordinal, in this process, of the memory's device or of a device with
  // access to that device.
  int device = 0;
};

// Exported memory, mapped in this process with cuMemMap: a device pointer for
// kernels of this process, for PyTorch or other libraries. Needs no session.
// The memory lives until this object is destroyed, even if the session that
// made it or the daemon ends.
//
// A kernel of this process that writes to read-only memory faults, and this
// process then loses its CUDA context.
class LocalMapping {
 public:
  // Maps the memory. Blocks until it is mapped. UNAVAILABLE: this process has
  // no driver, or there is no daemon. PERMISSION_DENIED, NOT_FOUND: the daemon
  // refuses the token, as ImportResource documents. INVALID_ARGUMENT: the
  // exported range exceeds the mapping. Does not change the calling thread's
  // current context.
  static absl::StatusOr<std::unique_ptr<LocalMapping>> Map(
      const LocalExport& memory, const LocalMappingOptions& options = {});
  // Unmaps the memory. REQUIRES: no kernel uses the memory any more.
  ~LocalMapping();
  LocalMapping(const LocalMapping&) = delete;
  LocalMapping& operator=(const LocalMapping&) = delete;

  // A device pointer to the exported range.
  uint64_t pointer() const;
  uint64_t size() const;

  // Unmaps the memory, so that the daemon may free it, and keeps the addresses
  // reserved. Does nothing if the mapping sleeps already. REQUIRES: no kernel
  // uses the memory until Wake().
  absl::Status Sleep();
  // Maps `memory` at the same addresses: an export of the same buffer, of the
  // same array of a collection, or of an array with the same layout in a newer
  // version. Pointers into it are valid again. FAILED_PRECONDITION: the mapping
  // is awake, or `memory` has another layout and needs a new mapping; the
  // message names the difference. After an error the mapping still sleeps.
  absl::Status Wake(const LocalExport& memory);
  bool asleep() const;

 private:
  struct State;
  explicit LocalMapping(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MAPPING_H_
