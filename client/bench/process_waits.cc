// SPDX-License-Identifier: Apache-2.0
#include "client/bench/process_waits.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace holdfast::bench {
namespace {

// 0 if the thread has ended meanwhile.
uint64_t WaitsOf(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string key; status >> key;) {
    if (key != "voluntary_ctxt_switches:") continue;
    uint64_t count = 0;
    status >> count;
    return count;
  }
  return 0;
}

}  // namespace

absl::StatusOr<uint64_t> CountWaits(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/task");
  std::error_code error;
  uint64_t count = 0;
  std::filesystem::directory_iterator threads(path, error);
  for (; !error && threads != end(threads); threads.increment(error)) {
    count += WaitsOf(threads->path());
  }
  if (!error) return count;
  return absl::NotFoundError(absl::StrCat("cannot read ", path));
}

}  // namespace holdfast::bench
