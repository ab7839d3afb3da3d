// SPDX-License-Identifier: Apache-2.0
#include "server/executor/service/client_entrance.h"

#include <sys/random.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/rpc/connection_limits.h"

namespace holdfast::executor {
namespace {

constexpr char kHolders[] = "the session's clients";

// Below `size`, and not to be foreseen by those who connect.
size_t RandomIndex(size_t size) {
  size_t number = 0;
  if (getrandom(&number, sizeof number, 0) < 0) number = 0;
  return number % size;
}

}  // namespace

ClientEntrance::ClientEntrance()
    : monitor_({.max_connections = kMaxExecutorConnections,
                .set_by = "connections to one session's executor",
                .log_as = kStrangers}) {}

bool ClientEntrance::Admit(int fd) {
  // The name that gRPC gives a connection that it is handed.
  const std::string peer = absl::StrCat("fd:", fd);
  absl::MutexLock lock(&mutex_);
  std::erase(strangers_, peer);  // It was closed, and its number used again.
  MakeRoom();
  // Each is a client of its own.
  if (!monitor_.Admit(fd, peer, absl::StrCat("connection ", ++admitted_),
                      kStrangerStreams)) {
    return false;
  }
  strangers_.push_back(peer);
  return true;
}

void ClientEntrance::MakeRoom() {
  if (strangers_.size() < kMaxStrangers) return;
  std::erase_if(strangers_, [this](const std::string& peer) {
    return !monitor_.Has(peer);
  });
  while (strangers_.size() >= kMaxStrangers) {
    const auto victim = strangers_.begin() +
                        static_cast<ptrdiff_t>(RandomIndex(strangers_.size()));
    monitor_.End(*victim);
    strangers_.erase(victim);
  }
}

void ClientEntrance::Welcome(const std::string& peer) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find(strangers_.begin(), strangers_.end(), peer);
  if (found == strangers_.end()) return;
  strangers_.erase(found);
  monitor_.Reassign(peer, kHolders);
}

}  // namespace holdfast::executor
