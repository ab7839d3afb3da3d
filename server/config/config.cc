// SPDX-License-Identifier: Apache-2.0
#include "server/config/config.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"

namespace holdfast::server {
namespace {

// Empty unless it is set to an absolute path.
std::string PathIn(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

size_t DefaultCompilerWorkers() {
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 16);
}

size_t DefaultMaxConnections() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<size_t>(std::clamp<rlim_t>(limit.rlim_max / 4, 16, 4096));
}

std::string FileVersion(const std::string& path) {
  struct stat info = {};
  if (path.empty() || stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, ".", info.st_ino, ".", info.st_size, ".",
                      info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

std::string DefaultRuntimeDirectory() {
  const uid_t user = geteuid();
  if (user == 0) return "/run/holdfast";
  const std::string runtime = PathIn("XDG_RUNTIME_DIR");
  if (!runtime.empty()) return absl::StrCat(runtime, "/holdfast");
  return absl::StrCat("/tmp/holdfast-", user);
}

std::string DefaultUserRange() {
  // systemd's account of user numbers lists those from 1879048192 to 2147483647
  // as unused.
  return geteuid() == 0 ? "2000000000-2000065535" : "";
}

std::string DefaultCacheDirectory() {
  constexpr absl::string_view kPrograms = "/programs";
  // With several directories, systemd joins them with colons.
  const std::string service = PathIn("CACHE_DIRECTORY");
  if (!service.empty()) {
    return absl::StrCat(service.substr(0, service.find(':')), kPrograms);
  }
  if (geteuid() == 0) return absl::StrCat("/var/cache/holdfast", kPrograms);
  const std::string cache = PathIn("XDG_CACHE_HOME");
  if (!cache.empty()) return absl::StrCat(cache, "/holdfast", kPrograms);
  const std::string home = PathIn("HOME");
  if (home.empty()) return "";
  return absl::StrCat(home, "/.cache/holdfast", kPrograms);
}

}  // namespace holdfast::server
