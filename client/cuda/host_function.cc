// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/host_function.h"

#include <thread>
#include <utility>

#include "client/cuda/answer.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/cuda/host_function_scope.h"

namespace holdfast::libcuda {

absl::StatusOr<std::shared_ptr<HostFunctions>> HostFunctions::Create(
    const holdfast::Device& device) {
  HOLDFAST_ASSIGN_OR_RETURN(Semaphore done, device.CreateSemaphore());
  std::shared_ptr<HostFunctions> functions(new HostFunctions(std::move(done)));
  HOLDFAST_ASSIGN_OR_RETURN(
      std::thread thread,
      StartThread("functions of a stream", [functions] { functions->Run(); }));
  thread.detach();
  return functions;
}

void HostFunctions::End() {
  absl::MutexLock lock(&mutex_);
  ends_ = true;
}

absl::Status HostFunctions::Add(HostFunction function,
                                const holdfast::Stream& stream) {
  absl::MutexLock lock(&mutex_);
  HOLDFAST_ASSIGN_OR_RETURN(Event reached, stream.Record());
  const uint64_t number = ++last_number_;
  calls_.push_back({std::move(reached), std::move(function), number});
  const absl::Status waits = done_.Wait(number, stream);
  if (!waits.ok()) calls_.pop_back();
  return waits;
}

void HostFunctions::Run() {
  while (true) {
    mutex_.LockWhen(absl::Condition(this, &HostFunctions::HasWork));
    if (calls_.empty()) {
      mutex_.Unlock();
      return;
    }
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    mutex_.Unlock();
    const absl::Status outcome = call.reached.Synchronize();
    Answer(outcome);
    {
      const cuda::HostFunctionScope scope;
      call.function(outcome);
    }
    Answer(done_.Signal(call.number));
  }
}

}  // namespace holdfast::libcuda
