// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/forked_process.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

pid_t parent = 0;

}  // namespace

namespace internal {
std::atomic<bool> is_forked = false;
}  // namespace internal

void NoteConnection() {
  static const int once = pthread_atfork(nullptr, nullptr, [] {
    parent = getppid();
    internal::is_forked = true;
  });
  static_cast<void>(once);
}

absl::Status ForkedError() {
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", getpid(), " was forked from process ", parent,
      " after that had connected to a Holdfast daemon, and can use neither "
      "its connections and sessions nor new ones: fork before the first "
      "connection, or execute a program in the child"));
}

}  // namespace holdfast
