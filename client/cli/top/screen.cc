// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

// Escape sequences that every terminal of today knows.
constexpr absl::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr absl::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr absl::string_view kHome = "\x1b[H";
constexpr absl::string_view kClearToEndOfLine = "\x1b[K";
constexpr absl::string_view kClearBelow = "\x1b[J";

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGWINCH, SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals, number);
  }
  return signals;
}

void Write(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the terminal is gone
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

void Screen::BlockSignals() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::StatusOr<std::unique_ptr<Screen>> Screen::Open() {
  const sigset_t signals = Signals();
  UniqueFd descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!descriptor.valid()) return absl::ErrnoToStatus(errno, "signalfd");
  std::unique_ptr<Screen> screen(new Screen(std::move(descriptor)));
  tcgetattr(STDIN_FILENO, &screen->before_);
  termios keys = screen->before_;
  // Keys come at once and are not shown; those for signals still make them.
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  Write(kEnter);
  return screen;
}

Screen::~Screen() {
  Write(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

ViewSize Screen::size() const {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

void Screen::Draw(const std::vector<std::string>& lines) const {
  std::string text(kHome);
  for (size_t i = 0; i < lines.size(); ++i) {
    // No line break behind the last one, which may be the screen's.
    absl::StrAppend(&text, i == 0 ? "" : "\r\n", lines[i], kClearToEndOfLine);
  }
  absl::StrAppend(&text, kClearBelow);
  Write(text);
}

Screen::Event Screen::Wait(absl::Duration timeout, char* key) {
  pollfd sources[] = {{signals_.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  const int ready = poll(sources, 2,
                         static_cast<int>(std::max<int64_t>(
                             0, absl::ToInt64Milliseconds(timeout))));
  if (ready <= 0) return Event::kTimeout;
  if ((sources[0].revents & POLLIN) != 0) {
    signalfd_siginfo signal = {};
    if (read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
      return signal.ssi_signo == SIGWINCH ? Event::kResized : Event::kQuit;
    }
  }
  *key = 'q';  // also if the terminal is gone
  if (sources[1].revents == 0 || read(STDIN_FILENO, key, 1) < 0) {
    return Event::kTimeout;
  }
  return *key == 'q' || *key == 'Q' ? Event::kQuit : Event::kKey;
}

}  // namespace holdfast::cli
