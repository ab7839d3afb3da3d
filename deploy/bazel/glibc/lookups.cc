// SPDX-License-Identifier: Apache-2.0
//
// Functions of glibc 2.32 to 2.34 that Holdfast and LLVM call and that need
// glibc's help: the process's own glibc is asked for them first.
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <spawn.h>

#include <cerrno>
#include <cstdlib>

#include "deploy/bazel/glibc/hidden.h"

namespace {

// Returns the function of the process's glibc; null if that glibc does not have
// it. dlsym does not find the functions of this folder, which are hidden.
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// mallinfo gives each count modulo 2^32.
size_t Widened(int count) { return static_cast<unsigned>(count); }

// Adds an action for each descriptor from `first` on that is open now. A
// descriptor that another thread opens later stays open in the child unless it
// is close-on-exec.
int AddCloseOfOpen(posix_spawn_file_actions_t* actions, int first) {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return errno;
  int error = 0;
  while (const dirent* entry = error == 0 ? readdir(directory) : nullptr) {
    char* end = nullptr;
    const long descriptor = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || descriptor < first) continue;
    error = posix_spawn_file_actions_addclose(actions,
                                              static_cast<int>(descriptor));
  }
  closedir(directory);
  return error;
}

// The names of the signals of x86-64, by number.
constexpr const char* kSignals[] = {
    nullptr,  "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
    "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
    "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR",  "SYS"};

}  // namespace

extern "C" {

// glibc 2.34's.
HOLDFAST_OLDER int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t* actions, int first) noexcept {
  static const auto own =
      Find<decltype(posix_spawn_file_actions_addclosefrom_np)>(
          "posix_spawn_file_actions_addclosefrom_np");
  return own != nullptr ? own(actions, first) : AddCloseOfOpen(actions, first);
}

// glibc 2.33's.
HOLDFAST_OLDER struct mallinfo2 mallinfo2() noexcept {
  static const auto own = Find<struct mallinfo2()>("mallinfo2");
  if (own != nullptr) return own();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo older = mallinfo();
#pragma GCC diagnostic pop
  return {Widened(older.arena),    Widened(older.ordblks),
          Widened(older.smblks),   Widened(older.hblks),
          Widened(older.hblkhd),   Widened(older.usmblks),
          Widened(older.fsmblks),  Widened(older.uordblks),
          Widened(older.fordblks), Widened(older.keepcost)};
}

// glibc 2.32's.
HOLDFAST_OLDER const char* sigabbrev_np(int signal) noexcept {
  constexpr int kCount = sizeof kSignals / sizeof kSignals[0];
  return signal > 0 && signal < kCount ? kSignals[signal] : nullptr;
}

}  // extern "C"
