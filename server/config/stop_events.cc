// SPDX-License-Identifier: Apache-2.0
#include "server/config/stop_events.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "absl/time/clock.h"
#include "core/base/log.h"

namespace holdfast::server {
namespace {

int MillisecondsUntil(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return -1;
  const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
  return static_cast<int>(std::clamp<int64_t>(left + 1, 0, INT_MAX));
}

void Set(const UniqueFd& event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event.get(), &one, sizeof one);
}

void Take(const UniqueFd& event) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event.get(), &count, sizeof count);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StopEvents>> StopEvents::Create(int watch_fd) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGHUP);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  signal(SIGUSR1, SIG_IGN);
  UniqueFd signals(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  UniqueFd drained(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd upgrade(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd failed(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals.valid() || !drained.valid() || !upgrade.valid() ||
      !failed.valid()) {
    return absl::ErrnoToStatus(errno, "watch for signals");
  }
  return std::unique_ptr<StopEvents>(
      new StopEvents(std::move(signals), std::move(drained), std::move(upgrade),
                     std::move(failed), watch_fd));
}

StopEvents::Event StopEvents::Wait(absl::Time deadline) {
  while (true) {
    // poll skips a descriptor of -1. For the watched one only its end counts.
    pollfd events[] = {{.fd = signals_.get(), .events = POLLIN},
                       {.fd = drained_.get(), .events = POLLIN},
                       {.fd = watch_fd_, .events = 0},
                       {.fd = failed_.get(), .events = POLLIN},
                       {.fd = upgrade_.get(), .events = POLLIN}};
    const int ready = poll(events, 5, MillisecondsUntil(deadline));
    if (ready == 0) return Event::kTimeout;
    if (ready < 0) continue;
    if (events[0].revents != 0) {
      const Event signal = TakeSignal();
      if (signal != Event::kTimeout) return signal;
    }
    if (events[3].revents != 0) return Event::kFailed;
    if (events[2].revents != 0) return Event::kParentGone;
    if (events[1].revents != 0) return Event::kDrained;
    if (events[4].revents != 0) {
      Take(upgrade_);
      return Event::kUpgrade;
    }
  }
}

StopEvents::Event StopEvents::TakeSignal() {
  signalfd_siginfo info = {};
  if (read(signals_.get(), &info, sizeof info) <= 0) return Event::kTimeout;
  switch (info.ssi_signo) {
    case SIGHUP:
      return Event::kReload;
    case SIGUSR2:
      return Event::kUpgrade;
    default:
      return Event::kSignal;
  }
}

void StopEvents::NotifyDrained() { Set(drained_); }

void StopEvents::NotifyUpgrade() { Set(upgrade_); }

void StopEvents::NotifyFailed() { Set(failed_); }

}  // namespace holdfast::server
