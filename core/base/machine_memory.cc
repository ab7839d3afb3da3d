// SPDX-License-Identifier: Apache-2.0
#include "core/base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast {
namespace {

// Status and its payloads cannot be linked into the software driver, a shared
// library: files are read by plain streams here.

// UINT64_MAX: the file says "max", or cannot be read.
uint64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  uint64_t limit = 0;
  return file >> limit && limit > 0 ? limit : UINT64_MAX;
}

// In a container the path may be that of the host, which is not to be seen;
// the container's own group is the root then.
uint64_t LeastLimit(const std::string& root, absl::string_view path,
                    absl::string_view file) {
  if (absl::StrContains(path, "..")) path = "/";
  uint64_t least = UINT64_MAX;
  while (true) {
    least = std::min(least, ReadLimit(absl::StrCat(root, path, "/", file)));
    const size_t parent = path.rfind('/');
    if (parent == absl::string_view::npos) return least;
    path = path.substr(0, parent);
  }
}

uint64_t ReadMachineMemory() {
  const uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/cgroup");
  const std::string groups(std::istreambuf_iterator<char>(file), {});
  return std::min(machine, ControlGroupMemory(groups, "/sys/fs/cgroup"));
}

}  // namespace

uint64_t MachineMemory() {
  static const uint64_t bytes = ReadMachineMemory();
  return bytes;
}

uint64_t ControlGroupMemory(absl::string_view groups,
                            const std::string& mount) {
  uint64_t least = UINT64_MAX;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    // "0::/path" of version 2, "4:memory:/path" of version 1.
    const std::vector<absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) {
      least = std::min(least, LeastLimit(mount, parts[2], "memory.max"));
    } else if (absl::c_linear_search(absl::StrSplit(parts[1], ','), "memory")) {
      least = std::min(least, LeastLimit(absl::StrCat(mount, "/memory"),
                                         parts[2], "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace holdfast
