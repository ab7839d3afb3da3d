// SPDX-License-Identifier: Apache-2.0
#include "server/session/state.h"

#include <utility>

namespace holdfast::session {
namespace {

using enum Action;

Transition To(Phase phase, Reason why, std::vector<Action> actions = {}) {
  return {{.phase = phase, .why = why}, std::move(actions)};
}

// The end of the executor in use, in a state in which it may end by itself.
std::optional<Transition> AfterEnd(Event event) {
  switch (event) {
    case Event::kFault:
      return To(Phase::kRecovering, Reason::kFault, {kTell, kRecover});
    case Event::kFaultAsk:
      return To(Phase::kStopped, Reason::kFault, {kStopExecutor, kTell});
    case Event::kFatal:
      return To(Phase::kLost, Reason::kFault, {kStopExecutor, kTell});
    default:
      return std::nullopt;
  }
}

Transition Parked(const State& from, Phase unparked) {
  return {{.phase = Phase::kParked, .why = from.why, .unparked = unparked}, {}};
}

std::optional<Transition> FromServing(Event event) {
  if (event == Event::kSuspend) {
    return To(Phase::kQuiescing, Reason::kSuspension);
  }
  if (event == Event::kPark) return To(Phase::kQuiescing, Reason::kUpgrade);
  return AfterEnd(event);
}

std::optional<Transition> FromQuiescing(const State& from, Event event) {
  const bool upgrade = from.why == Reason::kUpgrade;
  if (event == Event::kParked && upgrade) return Parked(from, Phase::kServing);
  if (event == Event::kSuspended && !upgrade) {
    return To(Phase::kStopped, Reason::kSuspension);
  }
  if (event == Event::kNotQuiesced) return To(Phase::kServing, Reason::kFault);
  return AfterEnd(event);
}

// An executor that ends now is replaced after Unpark, or by the next daemon.
std::optional<Transition> FromParked(const State& from, Event event) {
  if (event == Event::kUnpark) {
    if (from.unparked != Phase::kRecovering) {
      return To(from.unparked, from.why);
    }
    return To(Phase::kRecovering, from.why, {kRecover});
  }
  const bool stopped =
      from.unparked == Phase::kStopped || from.unparked == Phase::kRecovering;
  if (stopped && event != Event::kFatal) return std::nullopt;
  auto end = AfterEnd(event);
  if (!end.has_value() || event == Event::kFatal) return end;
  end->state.unparked = std::exchange(end->state.phase, Phase::kParked);
  std::erase(end->actions, kRecover);
  return end;
}

std::optional<Transition> FromRecovering(const State& from, Event event) {
  if (event == Event::kRestored) {
    return To(Phase::kRestored, from.why, {kTell});
  }
  if (event == Event::kNotStarted) return To(Phase::kStopped, from.why);
  if (event == Event::kFatal) return To(Phase::kLost, from.why, {kTell});
  return std::nullopt;
}

std::optional<Transition> FromStopped(const State& from, Event event) {
  if (event == Event::kResume) {
    return To(Phase::kRecovering, from.why, {kRecover});
  }
  if (event == Event::kPlace) return To(Phase::kPlacing, from.why);
  if (event == Event::kPark) return Parked(from, Phase::kStopped);
  return std::nullopt;
}

std::optional<Transition> FromRestored(const State& from, Event event) {
  if (event == Event::kAcknowledge) return To(Phase::kResuming, from.why);
  if (event == Event::kPark) return Parked(from, Phase::kRestored);
  return AfterEnd(event);
}

std::optional<Transition> FromResuming(const State& from, Event event) {
  if (event == Event::kResumed) return To(Phase::kServing, Reason::kFault);
  if (event == Event::kNotResumed) return To(Phase::kRestored, from.why);
  return AfterEnd(event);
}

}  // namespace

std::optional<Transition> Next(const State& state, Event event) {
  if (state.phase == Phase::kClosed) return std::nullopt;
  if (event == Event::kClose) return To(Phase::kClosed, state.why);
  if (state.phase == Phase::kLost || state.phase == Phase::kLeft) {
    return std::nullopt;
  }
  if (event == Event::kLeave) {
    const Phase unparked =
        state.phase == Phase::kParked ? state.unparked : state.phase;
    return Transition{
        {.phase = Phase::kLeft, .why = state.why, .unparked = unparked}, {}};
  }
  switch (state.phase) {
    case Phase::kServing:
      return FromServing(event);
    case Phase::kQuiescing:
      return FromQuiescing(state, event);
    case Phase::kParked:
      return FromParked(state, event);
    case Phase::kRecovering:
      return FromRecovering(state, event);
    case Phase::kStopped:
      return FromStopped(state, event);
    case Phase::kPlacing:
      if (event != Event::kPlaced) return std::nullopt;
      return To(Phase::kStopped, state.why);
    case Phase::kRestored:
      return FromRestored(state, event);
    case Phase::kResuming:
      return FromResuming(state, event);
    default:
      return std::nullopt;
  }
}

bool IsServing(const State& state) {
  return state.phase == Phase::kServing || state.phase == Phase::kQuiescing;
}

bool HasExecutor(const State& state) {
  const Phase phase =
      state.phase == Phase::kParked ? state.unparked : state.phase;
  return IsServing(state) || phase == Phase::kServing ||
         phase == Phase::kRecovering || phase == Phase::kRestored ||
         phase == Phase::kResuming;
}

bool IsOver(const State& state) {
  return state.phase == Phase::kLost || state.phase == Phase::kClosed;
}

bool IsHalted(const State& state) {
  return !IsServing(state) && !IsOver(state);
}

bool IsChanging(const State& state) {
  return state.phase == Phase::kQuiescing ||
         state.phase == Phase::kRecovering || state.phase == Phase::kPlacing ||
         state.phase == Phase::kResuming;
}

absl::string_view Name(Phase phase) {
  static constexpr std::array<absl::string_view, kPhases.size()> kNames = {
      "Serving", "Quiescing", "Parked",   "Left", "Recovering", "Stopped",
      "Placing", "Restored",  "Resuming", "Lost", "Closed"};
  return kNames[static_cast<size_t>(phase)];
}

absl::string_view Name(Event event) {
  static constexpr std::array<absl::string_view, kEvents.size()> kNames = {
      "Suspend",     "Suspended", "Park",       "Parked",   "NotQuiesced",
      "Unpark",      "Leave",     "Fault",      "FaultAsk", "Fatal",
      "Place",       "Placed",    "Resume",     "Restored", "NotStarted",
      "Acknowledge", "Resumed",   "NotResumed", "Close"};
  return kNames[static_cast<size_t>(event)];
}

}  // namespace holdfast::session
