// SPDX-License-Identifier: Apache-2.0
#include "core/base/close_descriptors.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <system_error>
#include <vector>

namespace holdfast {

namespace {

// Closed once all are known: closing changes the list.
std::vector<int> ListedFrom(DIR* directory, int first) {
  std::vector<int> listed;
  while (const dirent* entry = readdir(directory)) {
    int descriptor = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [parsed, error] =
        std::from_chars(entry->d_name, end, descriptor);
    if (error == std::errc() && parsed == end && descriptor >= first) {
      listed.push_back(descriptor);
    }
  }
  return listed;
}

}  // namespace

void CloseDescriptorsFrom(int first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) {
    const int limit = static_cast<int>(sysconf(_SC_OPEN_MAX));
    for (int descriptor = first; descriptor < limit; ++descriptor) {
      close(descriptor);
    }
    return;
  }
  const std::vector<int> listed = ListedFrom(directory, first);
  const int own = dirfd(directory);
  for (const int descriptor : listed) {
    if (descriptor != own) close(descriptor);
  }
  closedir(directory);
}

}  // namespace holdfast
