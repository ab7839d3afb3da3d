// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_SESSION_H_
#define HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_SESSION_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/session/session.h"

namespace holdfast::fuzz {

// An executor's session in this process, on the software device, without a
// supervisor. Several may run at once.
class HostedSession {
 public:
  // Bytes of all arenas together.
  static constexpr uint64_t kArenaBytes = uint64_t{64} << 20;

  HostedSession();

  executor::Session& session() { return *session_; }
  // 16 bytes.
  static const std::string& token();

  // Serializes and parses a batch, as the wire does, runs it, and returns all
  // its results. Fails if the batch as a whole is refused.
  absl::StatusOr<v1::ResultBatch> Run(const v1::CommandBatch& batch);

  // Makes an arena of so many bytes, as RegisterArena does.
  absl::Status AddArena(uint64_t handle, uint64_t size);

  // Ends the session and returns an error if it has left anything behind.
  absl::Status End();

 private:
  struct Held {
    std::atomic<int64_t> chunks{0};
  };

  const std::shared_ptr<Held> held_ = std::make_shared<Held>();
  std::shared_ptr<Account> account_;
  std::unique_ptr<executor::Session> session_;
};

// Checks the error of a result: it must have a message, and a code that a
// client can cause, which is neither INTERNAL nor UNKNOWN.
absl::Status CheckError(int code, const std::string& text);

// Resources of this process that a session may have leaked.
class Holdings {
 public:
  // Records the present resources.
  Holdings();

  // Returns an error that names the descriptors, or the bytes of device memory,
  // that the process has in addition to the recorded ones. Waits up to 10 s for
  // descriptors to be closed.
  absl::Status CheckNothingMore() const;

 private:
  std::map<int, std::string> descriptors_;
  uint64_t free_bytes_;  // of the device
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_EXECUTOR_HOSTED_SESSION_H_
