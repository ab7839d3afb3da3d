// SPDX-License-Identifier: Apache-2.0
//
// Walks every pair of a state and an event, and compares the table of
// server/session/README.md with Next().
#include "server/session/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace holdfast::session {
namespace {

using ::testing::ElementsAre;

// States differ in what follows them: `why` and `unparked` are a part of them.
std::vector<State> Reachable() {
  std::vector<State> all = {
      State{},
      // A session that an earlier daemon has left begins in one of these.
      {.phase = Phase::kRecovering, .why = Reason::kUpgrade},
      {.phase = Phase::kRecovering, .why = Reason::kFault},
      {.phase = Phase::kStopped, .why = Reason::kSuspension},
      {.phase = Phase::kStopped, .why = Reason::kFault},
      {.phase = Phase::kLost}};
  for (size_t i = 0; i < all.size(); ++i) {
    for (const Event event : kEvents) {
      const auto next = Next(all[i], event);
      if (!next.has_value()) continue;
      if (std::find(all.begin(), all.end(), next->state) == all.end()) {
        all.push_back(next->state);
      }
    }
  }
  return all;
}

std::string Name(Reason why) {
  switch (why) {
    case Reason::kFault:
      return "fault";
    case Reason::kSuspension:
      return "suspension";
    case Reason::kUpgrade:
      return "upgrade";
  }
  return "";
}

std::string Name(Action action) {
  switch (action) {
    case Action::kStopExecutor:
      return "stop the executor";
    case Action::kTell:
      return "tell clients";
    case Action::kRecover:
      return "recover";
  }
  return "";
}

std::string Describe(const State& state) {
  std::string text(session::Name(state.phase));
  const bool parked =
      state.phase == Phase::kParked || state.phase == Phase::kLeft;
  if (parked) absl::StrAppend(&text, " ", session::Name(state.unparked));
  if (IsHalted(state) || state.phase == Phase::kQuiescing) {
    absl::StrAppend(&text, " (", Name(state.why), ")");
  }
  return text;
}

// One row for all events that lead from one phase to another with the same
// actions. Close and Leave, which are alike for all phases, are left out.
std::string Table() {
  std::string table =
      "| phase | event | next phase | then |\n|---|---|---|---|\n";
  for (const Phase phase : kPhases) {
    std::vector<std::pair<std::string, std::set<std::string>>> rows;
    for (const Event event : kEvents) {
      if (event == Event::kClose || event == Event::kLeave) continue;
      for (const State& state : Reachable()) {
        const auto next = Next(state, event);
        if (state.phase != phase || !next.has_value()) continue;
        const std::string row = absl::StrCat(
            session::Name(next->state.phase), " | ",
            absl::StrJoin(next->actions, ", ", [](std::string* out, Action a) {
              absl::StrAppend(out, Name(a));
            }));
        const auto found = std::find_if(
            rows.begin(), rows.end(),
            [&row](const auto& known) { return known.first == row; });
        if (found != rows.end()) {
          found->second.emplace(session::Name(event));
        } else {
          rows.push_back({row, {std::string(session::Name(event))}});
        }
      }
    }
    for (const auto& [row, events] : rows) {
      absl::StrAppend(&table, "| ", session::Name(phase), " | ",
                      absl::StrJoin(events, ", "), " | ", row, " |\n");
    }
  }
  return table;
}

State After(State state, const std::vector<Event>& events) {
  for (const Event event : events) {
    const auto next = Next(state, event);
    EXPECT_TRUE(next.has_value())
        << Describe(state) << ", " << session::Name(event);
    if (next.has_value()) state = next->state;
  }
  return state;
}

TEST(StateTest, TheReadmeHasTheTableOfEveryPair) {
  std::ifstream file("server/session/README.md");
  std::stringstream readme;
  readme << file.rdbuf();
  EXPECT_TRUE(readme.str().find(Table()) != std::string::npos)
      << "server/session/README.md is to have this table:\n"
      << Table();
}

TEST(StateTest, EveryStateCanBeClosedAndNothingFollows) {
  for (const State& state : Reachable()) {
    const auto closed = Next(state, Event::kClose);
    if (state.phase == Phase::kClosed) {
      EXPECT_FALSE(closed.has_value());
      continue;
    }
    ASSERT_TRUE(closed.has_value()) << Describe(state);
    EXPECT_EQ(closed->state.phase, Phase::kClosed);
    for (const Event event : kEvents) {
      EXPECT_FALSE(Next(closed->state, event).has_value())
          << session::Name(event);
    }
  }
}

TEST(StateTest, AStateIsServingHaltedOrOver) {
  for (const State& state : Reachable()) {
    EXPECT_EQ(IsServing(state) + IsHalted(state) + IsOver(state), 1)
        << Describe(state);
  }
}

// Otherwise a session waits for a thread that nothing has started.
TEST(StateTest, WhatLeadsToARecoveryStartsIt) {
  for (const State& state : Reachable()) {
    for (const Event event : kEvents) {
      const auto next = Next(state, event);
      if (!next.has_value() || next->state.phase != Phase::kRecovering)
        continue;
      ASSERT_FALSE(next->actions.empty()) << Describe(state);
      EXPECT_EQ(next->actions.back(), Action::kRecover) << Describe(state);
    }
  }
}

// A client waits in a halted state for one in which its commands are served,
// or for an error.
TEST(StateTest, EveryHaltedStateLeadsBackToServing) {
  for (const State& start : Reachable()) {
    if (!IsHalted(start) || start.phase == Phase::kLeft) continue;
    std::vector<State> seen = {start};
    bool served = false;
    for (size_t i = 0; i < seen.size() && !served; ++i) {
      for (const Event event : kEvents) {
        const auto next = Next(seen[i], event);
        if (!next.has_value()) continue;
        served = served || IsServing(next->state);
        if (std::find(seen.begin(), seen.end(), next->state) == seen.end()) {
          seen.push_back(next->state);
        }
      }
    }
    EXPECT_TRUE(served) << Describe(start);
  }
}

TEST(StateTest, AFaultIsToldBeforeTheRecoveryBegins) {
  const auto next = Next(State{}, Event::kFault);
  ASSERT_TRUE(next.has_value());
  EXPECT_THAT(next->actions, ElementsAre(Action::kTell, Action::kRecover));
}

TEST(StateTest, TheEndOfASuspendedExecutorIsNoFault) {
  const State suspended = After(State{}, {Event::kSuspend, Event::kSuspended});
  EXPECT_FALSE(Next(suspended, Event::kFault).has_value());
  EXPECT_EQ(After(suspended, {Event::kResume, Event::kRestored,
                              Event::kAcknowledge, Event::kResumed}),
            State{});
}

TEST(StateTest, ASessionThatIsParkedComesBackAsItWas) {
  EXPECT_EQ(
      After(State{}, {Event::kPark, Event::kParked, Event::kUnpark}).phase,
      Phase::kServing);
  const State suspended = After(State{}, {Event::kSuspend, Event::kSuspended});
  EXPECT_EQ(After(suspended, {Event::kPark, Event::kUnpark}), suspended);
  const State restored = After(suspended, {Event::kResume, Event::kRestored});
  EXPECT_EQ(After(restored, {Event::kPark, Event::kUnpark}), restored);
}

TEST(StateTest, AnExecutorThatEndsWhileParkedIsReplacedAfterUnpark) {
  const State parked = After(State{}, {Event::kPark, Event::kParked});
  const auto ended = Next(parked, Event::kFault);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state.phase, Phase::kParked);
  EXPECT_THAT(ended->actions, ElementsAre(Action::kTell));
  const auto unparked = Next(ended->state, Event::kUnpark);
  ASSERT_TRUE(unparked.has_value());
  EXPECT_EQ(unparked->state.phase, Phase::kRecovering);
  EXPECT_THAT(unparked->actions, ElementsAre(Action::kRecover));
}

