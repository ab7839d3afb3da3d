// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/late_flusher.h"

#include <utility>

#include "core/base/start_thread.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// The thread goes to sleep after so many looks at nothing.
constexpr int kEmptyLooks = 20;

}  // namespace

LateFlusher::LateFlusher(Options options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<LateFlusher>> LateFlusher::Start(
    Options options) {
  std::unique_ptr<LateFlusher> flusher(new LateFlusher(std::move(options)));
  HOLDFAST_ASSIGN_OR_RETURN(
      flusher->thread_, StartThread("commands that nobody sends",
                                    [self = flusher.get()] { self->Run(); }));
  return flusher;
}

void LateFlusher::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void LateFlusher::Run() {
  int empty_looks = 0;
  while (!stopped()) {
    if (empty_looks >= kEmptyLooks) Sleep();
    const uint64_t seen = options_.waiting();
    empty_looks = seen == 0 ? empty_looks + 1 : 0;
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stop_), options_.delay)) {
        return;
      }
    }
    // Still there: nobody else will send it.
    if (seen != 0 && options_.waiting() == seen) options_.flush();
  }
}

void LateFlusher::Sleep() {
  sleeps_.store(true, std::memory_order_seq_cst);
  if (options_.waiting() == 0) {
    absl::MutexLock lock(&mutex_);
    const auto over = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return woken_ || stop_;
    };
    mutex_.Await(absl::Condition(&over));
  }
  sleeps_.store(false, std::memory_order_seq_cst);
  absl::MutexLock lock(&mutex_);
  woken_ = false;
}

void LateFlusher::WakeUp() {
  absl::MutexLock lock(&mutex_);
  woken_ = true;
}

}  // namespace holdfast
