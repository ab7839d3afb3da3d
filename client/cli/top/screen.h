// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_TOP_SCREEN_H_
#define HOLDFAST_CLIENT_CLI_TOP_SCREEN_H_

#include <termios.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/top/view.h"
#include "core/base/unique_fd.h"

namespace holdfast::cli {

// The alternate screen of a terminal. Each view overwrites the previous one.
// The destructor restores the terminal. Because Wait() reports SIGINT, SIGTERM
// and SIGHUP, the terminal is also restored when these signals end the program.
class Screen {
 public:
  // Blocks the signals that Wait() reports, in this thread and in the threads
  // that this thread starts. Call before any other thread exists.
  static void BlockSignals();

  // Opens the screen. REQUIRES: standard input and output are terminals, and
  // BlockSignals() was called.
  static absl::StatusOr<std::unique_ptr<Screen>> Open();
  ~Screen();

  ViewSize size() const;
  void Draw(const std::vector<std::string>& lines) const;

  enum class Event { kTimeout, kResized, kQuit, kKey };
  // Blocks until the time is up, the terminal's size changes, or a key is
  // pressed, which is stored in *key. The key q and the signals that end a
  // program yield kQuit.
  Event Wait(absl::Duration timeout, char* key);

 private:
  explicit Screen(UniqueFd signals) : signals_(std::move(signals)) {}

  const UniqueFd signals_;
  termios before_ = {};
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_TOP_SCREEN_H_
