// SPDX-License-Identifier: Apache-2.0
//
// Many streams that wait for values at once.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/cuda/host_memory.h"
#include "core/cuda/stream.h"
#include "core/cuda/stream_value.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::software {
namespace {

using ::holdfast::testing::SoftwareContext;

// How often threads of this process have gone to sleep.
int64_t Sleeps() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// Each wait has a thread. They look for the value 8000 times a second in sum,
// where each by itself would look 1000 times.
TEST(StreamWaitTest, ManyWaitsLookNoMoreOftenThanAFew) {
  constexpr int kStreams = 200;
  const std::shared_ptr<const cuda::Context> context = SoftwareContext();
  ASSERT_OK_AND_ASSIGN(const auto memory,
                       cuda::HostMemory::Allocate(context, 64));
  std::vector<std::unique_ptr<cuda::Stream>> streams;
  for (int i = 0; i < kStreams; ++i) {
    ASSERT_OK_AND_ASSIGN(auto stream, cuda::Stream::Create(context, {}));
    ASSERT_OK(cuda::WaitValueAsync(*stream, memory->device_address(), 1));
    streams.push_back(std::move(stream));
  }
  absl::SleepFor(absl::Milliseconds(500));  // Pauses grow up to their limit.
  const int64_t before = Sleeps();
  absl::SleepFor(absl::Seconds(1));
  EXPECT_LT(Sleeps() - before, 20000);
  *reinterpret_cast<volatile uint64_t*>(memory->data()) = 1;
  for (const auto& stream : streams) EXPECT_OK(stream->Synchronize());
}

}  // namespace
}  // namespace holdfast::software
