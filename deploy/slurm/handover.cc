// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/base/unique_fd.h"

namespace holdfast::slurm {
namespace {

constexpr size_t kMaxBytes = 64 << 10;
constexpr char kToken[] = "token ";
constexpr char kRefusal[] = "refusal ";

std::string Failed(const std::string& call, const std::string& path) {
  return call + " " + path + ": " + strerror(errno);
}

std::string ReadFile(int fd) {
  std::string text(kMaxBytes, '\0');
  const ssize_t bytes = read(fd, text.data(), text.size());
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return text;
}

// Others may pass through the directory and see no names in it.
std::string MakeDirectory(const std::string& path) {
  struct stat info = {};
  if (mkdir(path.c_str(), 0711) == 0) chmod(path.c_str(), 0711);
  if (lstat(path.c_str(), &info) != 0) return Failed("look at", path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 0022) != 0) {
    return path + " is no directory that only root can write to";
  }
  return "";
}

}  // namespace

std::string HandoverDirectory::FileOf(uint32_t job) const {
  return path_ + "/" + std::to_string(job);
}

std::string HandoverDirectory::Write(uint32_t job, uid_t user,
                                     const Handover& handover) const {
  std::string error = MakeDirectory(path_);
  if (!error.empty()) return error;
  const std::string file = FileOf(job);
  unlink(file.c_str());
  const UniqueFd fd(
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  const std::string text = handover.refusal.empty()
                               ? kToken + handover.token
                               : kRefusal + handover.refusal;
  // The owner last: until then only root can read it.
  if (!fd.valid() ||
      write(fd.get(), text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      fchown(fd.get(), user, static_cast<gid_t>(-1)) != 0) {
    error = Failed("write", file);
    unlink(file.c_str());
  }
  return error;
}

std::optional<Handover> HandoverDirectory::Read(uint32_t job) const {
  const UniqueFd fd(
      open(FileOf(job).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  const std::string text = ReadFile(fd.get());
  Handover handover;
  if (text.rfind(kToken, 0) == 0) {
    handover.token = text.substr(sizeof kToken - 1);
  } else {
    handover.refusal = text.substr(text.find(' ') + 1);
  }
  return handover;
}

void HandoverDirectory::Remove(uint32_t job) const {
  unlink(FileOf(job).c_str());
}

}  // namespace holdfast::slurm
