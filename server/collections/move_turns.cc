// SPDX-License-Identifier: Apache-2.0
#include "server/collections/move_turns.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace holdfast::collections {
namespace {

// How often one that waits looks whether it is still wanted.
constexpr absl::Duration kLookTime = absl::Milliseconds(100);

}  // namespace

MoveTurns::Place::~Place() { turns_.End(*this); }

MoveTurns::~MoveTurns() {
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !moving_ && waiting_.empty();
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&over));
}

std::unique_ptr<MoveTurns::Place> MoveTurns::Add(bool is_call,
                                                 std::string client) {
  const Place::Key key = {is_call, ++last_};
  waiting_[key] = std::move(client);
  return std::unique_ptr<Place>(new Place(*this, key));
}

std::unique_ptr<MoveTurns::Place> MoveTurns::AddReader() {
  absl::MutexLock lock(&mutex_);
  return Add(/*is_call=*/false, "");
}

absl::StatusOr<std::unique_ptr<MoveTurns::Place>> MoveTurns::AddCall(
    const std::string& client) {
  absl::MutexLock lock(&mutex_);
  size_t waiting = 0;
  for (const auto& [key, of_client] : waiting_) {
    if (key.first && of_client == client) ++waiting;
  }
  if (waiting < kMaxWaitingCalls) return Add(/*is_call=*/true, client);
  return absl::ResourceExhaustedError(absl::StrCat(
      waiting, " calls of ", client,
      " wait already to suspend or resume collections; limit of a client: ",
      kMaxWaitingCalls));
}

absl::Status MoveTurns::Await(Place& place,
                              const std::function<bool()>& given_up) {
  const auto due = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !moving_ && waiting_.begin()->first == place.key_;
  };
  while (!given_up()) {
    absl::MutexLock lock(&mutex_);
    if (!mutex_.AwaitWithTimeout(absl::Condition(&due), kLookTime)) continue;
    waiting_.erase(place.key_);
    moving_ = true;
    place.has_turn_ = true;
    return absl::OkStatus();
  }
  return absl::CancelledError("the call ended, or the daemon is stopping");
}

void MoveTurns::End(const Place& place) {
  absl::MutexLock lock(&mutex_);
  if (place.has_turn_) {
    moving_ = false;
  } else {
    waiting_.erase(place.key_);
  }
}

}  // namespace holdfast::collections
