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

// Copies chunks to memory, one behind the other, in a thread of its own: the
// one that has received them receives the next meanwhile. Where the process may
// have no other thread, that one copies. Used by one thread.
class BackgroundCopy {
 public:
  // There has to be room for all chunks.
  explicit BackgroundCopy(char* destination);
  // Blocks until all are copied.
  ~BackgroundCopy();
  BackgroundCopy(const BackgroundCopy&) = delete;
  BackgroundCopy& operator=(const BackgroundCopy&) = delete;

  // Blocks while kMaxWaiting others wait.
  void Append(ChunkData chunk);

 private:
  static constexpr size_t kMaxWaiting = 2;

  void Run();
  void Copy(const ChunkData& chunk);

  char* next_;  // of who copies
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<ChunkData> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // none: Append copies
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_BACKGROUND_COPY_H_
