// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_IMPORTS_SHARING_LINK_H_
#define HOLDFAST_SERVER_EXECUTOR_IMPORTS_SHARING_LINK_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::executor {

// The supervisor's name of a chunk: unique in the session.
inline uint64_t ChunkName(uint32_t device, uint32_t chunk) {
  return uint64_t{device} << 32 | chunk;
}

// The supervisor's answer to a SharingRequest.
struct SharingAnswer {
  internal::SharingReply reply;
  UniqueFd descriptor;  // of imported memory
};

// A session's link to other sessions: it asks the supervisor, which knows all
// sessions.
struct SharingLink {
  // Sends a request with a descriptor (-1: none), and waits for the answer. An
  // error is the supervisor's refusal. Without a supervisor, refuses every
  // request. Thread-safe.
  std::function<absl::StatusOr<SharingAnswer>(const internal::SharingRequest&,
                                              int descriptor)>
      ask = [](const internal::SharingRequest&,
               int) -> absl::StatusOr<SharingAnswer> {
    return absl::FailedPreconditionError(
        "this executor has no supervisor, so nothing can be shared");
  };
  // Tells the supervisor that an import is not used any more. Thread-safe.
  std::function<void(uint64_t import)> released = [](uint64_t) {};
  // Returns the descriptor that the client has sent under this token; see
  // FdReceiver.
  std::function<absl::StatusOr<UniqueFd>(absl::string_view token)> claim;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_SHARING_LINK_H_
