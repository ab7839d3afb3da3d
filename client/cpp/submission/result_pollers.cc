// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/result_pollers.h"

#include <chrono>
#include <thread>

#include "core/base/spin.h"

namespace holdfast {
namespace {

// A result that somebody waits for is looked for all the time at first, as CUDA
// looks for what it waits for.
constexpr std::chrono::milliseconds kEagerTime(2);

// While callers read results themselves, the reading thread looks so often
// whether they still do. It sleeps only when none has for kQuietNaps naps: then
// the executor has to wake it, which takes longer than all else that it does
// for a result.
constexpr std::chrono::microseconds kReaderNap(200);
constexpr int kQuietNaps = 125;

}  // namespace

void ResultPollers::Poll(absl::FunctionRef<bool()> poll) {
  ++polling_;
  ++polls_;
  SpinThenSleep(poll, kEagerTime);
  --polling_;
}

void ResultPollers::AwaitPollers(const ExecuteStream& stream) const {
  if (!MaySpin()) return;  // Nor do callers look.
  const PreciseSleep precise;
  for (int quiet = 0; quiet < kQuietNaps && !stream.HasEnded();) {
    const uint32_t seen = polls_;
    const uint32_t read = reads_;
    const bool has_results = stream.HasResults();
    if (has_results && polling_ == 0) return;
    std::this_thread::sleep_for(kReaderNap);
    // A caller that looks may not get a processor, and others wait for theirs.
    if (has_results && reads_ == read) return;
    quiet = polling_ > 0 || polls_ != seen ? 0 : quiet + 1;
  }
}

}  // namespace holdfast
