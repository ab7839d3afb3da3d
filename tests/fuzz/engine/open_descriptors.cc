// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/open_descriptors.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace holdfast::fuzz {

std::map<int, std::string> OpenDescriptors() {
  std::map<int, std::string> open;
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return open;
  while (const dirent* entry = readdir(directory)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == dirfd(directory)) continue;
    char target[PATH_MAX];
    const std::string link = absl::StrCat("/proc/self/fd/", fd);
    const ssize_t size = readlink(link.c_str(), target, sizeof target);
    if (size >= 0) open[fd] = std::string(target, static_cast<size_t>(size));
  }
  closedir(directory);
  return open;
}

std::string NewDescriptors(const std::map<int, std::string>& before,
                           const std::map<int, std::string>& now) {
  std::string text;
  for (const auto& [fd, target] : now) {
    if (before.count(fd) > 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", fd, " ", target);
  }
  return text;
}

}  // namespace holdfast::fuzz
