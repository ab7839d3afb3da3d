// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/top_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/color.h"
#include "client/cli/json_writer.h"
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

// Watches one daemon.
class Watch {
 public:
  explicit Watch(const std::string& address) { watched_.address = address; }

  // Takes a snapshot, with the rates since the one before. Connects first if it
  // is not connected yet.
  absl::Status Look() {
    watched_.status = Take();
    if (!watched_.status.ok()) watched_.snapshot = std::nullopt;
    return watched_.status;
  }

  const WatchedDaemon& watched() const { return watched_; }

 private:
  absl::Status Take() {
    if (daemon_ == nullptr) {
      HOLDFAST_ASSIGN_OR_RETURN(daemon_, Daemon::Connect(watched_.address));
    }
    HOLDFAST_ASSIGN_OR_RETURN(TopSnapshot now, TakeSnapshot(*daemon_));
    watched_.rates = std::nullopt;
    if (watched_.snapshot.has_value()) {
      watched_.rates = RatesBetween(*watched_.snapshot, now);
    }
    watched_.snapshot = std::move(now);
    return absl::OkStatus();
  }

  std::shared_ptr<Daemon> daemon_;
  WatchedDaemon watched_;
};

// Watches the daemons of all addresses.
class Watches {
 public:
  explicit Watches(const CommonOptions& options) {
    for (const std::string& address : options.addresses) {
      watches_.emplace_back(address);
    }
    if (watches_.empty()) watches_.emplace_back(options.address);
  }

  bool is_one() const { return watches_.size() == 1; }

  // Looks at all daemons at the same time. Fails only if there is just one.
  absl::Status Look() {
    std::vector<std::future<absl::Status>> looks;
    for (Watch& watch : watches_) {
      looks.push_back(std::async(std::launch::async, &Watch::Look, &watch));
    }
    for (auto& look : looks) look.wait();
    return is_one() ? looks.front().get() : absl::OkStatus();
  }

  // REQUIRES: Look().
  std::vector<std::string> View(ViewSize size, const ViewStyle& style) const {
    const std::vector<WatchedDaemon> daemons = watched();
    if (!is_one()) return TopViewOfSeveral(daemons, size, style);
    return TopView(*daemons.front().snapshot, daemons.front().rates_or_null(),
                   size, style);
  }

  // One object, or an array with an object for each of several daemons.
  std::string Json(const SortOrder& order) const {
    std::vector<std::string> objects;
    for (const WatchedDaemon& daemon : watched()) {
      objects.push_back(JsonOf(daemon, order));
    }
    if (is_one()) return objects.front();
    return absl::StrCat("[", absl::StrJoin(objects, ", "), "]");
  }

  // Reports each of several daemons that failed. Returns the first failure.
  absl::Status ReportFailures() const {
    absl::Status first;
    for (const WatchedDaemon& daemon : watched()) {
      first.Update(ReportOfOne(daemon.address, daemon.status, nullptr));
    }
    return first;
  }

 private:
  static std::string JsonOf(const WatchedDaemon& daemon,
                            const SortOrder& order) {
    if (daemon.status.ok()) {
      return TopJson(*daemon.snapshot, daemon.rates_or_null(), order);
    }
    JsonWriter json;
    json.BeginObject().Member("address", daemon.address);
    WriteError(daemon.status, &json);
    return json.EndObject().text();
  }

  std::vector<WatchedDaemon> watched() const {
    std::vector<WatchedDaemon> daemons;
    for (const Watch& watch : watches_) daemons.push_back(watch.watched());
    return daemons;
  }

  std::vector<Watch> watches_;
};

void Print(const Watches& watches, const SortOrder& order, bool json) {
  if (json) {
    std::puts(watches.Json(order).c_str());
  } else {
    const ViewStyle style = {.order = order, .colors = ShowsColors(stdout)};
    for (const auto& line : watches.View({}, style)) std::puts(line.c_str());
  }
  std::fflush(stdout);
}

// Until the screen is left.
absl::Status ShowOnScreen(Watches& watches, const SortOrder& order,
                          absl::Duration interval) {
  ViewStyle style = {
      .order = order, .colors = ShowsColors(stdout), .keys = true};
  HOLDFAST_RETURN_IF_ERROR(watches.Look());
  HOLDFAST_ASSIGN_OR_RETURN(const auto screen, Screen::Open());
  absl::Time next = absl::Now() + interval;
  while (true) {
    if (absl::Now() >= next) {
      HOLDFAST_RETURN_IF_ERROR(watches.Look());
      next = absl::Now() + interval;
    }
    screen->Draw(watches.View(screen->size(), style));
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
absl::Status PrintAgainAndAgain(Watches& watches, const SortOrder& order,
                                absl::Duration interval, bool json) {
  while (true) {
    HOLDFAST_RETURN_IF_ERROR(watches.Look());
    Print(watches, order, json);
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
  Watches watches(options);
  const SortOrder order = OrderOf(flags.sort);
  if (on_screen) return ShowOnScreen(watches, order, interval);
  if (!flags.once) {
    return PrintAgainAndAgain(watches, order, interval, options.json);
  }
  HOLDFAST_RETURN_IF_ERROR(watches.Look());
  absl::SleepFor(interval);
  HOLDFAST_RETURN_IF_ERROR(watches.Look());
  Print(watches, order, options.json);
  return watches.ReportFailures();
}

}  // namespace

void AddTopCommand(CLI::App* app, CommonOptions* options,
                   absl::Status* status) {
  const auto flags = std::make_shared<TopFlags>();
  CLI::App* command = AddCommand(
      app, options, "top",
      "Show devices and sessions live: memory, rates, faults; q ends, other "
      "keys sort",
      [options, flags] { return Top(*options, *flags); }, status,
      Addresses::kSeveral);
  command->add_flag("--once", flags->once,
                    "Print one view, with rates over one interval, and end");
  command
      ->add_option(
          "--sort", flags->sort,
          "The column by which sessions are sorted, the largest value first")
      ->check(CLI::IsMember(NamesOfOrders()))
      ->type_name("COLUMN")
      ->capture_default_str();
  command
      ->add_option("--interval", flags->interval,
                   "Seconds between two views. With --json, or if the output "
                   "is no terminal, views are printed one below the other")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
}

}  // namespace holdfast::cli
