// SPDX-License-Identifier: Apache-2.0
#include "server/restart/keeper_handover.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast {
namespace {

constexpr char kKeeperVariable[] = "HOLDFAST_KEEPER_PIDFD";
constexpr char kAdoptVariable[] = "HOLDFAST_ADOPT";

// Returns an inherited descriptor, which is not passed on again; empty if
// `number` is none.
UniqueFd TakeDescriptor(absl::string_view number) {
  int fd = -1;
  if (!absl::SimpleAtoi(number, &fd) || fd < 0 ||
      fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return UniqueFd();
  }
  return UniqueFd(fd);
}

// Returns a variable's value and unsets it.
std::string TakeVariable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) return "";
  std::string taken = value;
  unsetenv(name);
  return taken;
}

}  // namespace

UniqueFd OpenProcess(pid_t pid) {
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return process;
}

void PassKeeperOn(int keeper) {
  fcntl(keeper, F_SETFD, 0);
  setenv(kKeeperVariable, absl::StrCat(keeper).c_str(), /*overwrite=*/1);
}

UniqueFd TakeKeeper() { return TakeDescriptor(TakeVariable(kKeeperVariable)); }

std::string AdoptedDaemon::Variable() const {
  return absl::StrCat(kAdoptVariable, "=", pid, " ", process.get(), " ",
                      socket.fd.get());
}

std::optional<AdoptedDaemon> TakeAdoptedDaemon() {
  const std::vector<std::string> values =
      absl::StrSplit(TakeVariable(kAdoptVariable), ' ');
  AdoptedDaemon daemon;
  if (values.size() != 3 || !absl::SimpleAtoi(values[0], &daemon.pid)) {
    return std::nullopt;
  }
  daemon.process = TakeDescriptor(values[1]);
  auto socket = KeeperSocket::Of(TakeDescriptor(values[2]));
  if (!daemon.process.valid() || !socket.ok()) return std::nullopt;
  daemon.socket = *std::move(socket);
  return daemon;
}

}  // namespace holdfast
