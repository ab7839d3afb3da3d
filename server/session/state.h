// SPDX-License-Identifier: Apache-2.0
//
// The life of a session as a table: the states, the events that lead from one
// state to another, and the actions that each event requires.
//
// Next() is a pure function without locks and I/O, so that a test can walk
// every pair of a state and an event. README.md has the table. SessionLife
// calls Next() under its lock, and carries out the actions after it has
// released the lock.
#ifndef HOLDFAST_SERVER_SESSION_STATE_H_
#define HOLDFAST_SERVER_SESSION_STATE_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast::session {

enum class Phase {
  kServing,     // The executor serves commands.
  kQuiescing,   // The executor serves, and finishes its work for `why`.
  kParked,      // Nothing runs, because another daemon takes over soon.
  kLeft,        // The next daemon has the session now.
  kRecovering,  // A thread makes another executor ready.
  kStopped,     // There is no executor; the session's resources wait.
  kPlacing,     // Like kStopped; a thread checks a device for the session.
  kRestored,    // Another executor is ready; the client must acknowledge.
  kResuming,    // The other executor is being opened for commands.
  kLost,        // There is no executor, and there will be none.
  kClosed,      // The session is being taken down.
};
inline constexpr std::array kPhases = {
    Phase::kServing,    Phase::kQuiescing, Phase::kParked,  Phase::kLeft,
    Phase::kRecovering, Phase::kStopped,   Phase::kPlacing, Phase::kRestored,
    Phase::kResuming,   Phase::kLost,      Phase::kClosed};

// The reason why the session does not serve, or is about to stop serving.
enum class Reason {
  kFault,       // Its executor has died.
  kSuspension,  // An operator, or the idle limit, took it off its devices.
  kUpgrade,     // The daemon is replaced.
};

struct State {
  Phase phase = Phase::kServing;
  // The reason has no meaning in kServing, kLost and kClosed.
  Reason why = Reason::kFault;
  // In kParked: the phase that follows if the daemon is not replaced after all.
  // In kLeft: the same phase if the session was parked; otherwise the phase
  // before kLeft. Has no meaning in other phases.
  Phase unparked = Phase::kServing;

  bool operator==(const State&) const = default;
};

enum class Event {
  kSuspend,      // An operator, or the idle limit, suspends the session.
  kSuspended,    // Its executor has saved the device memory.
  kPark,         // The daemon is about to be replaced.
  kParked,       // The executor has finished its work for the next daemon.
  kNotQuiesced,  // The executor could not be suspended or parked.
  kUnpark,       // The daemon is not replaced after all.
  kLeave,        // The next daemon takes over.
  kFault,        // The executor has ended; the session recovers at once.
  kFaultAsk,     // The executor has ended; the client decides on recovery.
  kFatal,        // The executor, or the recovery, has failed for good.
  kPlace,        // An operator names the device to resume on.
  kPlaced,       // The check of the device has ended, with any result.
  kResume,       // The client or an operator resumes a stopped session.
  kRestored,     // Another executor has all resources.
  kNotStarted,   // The system allows no thread for the recovery.
  kAcknowledge,  // The client accepts the fault or the suspension.
  kResumed,      // The executor takes commands.
  kNotResumed,   // The executor did not take commands in time.
  kClose,        // The session ends.
};
inline constexpr std::array kEvents = {
    Event::kSuspend,     Event::kSuspended,   Event::kPark,
    Event::kParked,      Event::kNotQuiesced, Event::kUnpark,
    Event::kLeave,       Event::kFault,       Event::kFaultAsk,
    Event::kFatal,       Event::kPlace,       Event::kPlaced,
    Event::kResume,      Event::kRestored,    Event::kNotStarted,
    Event::kAcknowledge, Event::kResumed,     Event::kNotResumed,
    Event::kClose};

enum class Action {
  kStopExecutor,  // End the executor that has failed.
  kTell,          // Notify clients of the fault, the epoch or the loss.
  kRecover,       // Start a recovery.
};

struct Transition {
  State state;
  std::vector<Action> actions;  // in this order
};

// Returns the state after `event`, and the actions that the event requires.
// Returns nullopt if the event changes nothing in this state.
std::optional<Transition> Next(const State& state, Event event);

// Returns true if commands are refused until the client acknowledges the fault
// or suspension.
bool IsHalted(const State& state);
// Returns true if the executor serves commands.
bool IsServing(const State& state);
// Returns true if the session has an executor, or is getting one.
bool HasExecutor(const State& state);
// Returns true if the session is lost or closed, and never gets an executor.
bool IsOver(const State& state);
// Returns true while a thread quiesces, recovers, places or resumes the
// session.
bool IsChanging(const State& state);

// Returns the name that the table uses, such as "Recovering".
absl::string_view Name(Phase phase);
absl::string_view Name(Event event);

}  // namespace holdfast::session

#endif  // HOLDFAST_SERVER_SESSION_STATE_H_
