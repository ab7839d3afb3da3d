// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/top_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/color.h"
#include "client/cli/top/screen.h"
#include "client/cli/top/snapshot.h"
#include "client/cli/top/view.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct TopFlags {
  bool once = false;
  double interval = 2;  // seconds
  std::string sort = SortOrders().front().name;
};

std::vector<std::string> NamesOfOrders() {
  std::vector<std::string> names;
  for (const SortOrder& order : SortOrders()) names.emplace_back(order.name);
  return names;
}

// REQUIRES: there is one of this name.
SortOrder OrderOf(const std::string& name) {
  return *std::find_if(
      SortOrders().begin(), SortOrders().end(),
      [&](const SortOrder& order) { return name == order.name; });
}

// Takes snapshots, with the rates since the one before.
class Watch {
 public:
  explicit Watch(Daemon& daemon) : daemon_(daemon) {}

  absl::Status Look() {
    HOLDFAST_ASSIGN_OR_RETURN(TopSnapshot now, TakeSnapshot(daemon_));
    if (snapshot_.has_value()) rates_ = RatesBetween(*snapshot_, now);
    snapshot_ = std::move(now);
    return absl::OkStatus();
  }

  // REQUIRES: Look().
  const TopSnapshot& snapshot() const { return *snapshot_; }
  const CopyRates* rates() const {
    return rates_.has_value() ? &*rates_ : nullptr;
  }

 private:
  Daemon& daemon_;
  std::optional<TopSnapshot> snapshot_;
  std::optional<CopyRates> rates_;
};

void Print(const Watch& watch, const SortOrder& order, bool json) {
  if (json) {
    std::puts(TopJson(watch.snapshot(), watch.rates(), order).c_str());
  } else {
    const ViewStyle style = {.order = order, .colors = ShowsColors(stdout)};
    for (const auto& line :
         TopView(watch.snapshot(), watch.rates(), {}, style)) {
      std::puts(line.c_str());
    }
  }
  std::fflush(stdout);
}

// Until the screen is left.
absl::Status ShowOnScreen(Watch& watch, const SortOrder& order,
                          absl::Duration interval) {
  ViewStyle style = {
      .order = order, .colors = ShowsColors(stdout), .keys = true};
  HOLDFAST_ASSIGN_OR_RETURN(const auto screen, Screen::Open());
  absl::Time next = absl::Now();
  while (true) {
    if (absl::Now() >= next) {
      HOLDFAST_RETURN_IF_ERROR(watch.Look());
      next = absl::Now() + interval;
    }
    screen->Draw(
        TopView(watch.snapshot(), watch.rates(), screen->size(), style));
    char key = 0;
    const Screen::Event event = screen->Wait(next - absl::Now(), &key);
    if (event == Screen::Event::kQuit) return absl::OkStatus();
    if (event != Screen::Event::kKey) continue;
    for (const SortOrder& chosen : SortOrders()) {
      if (chosen.key == key) style.order = chosen;
    }
  }
}

// Until the process is ended.
absl::Status PrintAgainAndAgain(Watch& watch, const SortOrder& order,
                                absl::Duration interval, bool json) {
  while (true) {
    HOLDFAST_RETURN_IF_ERROR(watch.Look());
    Print(watch, order, json);
    if (std::ferror(stdout) != 0) return absl::OkStatus();
    absl::SleepFor(interval);
    if (!json) std::puts("");
  }
}

absl::Status Top(const CommonOptions& options, const TopFlags& flags) {
  const absl::Duration interval = absl::Seconds(flags.interval);
  const bool on_screen = !flags.once && !options.json &&
                         isatty(STDIN_FILENO) == 1 &&
                         isatty(STDOUT_FILENO) == 1;
  if (on_screen) Screen::BlockSignals();
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  Watch watch(*daemon);
  const SortOrder order = OrderOf(flags.sort);
  if (on_screen) return ShowOnScreen(watch, order, interval);
  if (!flags.once) {
    return PrintAgainAndAgain(watch, order, interval, options.json);
  }
  HOLDFAST_RETURN_IF_ERROR(watch.Look());
  absl::SleepFor(interval);
  HOLDFAST_RETURN_IF_ERROR(watch.Look());
  Print(watch, order, options.json);
  return absl::OkStatus();
}

}  // namespace

void AddTopCommand(CLI::App* app, CommonOptions* options,
                   absl::Status* status) {
  const auto flags = std::make_shared<TopFlags>();
  CLI::App* command = AddCommand(
      app, options, "top",
      "Watch devices and sessions: memory, rates, faults; q leaves, and other "
      "keys sort",
      [options, flags] { return Top(*options, *flags); }, status);
  command->add_flag("--once", flags->once,
                    "Print one view, with rates over one interval, and end");
  command
      ->add_option("--sort", flags->sort,
                   "The column that sessions are sorted by, the largest first")
      ->check(CLI::IsMember(NamesOfOrders()))
      ->type_name(absl::StrJoin(NamesOfOrders(), "|"))
      ->capture_default_str();
  command
      ->add_option("--interval", flags->interval,
                   "Seconds between two views. Elsewhere than on a terminal, "
                   "and with --json, views are printed one below the other")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
}

}  // namespace holdfast::cli
