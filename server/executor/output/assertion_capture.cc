// SPDX-License-Identifier: Apache-2.0
#include "server/executor/output/assertion_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/log_descriptor.h"

// Sanitizers report to a descriptor of their own.
extern "C" __attribute__((weak)) void __sanitizer_set_report_fd(void* fd);

namespace holdfast::executor {
namespace {

// A longer line is handed on in parts.
constexpr size_t kMaxLine = size_t{16} << 10;

// Where a process that ends finds its last words, and where they go.
std::atomic<int> last_pipe{-1};
std::atomic<int> last_original{-1};

// Safe in a handler of signals.
void WriteAll(int descriptor, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t put = write(descriptor, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;  // Nobody listens; there is nowhere to say so.
    bytes += put;
    size -= static_cast<size_t>(put);
  }
}

void HandOnLastWords() {
  char bytes[4096];
  for (;;) {
    const ssize_t count = read(last_pipe, bytes, sizeof bytes);
    if (count <= 0) return;
    WriteAll(last_original, bytes, static_cast<size_t>(count));
  }
}

// abort() raises the signal again when this returns, with its default action.
void OnAbort(int) { HandOnLastWords(); }

bool IsAssertion(absl::string_view line) {
  const size_t block = line.find(": block: [");
  const size_t end = line.rfind("` failed.");
  return block != absl::string_view::npos && end != absl::string_view::npos &&
         line.substr(block, end - block).find("] Assertion `") !=
             absl::string_view::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AssertionCapture>> AssertionCapture::Begin() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const int original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (original < 0 || dup2(write_end.get(), STDERR_FILENO) < 0) {
    return absl::ErrnoToStatus(errno, "taking standard error");
  }
  return std::unique_ptr<AssertionCapture>(
      new AssertionCapture(std::move(read_end), original));
}

AssertionCapture::AssertionCapture(UniqueFd pipe, int original)
    : pipe_(std::move(pipe)), original_(original) {
  SetLogDescriptor(original_);
  last_pipe = pipe_.get();
  last_original = original_;
  struct sigaction action {};
  action.sa_handler = OnAbort;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGABRT, &action, nullptr);
  static const bool registered = atexit(HandOnLastWords) == 0;
  if (!registered) LogWarning("no room to keep the last words of the process");
  if (__sanitizer_set_report_fd != nullptr) {
    __sanitizer_set_report_fd(
        reinterpret_cast<void*>(static_cast<intptr_t>(original_)));
  }
}

AssertionCapture::~AssertionCapture() {
  dup2(original_, STDERR_FILENO);
  HandOnLastWords();
  last_pipe = -1;
  HandOn(text_);
}

std::string AssertionCapture::Read() {
  std::string assertions;
  char bytes[16 << 10];
  const int pipe_bytes = fcntl(pipe_.get(), F_GETPIPE_SZ);
  for (int left = pipe_bytes; left > 0;) {
    const ssize_t count = read(pipe_.get(), bytes, sizeof bytes);
    if (count <= 0) break;
    text_.append(bytes, static_cast<size_t>(count));
    TakeLines(&assertions);
    left -= static_cast<int>(count);
  }
  return assertions;
}

void AssertionCapture::TakeLines(std::string* assertions) {
  absl::string_view rest = text_;
  for (;;) {
    const size_t end = rest.find('\n');
    if (end == absl::string_view::npos) break;
    const absl::string_view line = rest.substr(0, end + 1);
    if (IsAssertion(line)) {
      absl::StrAppend(assertions, line);
    } else {
      HandOn(line);
    }
    rest.remove_prefix(line.size());
  }
  if (rest.size() > kMaxLine) {
    HandOn(rest);
    rest = "";
  }
  text_.erase(0, text_.size() - rest.size());
}

void AssertionCapture::HandOn(absl::string_view line) const {
  WriteAll(original_, line.data(), line.size());
}

}  // namespace holdfast::executor
