// SPDX-License-Identifier: Apache-2.0
#include "server/executor/output/kernel_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

// How often a client that did not take what there was is tried again.
constexpr int kRetryMs = 20;

}  // namespace

absl::StatusOr<std::unique_ptr<KernelOutput>> KernelOutput::Capture() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return absl::ErrnoToStatus(errno, "eventfd");
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  UniqueFd nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int pipe_bytes = fcntl(read_end.get(), F_GETPIPE_SZ);
  if (dup2(write_end.get(), STDOUT_FILENO) < 0 || pipe_bytes < 0) {
    return absl::ErrnoToStatus(errno, "taking standard output");
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto assertions, AssertionCapture::Begin());
  return std::unique_ptr<KernelOutput>(
      new KernelOutput(std::move(read_end), std::move(stop), std::move(nothing),
                       static_cast<size_t>(pipe_bytes), std::move(assertions)));
}

KernelOutput::KernelOutput(UniqueFd pipe, UniqueFd stop, UniqueFd nothing,
                           size_t pipe_bytes,
                           std::unique_ptr<AssertionCapture> assertions)
    : pipe_(std::move(pipe)),
      stop_(std::move(stop)),
      nothing_(std::move(nothing)),
      pipe_bytes_(pipe_bytes),
      assertions_(std::move(assertions)),
      assertion_descriptor_(assertions_->descriptor()),
      thread_([this] { Watch(); }) {}

KernelOutput::~KernelOutput() {
  // A driver may still write when it is unloaded, and must not find a pipe that
  // nobody reads.
  if (nothing_.valid()) dup2(nothing_.get(), STDOUT_FILENO);
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void KernelOutput::Flush() {
  std::fflush(stdout);
  ReadAndSend();
}

void KernelOutput::FlushAndAwait(absl::Duration limit) {
  Flush();
  std::shared_ptr<ResultQueue> results;
  {
    absl::MutexLock lock(&mutex_);
    results = results_;
  }
  if (results != nullptr) results->AwaitSent(limit);
}

void KernelOutput::SendTo(std::shared_ptr<ResultQueue> results) {
  absl::MutexLock lock(&mutex_);
  results_ = std::move(results);
  Send();
}

std::string KernelOutput::FirstAssertion() {
  absl::MutexLock lock(&mutex_);
  return first_assertion_;
}

std::optional<v1::KernelOutput> KernelOutput::Take() {
  absl::MutexLock lock(&mutex_);
  if (results_ != nullptr || !HasKept()) return std::nullopt;
  return std::exchange(kept_, v1::KernelOutput());
}

void KernelOutput::Watch() {
  for (bool retry = false;;) {
    pollfd ready[] = {{stop_.get(), POLLIN, 0},
                      {pipe_.get(), POLLIN, 0},
                      {assertion_descriptor_, POLLIN, 0}};
    poll(ready, 3, retry ? kRetryMs : -1);
    if (ready[0].revents != 0) return;
    ReadAndSend();
    absl::MutexLock lock(&mutex_);
    retry = results_ != nullptr && HasKept();
  }
}

void KernelOutput::ReadAndSend() {
  absl::MutexLock lock(&mutex_);
  Read();
  const std::string assertions = assertions_->Read();
  if (first_assertion_.empty()) {
    first_assertion_ = assertions.substr(0, assertions.find('\n'));
  }
  Keep(assertions, kept_.mutable_assertions());
  Send();
}

// No more than was there when it began: a kernel may print all the time.
void KernelOutput::Read() {
  char bytes[16 << 10];
  for (size_t left = pipe_bytes_; left > 0;) {
    const ssize_t count =
        read(pipe_.get(), bytes, std::min(left, sizeof bytes));
    if (count <= 0) return;
    Keep({bytes, static_cast<size_t>(count)}, kept_.mutable_text());
    left -= static_cast<size_t>(count);
  }
}

void KernelOutput::Keep(absl::string_view output, std::string* kept) {
  const size_t have = kept_.text().size() + kept_.assertions().size();
  const size_t room = kept_.lost_bytes() > 0 ? 0 : kMaxKept - have;
  const absl::string_view part = output.substr(0, room);
  kept->append(part.data(), part.size());
  kept_.set_lost_bytes(kept_.lost_bytes() + output.size() - part.size());
}

bool KernelOutput::HasKept() const {
  return !kept_.text().empty() || !kept_.assertions().empty();
}

void KernelOutput::Send() {
  if (results_ == nullptr || !HasKept()) return;
  if (results_->waiting() >= kMaxUnsent ||
      results_->waiting_bytes() >= kMaxUnsentBytes) {
    return;
  }
  v1::Result result;
  result.mutable_output()->Swap(&kept_);
  results_->Add(std::move(result));
}

}  // namespace holdfast::executor
