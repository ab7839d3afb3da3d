// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/event.h"

#include <chrono>

#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::shared_ptr<Event::Mark> Event::mark() const {
  MutexLock lock(&mutex_);
  return mark_;
}

std::function<void()> Event::ReachOf(const std::shared_ptr<Mark>& mark) {
  const uint64_t recording = shared_ == nullptr ? 0 : shared_->Record();
  return [mark, shared = shared_, recording] {
    mark->reached_ns = Now();
    if (shared != nullptr) shared->Reach(recording);
  };
}

void Event::Move(std::shared_ptr<Mark> mark) {
  MutexLock lock(&mutex_);
  mark_ = std::move(mark);
}

CUresult Event::Record(Stream& stream) {
  auto mark = std::make_shared<Mark>();
  const auto reach = ReachOf(mark);
  // Other processes must not wait for ever because of a fault here.
  const auto ticket = stream.Enqueue(
      {.run = reach, .after = {}, .even_after_fault = shared_ != nullptr},
      Stream::Runner::kCaller);
  if (!ticket.has_value()) {
    reach();  // Nor because of a refusal.
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  mark->ticket = *ticket;
  Move(std::move(mark));
  return CUDA_SUCCESS;
}

Event::Recording Event::BeginRecording() {
  auto mark = std::make_shared<Mark>();
  Recording recording;
  recording.latch_ = std::make_shared<Latch>();
  recording.reach_ = ReachOf(mark);
  mark->ticket = Ticket(recording.latch_);
  Move(std::move(mark));
  return recording;
}

void Event::Recording::Reach() {
  reach_();
  latch_->Open();
}

Event::Point Event::LastPoint() const {
  Point point;
  if (shared_ == nullptr) {
    point.ticket_ = ticket();
  } else {
    point.shared_ = shared_;
    point.recording_ = shared_->recorded();
  }
  return point;
}

bool Event::Point::Reached() const {
  return shared_ == nullptr ? ticket_.Done() : shared_->Reached(recording_);
}

Ticket Event::ticket() const {
  const std::shared_ptr<Mark> last = mark();
  return last == nullptr ? Ticket() : last->ticket;
}

CUresult Event::Query() const {
  const Ticket last = ticket();
  last.RunLeft();
  const bool done =
      shared_ == nullptr ? last.Done() : shared_->Reached(shared_->recorded());
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult Event::Delay(Stream& stream) const {
  if (shared_ != nullptr) {
    const uint64_t recording = shared_->recorded();
    if (shared_->Reached(recording)) return CUDA_SUCCESS;
    return stream.Add(
        {.run = [shared = shared_, recording] { shared->Wait(recording); }},
        Stream::Runner::kWorker);
  }
  const Ticket last = ticket();
  if (last.Done()) return CUDA_SUCCESS;
  return stream.Add({.run = [] {}, .after = {last}}, Stream::Runner::kWorker);
}

void Event::Wait() const {
  const uint64_t recording = shared_ == nullptr ? 0 : shared_->recorded();
  ticket().Wait(/*help=*/true);
  if (shared_ != nullptr) shared_->Wait(recording);
}

CUresult Event::Elapsed(const Event& start, const Event& end, float* ms) {
  const std::shared_ptr<Mark> from = start.mark();
  const std::shared_ptr<Mark> to = end.mark();
  if (!start.timed() || !end.timed() || from == nullptr || to == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!from->ticket.Done() || !to->ticket.Done()) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>(to->reached_ns - from->reached_ns) * 1e-6f;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::software
