// SPDX-License-Identifier: Apache-2.0
#include "core/compile/stderr_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::compile {
namespace {

constexpr size_t kMaxText = 64 * 1024;

}  // namespace

StderrCapture::StderrCapture()
    : memory_(memfd_create("holdfast-stderr", MFD_CLOEXEC)),
      original_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
  if (memory_.valid() && original_.valid()) dup2(memory_.get(), STDERR_FILENO);
}

StderrCapture::~StderrCapture() {
  fflush(stderr);
  if (memory_.valid() && original_.valid()) {
    dup2(original_.get(), STDERR_FILENO);
  }
}

std::string StderrCapture::Text() const {
  fflush(stderr);
  std::string text(kMaxText, '\0');
  const ssize_t size =
      memory_.valid() ? pread(memory_.get(), text.data(), text.size(), 0) : 0;
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace holdfast::compile
