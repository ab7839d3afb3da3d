// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/stream.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/stream_attributes.h"
#include "core/software/base/memory_room.h"
#include "core/software/base/start_thread.h"
#include "core/software/driver/context.h"
#include "core/software/driver/fault.h"
#include "core/software/driver/refusal.h"

namespace holdfast::software {
namespace {

// How long an idle thread stays: longer than the pauses of a busy program,
// short enough that thousands of idle streams cost nothing.
constexpr std::chrono::seconds kIdleThread{1};

// How long one that waits for a stream does not look whether it is held up.
constexpr std::chrono::milliseconds kMoment{1};

std::atomic<uint64_t> last_stream_id{0};

// Threads of all streams.
std::atomic<int> g_workers{0};

size_t ThreadStackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return bytes;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

// Starts a thread that runs `work` and has the signals of this one blocked.
// Returns false if the system allows no more threads or the process would have
// no memory left; LastRefusal says so.
bool StartWorkerThread(std::function<void()> work) {
  const int workers = ++g_workers;
  std::string reason = kNoThread;
  if (!HasMemoryRoom(ThreadStackBytes(), RoomFor::kThread)) {
    reason = absl::StrCat("no memory for the stack of one more thread, ",
                          ThreadStackBytes(), " bytes: the limit is ",
                          MemoryLimitText());
  } else if (auto thread = StartThread(std::move(work)); thread.has_value()) {
    thread->detach();
    return true;
  }
  --g_workers;
  Refuse(CUDA_ERROR_OUT_OF_MEMORY,
         absl::StrCat(reason, "; ", workers - 1,
                      " streams have a thread, because they have work or had "
                      "some a moment ago"));
  return false;
}

}  // namespace

bool Ticket::Done() const {
  if (latch_ != nullptr) return latch_->open();
  return stream_ == nullptr || stream_->Done(sequence_);
}

void Ticket::Wait(bool help) const {
  if (Done()) return;
  if (latch_ != nullptr) return latch_->Wait();
  stream_->Wait(sequence_, help);
}

bool Ticket::WaitBriefly() const {
  if (Done()) return true;
  if (latch_ == nullptr) return stream_->WaitBriefly(sequence_);
  latch_->Wait();
  return true;
}

void Ticket::RunLeft() const {
  if (!Done() && stream_ != nullptr) stream_->RunLeft();
}

bool Ticket::HeldUp() const { return stream_ != nullptr && stream_->held_up(); }

Stream::Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags,
               const cuda::StreamAttributes& attributes)
    : context_(std::move(context)),
      kind_(kind),
      flags_(flags),
      id_(++last_stream_id),
      attributes_(std::make_unique<cuda::StreamAttributes>(attributes)) {}

Stream::~Stream() = default;

cuda::StreamAttributes Stream::attributes() const {
  MutexLock lock(&mutex_);
  return *attributes_;
}

CUresult Stream::SetAttribute(CUstreamAttrID id,
                              const CUstreamAttrValue& value) {
  MutexLock lock(&mutex_);
  return attributes_->Set(id, value);
}

void Stream::CopyAttributes(const cuda::StreamAttributes& attributes) {
  MutexLock lock(&mutex_);
  attributes_->CopyFrom(attributes);
}

std::optional<Ticket> Stream::Enqueue(Operation operation, Runner runner) {
  std::vector<Ticket>& after = operation.after;
  context_->AddImplicitOrder(*this, &after);
  after.erase(std::remove_if(after.begin(), after.end(),
                             [](const Ticket& t) { return t.Done(); }),
              after.end());
  MutexLock lock(&mutex_);
  const bool at_once =
      runner == Runner::kCaller && !running_ && queue_.empty() && after.empty();
  const bool needs_worker = !at_once && runner != Runner::kWaiter;
  if (needs_worker && !WakeWorker()) return std::nullopt;
  Ticket ticket(shared_from_this(), ++enqueued_);
  if (at_once) {
    Run(std::move(operation));
  } else {
    queue_.push_back(std::move(operation));
  }
  return ticket;
}

