// SPDX-License-Identifier: Apache-2.0
#include "server/process/termination_report.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace holdfast {

namespace {

// " (SIGSEGV)", or nothing.
std::string SignalName(int signal) {
  const char* name = signal > 0 ? sigabbrev_np(signal) : nullptr;
  return name == nullptr ? "" : absl::StrCat(" (SIG", name, ")");
}

}  // namespace

std::string TerminationReport::ToString() const {
  switch (cause) {
    case Cause::kExited:
      // As shells and the sandbox say that it was by a signal.
      return absl::StrCat("exited with code ", code, SignalName(code - 128));
    case Cause::kSignaled:
      return absl::StrCat("was killed by signal ", code, SignalName(code));
    case Cause::kUnknown:
      return "ended with the daemon's spawner";
  }
  return "ended";
}

}  // namespace holdfast