TEST(StateTest, AnExecutorThatEndsWithItsDaemonIsNoFault) {
  const State left =
      After(State{}, {Event::kPark, Event::kParked, Event::kLeave});
  for (const Event event : kEvents) {
    EXPECT_EQ(Next(left, event).has_value(), event == Event::kClose)
        << session::Name(event);
  }
}

TEST(StateTest, OnlyAnExecutorThatServesIsSuspended) {
  for (const State& state : Reachable()) {
    EXPECT_EQ(Next(state, Event::kSuspend).has_value(),
              state.phase == Phase::kServing)
        << Describe(state);
  }
}

// A parked session has the executor that it had before.
TEST(StateTest, ASessionThatRunsHasAnExecutorAlsoWhileItIsParked) {
  const State serving;
  const State suspended = After(serving, {Event::kSuspend, Event::kSuspended});
  const State recovering = After(serving, {Event::kFault});
  const State restored = After(recovering, {Event::kRestored});
  for (const State& state :
       {serving, After(serving, {Event::kPark}), recovering, restored,
        After(restored, {Event::kAcknowledge}),
        After(serving, {Event::kPark, Event::kParked}),
        After(restored, {Event::kPark})}) {
    EXPECT_TRUE(HasExecutor(state)) << Describe(state);
  }
  for (const State& state :
       {suspended, After(suspended, {Event::kPlace}),
        After(suspended, {Event::kPark}), After(serving, {Event::kFatal}),
        After(serving, {Event::kClose}), After(serving, {Event::kLeave})}) {
    EXPECT_FALSE(HasExecutor(state)) << Describe(state);
  }
}

}  // namespace
}  // namespace holdfast::session
