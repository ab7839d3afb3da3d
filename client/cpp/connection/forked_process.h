// SPDX-License-Identifier: Apache-2.0
//
// What is connected to a daemon does not survive a fork: the child has the
// parent's sockets and shared memory, but none of its threads, and locks that
// nobody will open. So in the child every call fails, no inherited object is
// destroyed, and no connection can be made, because gRPC has lost its threads
// as well. A child that executes a program is not concerned.
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_FORKED_PROCESS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_FORKED_PROCESS_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace holdfast {

namespace internal {
extern std::atomic<bool> is_forked;
}  // namespace internal

// Returns true in a process that was forked from one that had called
// NoteConnection.
inline bool IsForked() {
  return internal::is_forked.load(std::memory_order_relaxed);
}

// From now on a fork matters. Called before the first connection.
void NoteConnection();

// FAILED_PRECONDITION, with what to do instead, if IsForked.
absl::Status ForkedError();
inline absl::Status CheckNotForked() {
  if (!IsForked()) [[likely]]
    return absl::OkStatus();
  return ForkedError();
}

// Owns an object that is never destroyed in a forked process.
template <typename T>
std::shared_ptr<T> KeepIfForked(T* object) {
  return std::shared_ptr<T>(object, [](T* last) {
    if (!IsForked()) delete last;
  });
}

// Forgets what `object` owns, without destroying it.
template <typename T>
void Abandon(T object) {
  new T(std::move(object));
}

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_FORKED_PROCESS_H_
