// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_READ_AHEAD_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_READ_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace holdfast::cli {

// Bytes of an array that was read.
struct ArrayPiece {
  size_t array = 0;     // index
  uint64_t offset = 0;  // in the array, in bytes
  std::string bytes;
};

// Reads pieces in a thread of its own while the caller uses those before, so
// that a disk and a device's bus work at the same time. Holds at most
// kMaxAhead pieces. For one caller.
class ReadAhead {
 public:
  static constexpr size_t kMaxAhead = 4;

  // Takes the bytes of one piece, and leaves memory for the next in their
  // place. Returns false if no more are wanted. May block.
  using Give =
      std::function<bool(size_t array, uint64_t offset, std::string& bytes)>;
  // Gives all pieces in their order. Its error is the last thing that the
  // caller gets. Called once, by the thread.
  using Read = std::function<absl::Status(const Give& give)>;

  explicit ReadAhead(Read read);
  // Waits for the thread, which is told to stop.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Blocks until there is a piece. nullopt: that was all.
  absl::StatusOr<std::optional<ArrayPiece>> Next();
  // The memory of a piece that was used is filled again.
  void Recycle(ArrayPiece piece);

 private:
  bool Put(size_t array, uint64_t offset, std::string& bytes);

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<ArrayPiece> pieces_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> spare_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> ended_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_READ_AHEAD_H_
