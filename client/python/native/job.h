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

// Runs a call that may take long and that holdfast.h cannot interrupt
// (connecting, compiling) in a thread of its own, while the caller waits
// without the GIL. `call` returns what the call returns and stores its result;
// it owns all that it uses.
//
// Returns true when the call has ended. Returns false if a signal handler, or
// `tick`, has raised: the call goes on, and `dispose` gets its result. `tick`
// is called with the GIL while the caller waits, some ten times a second.
template <typename Result, typename Function>
bool RunJob(Function call, void (*dispose)(Result*), Result** result,
            hf_error** error, const std::function<bool()>& tick = nullptr) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    bool abandoned = false;
    Result* result = nullptr;
    hf_error* error = nullptr;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, call = std::move(call), dispose]() mutable {
    Result* made = nullptr;
    hf_error* const failed = call(&made);
    const std::lock_guard<std::mutex> lock(state->mutex);
    if (state->abandoned) {
      hf_error_free(failed);
      if (made != nullptr) dispose(made);
      return;
    }
    state->result = made;
    state->error = failed;
    state->done = true;
    state->changed.notify_all();
  }).detach();
  while (true) {
    {
      const WithoutGil released;
      std::unique_lock<std::mutex> lock(state->mutex);
      if (state->changed.wait_for(lock, std::chrono::milliseconds(100),
                                  [&] { return state->done; })) {
        *result = state->result;
        *error = state->error;
        return true;
      }
    }
    if (PyErr_CheckSignals() == 0 && (tick == nullptr || tick())) continue;
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->abandoned = true;
    if (state->done) {
      hf_error_free(state->error);
      if (state->result != nullptr) dispose(state->result);
    }
    return false;
  }
}

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_JOB_H_
