// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/print_buffer.h"

#include <cstdio>
#include <utility>

#include "core/software/base/mutex.h"

namespace holdfast::software {

void PrintBuffer::Add(std::string text) {
  MutexLock lock(&mutex_);
  used_ += text.size();
  texts_.push_back(std::move(text));
  while (used_ > bytes_) {
    used_ -= texts_.front().size();
    texts_.pop_front();
  }
}

PrintBuffer::~PrintBuffer() {
  MutexLock lock(&mutex_);
  if (texts_.empty()) return;
  for (const std::string& text : texts_) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  std::fflush(stdout);
}

}  // namespace holdfast::software
