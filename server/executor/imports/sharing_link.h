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

// Returns the supervisor's name of a chunk, which is unique in the session.
inline uint64_t ChunkName(uint32_t device, uint32_t chunk) {
  return uint64_t{device} << 32 | chunk;
}

// The supervisor's answer to a SharingRequest.
struct SharingAnswer {
  internal::SharingReply reply;
  UniqueFd descriptor;  // of imported memory
};

// A session's link to other sessions. The functions call the supervisor, which
// has the exports and imports of all sessions.
struct SharingLink {
  // Sends a request with a descriptor, which is borrowed (-1: none), and blocks
  // until the answer. An error is the supervisor's refusal. The default, for an
  // executor without a supervisor, refuses every request. Thread-safe.
  std::function<absl::StatusOr<SharingAnswer>(const internal::SharingRequest&,
                                              int descriptor)>
      ask = [](const internal::SharingRequest&,
               int) -> absl::StatusOr<SharingAnswer> {
    return absl::FailedPreconditionError(
        "this executor has no supervisor, so nothing can be shared");
  };
  // Tells the supervisor that an import is not used any more. Does not wait for
  // an answer. Thread-safe.
  std::function<void(uint64_t import)> released = [](uint64_t) {};
  // Returns the descriptor that the client has sent under this token. Fails as
  // FdReceiver::Claim.
  std::function<absl::StatusOr<UniqueFd>(absl::string_view token)> claim;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_IMPORTS_SHARING_LINK_H_
