// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quota_exceeded.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::Duration CompileQueue::SteadyTime() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

absl::StatusOr<std::unique_ptr<CompileQueue::Turn>> CompileQueue::Enter(
    const CompileCaller& caller) {
  Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(CheckRoom(caller.name));
    Join(caller.name, /*first=*/false, &ticket);
  }
  return Await(caller, &ticket);
}

absl::StatusOr<std::unique_ptr<CompileQueue::Turn>> CompileQueue::EnterAgain(
    const CompileCaller& caller) {
  Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    Join(caller.name, /*first=*/true, &ticket);
  }
  return Await(caller, &ticket);
}

absl::StatusOr<std::unique_ptr<CompileQueue::Turn>> CompileQueue::Await(
    const CompileCaller& caller, Ticket* ticket) {
  const auto served = [ticket] { return ticket->turn != nullptr; };
  while (true) {
    const bool gone = caller.gone();
    CompileStage stage;
    {
      absl::MutexLock lock(&mutex_);
      if (gone && !served()) {
        Remove(caller.name, ticket);
        return absl::CancelledError("the caller has gone");
      }
      mutex_.AwaitWithTimeout(absl::Condition(&served), kCallerInterval);
      // Time alone may have freed the slot that was left to others.
      if (!served()) ServeWaiting();
      if (served()) return std::move(ticket->turn);
      RecallFor(caller.name, *ticket);
      stage = StageOf(caller.name, ticket);
    }
    caller.report(stage);
  }
}

absl::Status CompileQueue::CheckRoom(const std::string& name) {
  const auto line = LineOf(name);
  const size_t own = line == lines_.end() ? 0 : line->tickets.size();
  const size_t left = max_waiting_ - std::min(max_waiting_, waiting_);
  if (own == 0 || own < left || running_.size() < slots_) {
    return absl::OkStatus();
  }
  absl::Status full = absl::ResourceExhaustedError(absl::StrCat(
      waiting_, " requests wait for a compiler, ", own,
      " of them this client's; the limit is ", max_waiting_,
      ", and a client may have as many as are left to the others; try again "
      "later"));
  // So that it refuses this client alone: see CompileCache::Get.
  SetQuotaExceeded({.quota = "a client's requests that wait for a compiler",
                    .limit = own,
                    .used = own,
                    .requested = 1},
                   &full);
  return full;
}

void CompileQueue::Join(const std::string& name, bool first, Ticket* ticket) {
  ticket->since = clock_();
  if (!name.empty()) known_[name] = ticket->since;
  auto line = LineOf(name);
  if (line == lines_.end()) line = lines_.insert(line, Line{name, {}});
  line->tickets.insert(first ? line->tickets.begin() : line->tickets.end(),
                       ticket);
  ++waiting_;
  ServeWaiting();
}

CompileQueue::Lines::iterator CompileQueue::LineOf(const std::string& name) {
  return std::find_if(lines_.begin(), lines_.end(),
                      [&name](const Line& line) { return line.name == name; });
}

void CompileQueue::Remove(const std::string& name, const Ticket* ticket) {
  const auto line = LineOf(name);
  auto& tickets = line->tickets;
  tickets.erase(std::find(tickets.begin(), tickets.end(), ticket));
  --waiting_;
  if (tickets.empty()) lines_.erase(line);
}

// In each round, every line that is not at its end has one turn.
CompileStage CompileQueue::StageOf(const std::string& name,
                                   const Ticket* ticket) {
  const auto own = LineOf(name);
  const auto at = std::find(own->tickets.begin(), own->tickets.end(), ticket);
  const auto round = static_cast<size_t>(at - own->tickets.begin());
  size_t before = round;
  bool ahead = true;
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    if (line == own) {
      ahead = false;
    } else {
      before += std::min(line->tickets.size(), round + (ahead ? 1 : 0));
    }
  }
  return {before + 1, waiting_};
}

void CompileQueue::Leave(std::list<Running>::iterator running) {
  absl::MutexLock lock(&mutex_);
  running_.erase(running);
  ServeWaiting();
}

void CompileQueue::ServeWaiting() {
  while (running_.size() < slots_) {
    const auto may_have_one_more = [this](const Line& line)
                                       ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                         return MayHaveOneMore(line.name);
                                       };
    const auto line =
        std::find_if(lines_.begin(), lines_.end(), may_have_one_more);
    if (line == lines_.end()) return;
    Serve(line);
  }
}

void CompileQueue::Serve(Lines::iterator line) {
  const auto running = running_.emplace(running_.end());
  running->name = line->name;
  running->since = clock_();
  line->tickets.front()->turn.reset(new Turn(*this, running));
  line->tickets.pop_front();
  --waiting_;
  if (line->tickets.empty()) {
    lines_.erase(line);
  } else {
    lines_.splice(lines_.end(), lines_, line);
  }
}

bool CompileQueue::MayHaveOneMore(const std::string& name) {
  if (name.empty() || slots_ == 1) return true;
  const auto held = static_cast<size_t>(
      std::count_if(running_.begin(), running_.end(),
                    [&](const Running& job) { return job.name == name; }));
  return held + 1 < slots_ || !OthersAreKnown(name);
}

bool CompileQueue::OthersAreKnown(const std::string& name) {
  const absl::Duration now = clock_();
  const auto is_forgotten = [&](const auto& known)
                                ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                  return now - known.second >= kKnown &&
                                         LineOf(known.first) == lines_.end();
                                };
  std::erase_if(known_, is_forgotten);
  return known_.size() > known_.count(name);
}

void CompileQueue::RecallFor(const std::string& name, const Ticket& ticket) {
  if (slots_ == 1 || running_.size() < slots_ ||
      clock_() - ticket.since < kPatience) {
    return;
  }
  // The first has run for the longest time.
  Running& longest = running_.front();
  const bool one_has_all =
      std::all_of(running_.begin(), running_.end(), [&](const Running& job) {
        return job.name == longest.name && !job.recalled;
      });
  if (one_has_all && longest.name != name) longest.recalled = true;
}

size_t CompileQueue::length() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

}  // namespace holdfast
