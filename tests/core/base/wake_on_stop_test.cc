// SPDX-License-Identifier: Apache-2.0
#include "core/base/wake_on_stop.h"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

namespace holdfast {
namespace {

// Waits for nothing but the request.
void AwaitStop(absl::Mutex& mutex, const std::stop_token& stop) {
  const WakeOnStop wake(stop, mutex);
  absl::MutexLock lock(&mutex);
  const auto stopped = [&] { return stop.stop_requested(); };
  mutex.Await(absl::Condition(&stopped));
}

TEST(WakeOnStopTest, ARequestWakesAllWhoWait) {
  absl::Mutex first;
  absl::Mutex second;
  std::stop_source source;
  std::thread one([&] { AwaitStop(first, source.get_token()); });
  std::thread two([&] { AwaitStop(first, source.get_token()); });
  std::thread three([&] { AwaitStop(second, source.get_token()); });
  source.request_stop();
  one.join();
  two.join();
  three.join();
}

TEST(WakeOnStopTest, AnEarlierRequestLetsNobodyWait) {
  absl::Mutex mutex;
  std::stop_source source;
  source.request_stop();
  AwaitStop(mutex, source.get_token());
}

TEST(WakeOnStopTest, ARequestThatNobodyWaitsForTouchesNoMutex) {
  std::stop_source source;
  {
    absl::Mutex mutex;
    const WakeOnStop wake(source.get_token(), mutex);
  }
  source.request_stop();
}

// Requests meet threads at every point of their wait.
TEST(WakeOnStopTest, NoRequestIsMissed) {
  for (int i = 0; i < 2000; ++i) {
    absl::Mutex mutex;
    std::stop_source source;
    std::thread stopper([&] { source.request_stop(); });
    AwaitStop(mutex, source.get_token());
    stopper.join();
  }
}

}  // namespace
}  // namespace holdfast