CUresult Stream::Add(Operation operation, Runner runner) {
  return Enqueue(std::move(operation), runner).has_value()
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}

bool Stream::StartWorker() {
  MutexLock lock(&mutex_);
  return WakeWorker();
}

Ticket Stream::Tail() {
  MutexLock lock(&mutex_);
  return Ticket(shared_from_this(), enqueued_.load());
}

void Stream::Wait(uint64_t sequence, bool help) {
  MutexLock lock(&mutex_);
  while (completed_.load() < sequence) {
    if (help && ReadyLocked()) {
      RunNext();
    } else {
      next_wanted_ = std::min(next_wanted_, sequence);
      done_.Wait(&mutex_);
    }
  }
}

bool Stream::WaitBriefly(uint64_t sequence) {
  MutexLock lock(&mutex_);
  RunLeftLocked();
  if (completed_.load() >= sequence) return true;
  next_wanted_ = std::min(next_wanted_, sequence);
  done_.WaitFor(&mutex_, kMoment);
  return completed_.load() >= sequence;
}

void Stream::DrainUnlessHeldUp() {
  const uint64_t last = enqueued_;
  RunLeft();
  while (!held_up_ && !WaitBriefly(last)) {
  }
}

void Stream::RunLeft() {
  MutexLock lock(&mutex_);
  RunLeftLocked();
}

void Stream::RunLeftLocked() {
  while (ReadyLocked() && !has_worker_ && !WakeWorker()) {
    ForgetRefusal();
    const Operation& next = queue_.front();
    held_up_ = std::any_of(next.after.begin(), next.after.end(),
                           [](const Ticket& t) { return t.HeldUp(); });
    if (!next.is_brief ||
        !std::all_of(next.after.begin(), next.after.end(),
                     [](const Ticket& t) { return t.Done(); })) {
      return;
    }
    RunNext();
  }
}

void Stream::RunNext() {
  Operation operation = std::move(queue_.front());
  queue_.pop_front();
  Run(std::move(operation));
}

void Stream::Run(Operation operation) {
  running_ = true;
  mutex_.Unlock();
  // Without help: the other stream has a runner of its own, and a chain of
  // dependencies must not become a chain of calls.
  for (const Ticket& ticket : operation.after) {
    while (!ticket.WaitBriefly()) held_up_ = ticket.HeldUp();
  }
  held_up_ = false;
  if (operation.even_after_fault || LastFault() == CUDA_SUCCESS) {
    operation.run();
  }
  operation = Operation();  // what it holds goes before it counts as done
  mutex_.Lock();
  running_ = false;
  ++completed_;
  WakeWaiters();
  if (!queue_.empty() && worker_sleeps_) work_.NotifyOne();
}

void Stream::WakeWaiters() {
  // Without a worker, one of them may have to run what is left.
  if (completed_.load() < next_wanted_ && has_worker_) return;
  next_wanted_ = kNothing;
  done_.NotifyAll();
}

bool Stream::WakeWorker() {
  if (has_worker_) {
    if (worker_sleeps_) work_.NotifyOne();
    return true;
  }
  // The application's signals are not for us.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  has_worker_ =
      StartWorkerThread([self = shared_from_this()] { self->Work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return has_worker_;
}

void Stream::Work() {
  sigset_t faults;
  sigemptyset(&faults);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    sigaddset(&faults, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  MutexLock lock(&mutex_);
  while (true) {
    worker_sleeps_ = true;
    const auto end = ConditionVariable::Clock::now() + kIdleThread;
    while (!ReadyLocked() && work_.WaitUntil(&mutex_, end)) {
    }
    worker_sleeps_ = false;
    if (queue_.empty()) break;
    while (ReadyLocked()) RunNext();
  }
  has_worker_ = false;
  --g_workers;
}

}  // namespace holdfast::software
