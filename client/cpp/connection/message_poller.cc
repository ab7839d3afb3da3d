// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/message_poller.h"

#include "absl/synchronization/mutex.h"
#include "core/base/spin.h"
#include "grpc/support/time.h"

namespace holdfast {

std::shared_ptr<MessagePoller> MessagePoller::Get() {
  static absl::Mutex mutex(absl::kConstInit);
  static std::weak_ptr<MessagePoller>& current =
      *new std::weak_ptr<MessagePoller>;
  absl::MutexLock lock(&mutex);
  std::shared_ptr<MessagePoller> poller = current.lock();
  if (poller == nullptr) {
    poller.reset(new MessagePoller);
    current = poller;
  }
  return poller;
}

MessagePoller::MessagePoller() : thread_([this] { Run(); }) {}

MessagePoller::~MessagePoller() {
  queue_.Shutdown();
  thread_.join();
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
