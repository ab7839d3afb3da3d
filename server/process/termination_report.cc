// SPDX-License-Identifier: Apache-2.0
#include "server/process/termination_report.h"

#include <string.h>

#include "absl/strings/str_cat.h"

namespace holdfast {

std::string TerminationReport::ToString() const {
  switch (cause) {
    case Cause::kExited:
      return absl::StrCat("exited with code ", code);
    case Cause::kSignaled: {
      const char* name = sigabbrev_np(code);
      return absl::StrCat(
          "was killed by signal ", code,
          name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
    }
    case Cause::kUnknown:
      return "ended with the daemon's spawner";
  }
  return "ended";
}

}  // namespace holdfast
