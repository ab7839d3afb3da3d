// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_BACKGROUND_COPY_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_BACKGROUND_COPY_H_

#include <cstddef>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/chunk.h"

namespace holdfast {

// Copies chunks to memory, in order, on a second thread, so that the thread
// that receives them can receive the next one. Copies in Append if the process
// cannot have another thread. Not thread-safe.
class BackgroundCopy {
 public:
  // Starts the thread. `destination` gets the chunks one behind the other.
  // REQUIRES: there is room for all chunks.
  explicit BackgroundCopy(char* destination);
  // Blocks until all chunks are copied.
  ~BackgroundCopy();
  BackgroundCopy(const BackgroundCopy&) = delete;
  BackgroundCopy& operator=(const BackgroundCopy&) = delete;

  // Copies `chunk` behind the earlier chunks. Blocks while kMaxWaiting chunks
  // wait.
  void Append(ChunkData chunk);

 private:
  static constexpr size_t kMaxWaiting = 2;

  void Run();
  void Copy(const ChunkData& chunk);

  char* next_;  // used by the copying thread
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<ChunkData> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // none: Append copies
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_BACKGROUND_COPY_H_
