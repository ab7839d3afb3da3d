// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/message_poller.h"

#include "absl/synchronization/mutex.h"
#include "core/base/spin.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "grpc/support/time.h"

namespace holdfast {

absl::StatusOr<std::shared_ptr<MessagePoller>> MessagePoller::Get() {
  static absl::Mutex mutex(absl::kConstInit);
  static std::weak_ptr<MessagePoller>& current =
      *new std::weak_ptr<MessagePoller>;
  absl::MutexLock lock(&mutex);
  std::shared_ptr<MessagePoller> poller = current.lock();
  if (poller != nullptr) return poller;
  poller.reset(new MessagePoller);
  HOLDFAST_ASSIGN_OR_RETURN(
      poller->thread_, StartThread("the messages of a daemon",
                                   [self = poller.get()] { self->Run(); }));
  current = poller;
  return poller;
}

MessagePoller::~MessagePoller() {
  queue_.Shutdown();
  if (thread_.joinable()) {
    thread_.join();
  } else {
    Run();  // A queue is read to its end before it is destroyed.
  }
}

void MessagePoller::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (Next(&tag, &ok)) static_cast<Operation*>(tag)->Done(ok);
}

bool MessagePoller::Next(void** tag, bool* ok) {
  using Queue = grpc::CompletionQueue;
  Queue::NextStatus got = Queue::TIMEOUT;
  // Each look takes what has come at the sockets, by an epoll_wait of no time.
  SpinUntil([&] {
    got = queue_.AsyncNext(tag, ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    return got != Queue::TIMEOUT;
  });
  if (got == Queue::TIMEOUT) return queue_.Next(tag, ok);
  return got == Queue::GOT_EVENT;
}

}  // namespace holdfast
