// SPDX-License-Identifier: Apache-2.0
//
// A connection to a daemon does not survive fork(): the child has the parent's
// sockets and shared memory, but none of its threads, and a mutex that one of
// those threads held stays locked. So in the child every call fails, inherited
// objects are not destroyed, and no connection can be made, because gRPC has
// lost its threads, too. After exec() the child can use Holdfast as usual.
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

// Returns true after fork() in the child, and in its children, if
// NoteConnection was called before. Does not notice vfork(), _Fork() or
// clone().
inline bool IsForked() {
  return internal::is_forked.load(std::memory_order_relaxed);
}

// Makes IsForked true in children that are forked from now on. Call before the
// first connection. May be called several times.
void NoteConnection();

// ForkedError returns FAILED_PRECONDITION, with advice. CheckNotForked returns
// ForkedError if IsForked, else OK.
absl::Status ForkedError();
inline absl::Status CheckNotForked() {
  if (!IsForked()) [[likely]]
    return absl::OkStatus();
  return ForkedError();
}

// Returns a pointer that owns `object`, and does not delete it if IsForked.
template <typename T>
std::shared_ptr<T> KeepIfForked(T* object) {
  return std::shared_ptr<T>(object, [](T* last) {
    if (!IsForked()) delete last;
  });
}

// Leaks `object` on purpose: moves it to the heap and never deletes it.
template <typename T>
void Abandon(T object) {
  new T(std::move(object));
}

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_FORKED_PROCESS_H_
