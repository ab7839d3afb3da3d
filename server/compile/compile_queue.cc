// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::Status CompileQueue::Enter(const CompileCaller& caller) {
  Ticket ticket;
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(Join(caller.name, &ticket));
  }
  while (true) {
    const bool gone = caller.gone();
    CompileStage stage;
    {
      absl::MutexLock lock(&mutex_);
      if (gone && !ticket.served) {
        Remove(caller.name, &ticket);
        return absl::CancelledError("the caller has gone");
      }
      mutex_.AwaitWithTimeout(absl::Condition(&ticket.served), kCallerInterval);
      if (ticket.served) return absl::OkStatus();
      stage = StageOf(caller.name, &ticket);
    }
    caller.report(stage);
  }
}

absl::Status CompileQueue::Join(const std::string& name, Ticket* ticket) {
  auto line = LineOf(name);
  const size_t own = line == lines_.end() ? 0 : line->tickets.size();
  const size_t left = max_waiting_ - std::min(max_waiting_, waiting_);
  if (own > 0 && own >= left && free_ == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat(waiting_, " requests wait for a compiler, ", own,
                     " of them this client's; the limit is ", max_waiting_,
                     ", and a client may have as many as are left to the "
                     "others; try again later"));
  }
  if (line == lines_.end()) line = lines_.insert(line, Line{name, {}});
  line->tickets.push_back(ticket);
  ++waiting_;
  if (free_ > 0) ServeNext();
  return absl::OkStatus();
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

void CompileQueue::Leave() {
  absl::MutexLock lock(&mutex_);
  ++free_;
  if (!lines_.empty()) ServeNext();
}

void CompileQueue::ServeNext() {
  Line& line = lines_.front();
  line.tickets.front()->served = true;
  line.tickets.pop_front();
  --waiting_;
  --free_;
  if (line.tickets.empty()) {
    lines_.pop_front();
  } else {
    lines_.splice(lines_.end(), lines_, lines_.begin());
  }
}

size_t CompileQueue::length() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

}  // namespace holdfast
