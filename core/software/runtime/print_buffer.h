// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_

#include <cstddef>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The output of printf in the threads of one launch, in the order of the calls.
// As on a GPU, the oldest output is dropped if there is no room, and the output
// is written when the launch has ended. Thread-safe.
class PrintBuffer {
 public:
  // Makes a buffer for at most `bytes` bytes of output.
  explicit PrintBuffer(size_t bytes) : bytes_(bytes) {}
  // Writes the output to stdout, and flushes stdout.
  ~PrintBuffer();
  PrintBuffer(const PrintBuffer&) = delete;
  PrintBuffer& operator=(const PrintBuffer&) = delete;

  // Appends a text, and drops the oldest texts until the rest fits. Drops a
  // text that is longer than the buffer, together with all earlier texts.
  void Add(std::string text);

 private:
  const size_t bytes_;
  Mutex mutex_;
  std::list<std::string> texts_ ABSL_GUARDED_BY(mutex_);
  size_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_PRINT_BUFFER_H_
