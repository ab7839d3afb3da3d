// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_

#include <cstddef>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The output of the threads of one launch, in the order in which they print. As
// on a GPU, the oldest output is dropped when there is no room, and the output
// is written when the launch has ended. Thread-safe.
class PrintBuffer {
 public:
  // Keeps `bytes` of output at most.
  explicit PrintBuffer(size_t bytes) : bytes_(bytes) {}
  ~PrintBuffer();  // writes to stdout
  PrintBuffer(const PrintBuffer&) = delete;
  PrintBuffer& operator=(const PrintBuffer&) = delete;

  // Appends a text. A text longer than the buffer is dropped together with all
  // earlier output.
  void Add(std::string text);

 private:
  const size_t bytes_;
  Mutex mutex_;
  std::list<std::string> texts_ ABSL_GUARDED_BY(mutex_);
  size_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_
