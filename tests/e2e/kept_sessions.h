// SPDX-License-Identifier: Apache-2.0
//
// Sessions and collections that are to outlive their daemon, and a look at
// whether they have.
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

// The numbers of a Client.
inline constexpr int kCount = 1 << 14;

// A session with a kernel that counts its launches, and numbers.
class Client {
 public:
  explicit Client(const SessionOptions& options);

  Session& session() { return *session_; }
  const Stream& stream() const { return stream_; }

  absl::Status Count();
  absl::Status Add(int value);
  // As the device has it; launches() if no launch was lost or came twice.
  unsigned Sum();
  Kernel Get(const char* name) { return module_.GetKernel(name).value(); }
  const Buffer& numbers() const { return numbers_; }
  const std::vector<int>& expected() const { return expected_; }
  void NoteAdded(int value);
  unsigned launches() const { return launches_; }
  // Words of the buffer that are not `value`.
  unsigned Wrong(const Buffer& buffer, uint64_t words, uint32_t value);
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

// A session with a resource of each kind that its successor has to make again,
// and one whose memory and semaphore it imports.
class Everything {
 public:
  explicit Everything(const std::string& address);

  Client& owner() { return owner_; }
  Client& client() { return client_; }
  void ExpectAll();

 private:
  // One still reads what the other writes.
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

// Opens sessions on a daemon, to look at a collection.
class Reader {
 public:
  explicit Reader(const std::string& address);

  void ExpectWeights(const std::vector<int>& weights);
  // Takes note of a fault.
  void Synchronize() { session_->Synchronize().IgnoreError(); }

 private:
  std::unique_ptr<Session> session_;
  Stream stream_;
  Collection collection_;
};

// Commits the collection of a Reader, by a session that is closed then.
void Write(const std::string& address, const std::vector<int>& weights);

absl::Duration TimeOf(const auto& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

// Connections that are made from then on are the new daemon's.
void UpgradeOnce(const DaemonProcess& daemon);

// The path of a temporary file.
std::string TestFile(const std::string& name);
void WriteFile(const std::string& path, const std::string& text);

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_KEPT_SESSIONS_H_
