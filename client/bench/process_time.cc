// SPDX-License-Identifier: Apache-2.0
#include "client/bench/process_time.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {

// "PID (NAME) STATE PARENT ...", with the times as fields 14 and 15. The name
// may have blanks and brackets of its own.
absl::StatusOr<ProcessTime> ReadProcessTime(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  ProcessTime time;
  fields >> state >> time.parent;
  for (int field = 5; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  time.cpu_milliseconds = (user + system) * 1000 / ticks;
  return time;
}

absl::StatusOr<pid_t> DaemonOf(pid_t executor) {
  HOLDFAST_ASSIGN_OR_RETURN(const ProcessTime child, ReadProcessTime(executor));
  HOLDFAST_ASSIGN_OR_RETURN(const ProcessTime spawner,
                            ReadProcessTime(child.parent));
  return spawner.parent;
}

}  // namespace holdfast::bench
