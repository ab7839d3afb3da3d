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
  // device: the path of its driver, which DescribeDevice tells.
  std::string driver = {};
  // The device as this process counts, which must be the one that the memory is
  // on, or one that has access to it.
  int device = 0;
};

// Exported memory, mapped in this process with cuMemMap: a pointer for kernels
// of this process, for PyTorch, or for anything else that takes one. No session
// is needed, and the memory lives until this object ends, whatever becomes of
// the session that made it, and of the daemon.
//
// A kernel of this process that stores without the right to faults, which
// costs this process its CUDA context.
class LocalMapping {
 public:
  // UNAVAILABLE: no driver, or no daemon; PERMISSION_DENIED, NOT_FOUND: as
  // ImportResource. Leaves the calling thread's current context as it is.
  static absl::StatusOr<std::unique_ptr<LocalMapping>> Map(
      const LocalExport& memory, const LocalMappingOptions& options = {});
  // REQUIRES: no kernel uses the memory any more.
  ~LocalMapping();
  LocalMapping(const LocalMapping&) = delete;
  LocalMapping& operator=(const LocalMapping&) = delete;

  // A device pointer to the exported range.
  uint64_t pointer() const;
  uint64_t size() const;

  // Unmaps the memory, so that the daemon may free it, and keeps the addresses:
  // nothing else in this process gets them. OK if it sleeps already.
  // REQUIRES: no kernel uses the memory any more, nor does until Wake().
  absl::Status Sleep();
  // Maps `memory` where this mapping was: an export of the same buffer, of the
  // same array of a collection, or of one with the same layout in a newer
  // version. Pointers into it are good again. FAILED_PRECONDITION: the mapping
  // is awake, or `memory` has another layout and has to be mapped anew; the
  // message tells the difference. After an error it still sleeps.
  absl::Status Wake(const LocalExport& memory);
  bool asleep() const;

 private:
  struct State;
  explicit LocalMapping(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LOCAL_LOCAL_MAPPING_H_
