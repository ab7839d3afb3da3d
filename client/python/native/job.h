// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_JOB_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_JOB_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "client/python/native/native.h"

namespace holdfast::python {

// Runs a long call that holdfast.h cannot interrupt (connecting, compiling) in
// its own thread, while the caller waits without the GIL. `call` stores its
// result and returns the call's error; it owns everything that it uses.
//
// Returns the result; null, with an exception, if the call fails. If a signal
// handler or `tick` raises an exception, calls `abandon` and returns null at
// once; the call continues, and its result is deleted later. `tick` is called
// with the GIL about ten times a second while the caller waits.
template <typename Result, typename Call, typename Abandon>
std::unique_ptr<Result, void (*)(Result*)> RunJob(
    Call call, void (*dispose)(Result*), Abandon abandon,
    const std::function<bool()>& tick = nullptr) {
  using Owner = std::unique_ptr<Result, void (*)(Result*)>;
  struct State {
    explicit State(void (*dispose)(Result*)) : result(nullptr, dispose) {}
    ~State() { hf_error_free(error); }

    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    Owner result;
    hf_error* error = nullptr;
  };
  // The thread's reference is the last one after an interrupt.
  const auto state = std::make_shared<State>(dispose);
  std::thread([state, call = std::move(call)]() mutable {
    Result* made = nullptr;
    hf_error* const failed = call(&made);
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->result.reset(made);
    state->error = failed;
    state->done = true;
    state->changed.notify_all();
  }).detach();
  while (true) {
    {
      const WithoutGil released;
      std::unique_lock<std::mutex> lock(state->mutex);
      state->changed.wait_for(lock, std::chrono::milliseconds(100),
                              [&] { return state->done; });
      if (state->done) break;
    }
    if (PyErr_CheckSignals() == 0 && (tick == nullptr || tick())) continue;
    abandon();
    return Owner(nullptr, dispose);
  }
  if (hf_error* const error = std::exchange(state->error, nullptr)) {
    Raise(error);
  }
  return std::move(state->result);
}

// Runs a call that uses the object of `user`, and makes an object of
// holdfast.h. An abandoned call continues to use `user`, which is then never
// freed.
template <Owned H, Owned User, typename Call>
H* RunJob(Use<User>* user, Call call,
          const std::function<bool()>& tick = nullptr) {
  return RunJob<H>(
             std::move(call), Class<H>::Free, [&] { user->KeepForever(); },
             tick)
      .release();
}

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_JOB_H_
