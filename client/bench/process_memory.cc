// SPDX-License-Identifier: Apache-2.0
#include "client/bench/process_memory.h"

#include <fstream>

#include "absl/strings/str_cat.h"

namespace holdfast::bench {

absl::StatusOr<double> PrivateMemoryMiB(const std::string& pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/smaps_rollup");
  std::ifstream file(path);
  double kibibytes = 0;
  bool found = false;
  for (std::string key; file >> key;) {
    double value = 0;
    if (key == "Private_Dirty:") {
      file >> value;
      kibibytes += value;
      found = true;
    }
  }
  if (found) return kibibytes / 1024;
  return absl::NotFoundError(absl::StrCat("cannot read ", path));
}

}  // namespace holdfast::bench
