// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_STDERR_CAPTURE_H_
#define HOLDFAST_CORE_COMPILE_STDERR_CAPTURE_H_

#include <string>

#include "core/base/unique_fd.h"

namespace holdfast::compile {

// Captures the process's output to descriptor 2 while the object lives, for
// libraries that report errors only there. Captures nothing if the system
// refuses the needed descriptors. REQUIRES: there is one object at a time.
class StderrCapture {
 public:
  StderrCapture();
  ~StderrCapture();
  StderrCapture(const StderrCapture&) = delete;
  StderrCapture& operator=(const StderrCapture&) = delete;

  // Returns the first 64 KiB of the output so far.
  std::string Text() const;

 private:
  UniqueFd memory_;
  UniqueFd original_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_STDERR_CAPTURE_H_
