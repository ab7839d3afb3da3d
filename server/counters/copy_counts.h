// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_COPY_COUNTS_H_
#define HOLDFAST_SERVER_COUNTERS_COPY_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "google/protobuf/repeated_ptr_field.h"
#include "holdfast/v1/buffer_commands.pb.h"

namespace holdfast {

// Counts a session's copies and their bytes, by path. A copy is counted when it
// is submitted to the device. Thread-safe.
class CopyCounts {
 public:
  // Adds `copies` copies with `bytes` bytes in total.
  void Add(v1::CopyPath path, uint64_t bytes, uint64_t copies = 1) {
    Count& count = counts_[static_cast<size_t>(path)];
    count.copies.fetch_add(copies, std::memory_order_relaxed);
    count.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Appends one entry for each path that has copies.
  void Report(
      google::protobuf::RepeatedPtrField<v1::CopyStatistics>* copies) const {
    for (size_t path = 0; path < counts_.size(); ++path) {
      if (counts_[path].copies == 0) continue;
      v1::CopyStatistics& statistics = *copies->Add();
      statistics.set_path(static_cast<v1::CopyPath>(path));
      statistics.set_copies(counts_[path].copies);
      statistics.set_bytes(counts_[path].bytes);
    }
  }

 private:
  struct Count {
    std::atomic<uint64_t> copies{0};
    std::atomic<uint64_t> bytes{0};
  };
  std::array<Count, v1::CopyPath_ARRAYSIZE> counts_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_COPY_COUNTS_H_
