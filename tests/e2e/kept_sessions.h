// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections that must outlive their daemon, with checks that
// they have.
#ifndef HOLDFAST_TESTS_E2E_KEPT_SESSIONS_H_
#define HOLDFAST_TESTS_E2E_KEPT_SESSIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {

// The number of elements in Client::numbers().
inline constexpr int kCount = 1 << 14;

// A session with a count of launches and an array of ints on the device, and
// the values that both must have.
class Client {
 public:
  explicit Client(const SessionOptions& options);

  Session& session() { return *session_; }
  const Stream& stream() const { return stream_; }

  // Launches a kernel that increments the count.
  absl::Status Count();
  // Launches a kernel that adds `value` to each number.
  absl::Status Add(int value);
  // Returns the device's count. It equals launches() if no launch was lost or
  // repeated.
  unsigned Sum();
  Kernel Get(const char* name) { return module_.GetKernel(name).value(); }
  const Buffer& numbers() const { return numbers_; }
  const std::vector<int>& expected() const { return expected_; }
  // Adds `value` to each expected number.
  void NoteAdded(int value);
  unsigned launches() const { return launches_; }
  // Returns how many of the buffer's first `words` words are not `value`.
  unsigned Wrong(const Buffer& buffer, uint64_t words, uint32_t value);
  // Expects numbers() to equal expected().
  void ExpectNumbers();

 private:
  std::unique_ptr<Session> session_;
  Module module_;
  Stream stream_;
  Buffer sum_;
  Buffer numbers_;
  std::vector<int> expected_;
  unsigned launches_ = 0;
};

// A session with a resource of each kind that an executor's successor must
// recreate, and a second session, whose memory and semaphore it imports.
class Everything {
 public:
  explicit Everything(const std::string& address);

  Client& owner() { return owner_; }
  Client& client() { return client_; }
  void ExpectAll();

 private:
  // Expects that each session sees what the other writes.
  void ExpectShared();

  Client owner_;
  Client client_;
  Buffer shared_;
  Semaphore counter_;
  Buffer imported_;
  Semaphore imported_counter_;
  std::shared_ptr<Arena> arena_;
  ArenaSpan span_;
  std::optional<GraphExec> graph_;
  uint32_t value_ = 9;
  uint64_t count_ = 7;
};

// A session that has opened the collection of Write.
class Reader {
 public:
  explicit Reader(const std::string& address);

  void ExpectWeights(const std::vector<int>& weights);
  // Waits for the session's work, and ignores its errors, such as a fault.
  void Synchronize() { session_->Synchronize().IgnoreError(); }

 private:
  std::unique_ptr<Session> session_;
  Stream stream_;
  Collection collection_;
};

// Commits a collection "model" in a session that is then closed.
void Write(const std::string& address, const std::vector<int>& weights);

// Returns a google.protobuf.Duration, or the time since 1970 of a
// google.protobuf.Timestamp.
absl::Duration TimeOf(const auto& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

// Upgrades the daemon, and waits until the new daemon answers new connections.
void UpgradeOnce(const DaemonProcess& daemon);

// Returns the path of a temporary file with this name; makes no file.
std::string TestFile(const std::string& name);
void WriteFile(const std::string& path, const std::string& text);

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_KEPT_SESSIONS_H_
