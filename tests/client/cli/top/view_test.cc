// SPDX-License-Identifier: Apache-2.0
#include "client/cli/top/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/cli/top/columns.h"
#include "nlohmann/json.hpp"

namespace holdfast::cli {
namespace {

v1::SessionInfo MakeSession(const std::string& id, uint64_t device_bytes,
                            uint64_t copied) {
  v1::SessionInfo session;
  session.set_session_id(id);
  session.set_name("name of " + id);
  session.mutable_client()->set_program("train.py");
  session.mutable_client()->set_pid(42);
  session.set_state(v1::SessionInfo::STATE_ACTIVE);
  session.mutable_usage()->mutable_device_bytes()->set_used(device_bytes);
  auto* const copies = session.add_copies();
  copies->set_path(v1::COPY_PATH_ARENA);
  copies->set_bytes(copied);
  return session;
}

TopSnapshot Example(absl::Time time = absl::FromUnixSeconds(1000000)) {
  TopSnapshot snapshot;
  snapshot.time = time;
  snapshot.address = "unix:/run/holdfast/holdfast.sock";
  snapshot.info.set_max_sessions(64);
  snapshot.info.set_sessions(2);
  auto* const device = snapshot.devices.add_devices();
  device->set_name("NVIDIA H200");
  device->set_total_memory(uint64_t{100} << 30);
  device->set_free_memory(uint64_t{75} << 30);
  *snapshot.sessions.add_sessions() = MakeSession("s-1", 1 << 20, 0);
  *snapshot.sessions.add_sessions() = MakeSession("s-2", 2 << 20, 1000);
  return snapshot;
}

std::string Text(const std::vector<std::string>& lines) {
  return absl::StrJoin(lines, "\n");
}

TEST(TopViewTest, ShowsDevicesAndSessionsThatHoldMostFirst) {
  const std::string text = Text(TopView(Example(), nullptr, {}));
  EXPECT_TRUE(absl::StrContains(text, "NVIDIA H200")) << text;
  EXPECT_TRUE(absl::StrContains(text, "[#####               ]")) << text;
  EXPECT_TRUE(absl::StrContains(text, "sessions 2 of 64")) << text;
  EXPECT_LT(text.find("s-2"), text.find("s-1"));
}

TEST(TopViewTest, FitsIntoAnyTerminal) {
  for (const ViewSize size : {ViewSize{80, 24}, ViewSize{20, 4}, ViewSize{1, 1},
                              ViewSize{300, 100}}) {
    const auto lines = TopView(Example(), nullptr, size);
    EXPECT_LE(lines.size(), size.rows);
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), size.columns) << line;
    }
  }
  const auto lines = TopView(Example(), nullptr, {80, 6});
  EXPECT_EQ(lines.back(), "... 4 more");
}

TEST(TopViewTest, NarrowTerminalsHaveFewerColumnsAndNoneThatIsCut) {
  const std::string wide = Text(TopView(Example(), nullptr, {300, 24}));
  for (const char* title : {"TENANT", "LAUNCHES", "CLIENT", "POWER"}) {
    EXPECT_TRUE(absl::StrContains(wide, title)) << wide;
  }
  for (const size_t columns : {size_t{80}, size_t{50}}) {
    const std::string text = Text(TopView(Example(), nullptr, {columns, 24}));
    for (const char* title : {"SESSION", "DEVICE", "CLIENT", "HEALTH"}) {
      EXPECT_TRUE(absl::StrContains(text, title)) << text;
    }
    EXPECT_FALSE(absl::StrContains(text, "POWER")) << text;
    EXPECT_TRUE(absl::StrContains(text, "name of s-2")) << text;
  }
}

TEST(TopViewTest, ShareOfTheGpuIsOfTheTimeBetweenTwoSnapshots) {
  const TopSnapshot before = Example();
  TopSnapshot after = Example(before.time + absl::Seconds(2));
  after.sessions.mutable_sessions(1)
      ->mutable_usage()
      ->add_gpu_time()
      ->mutable_time()
      ->set_seconds(1);
  const CopyRates rates = RatesBetween(before, after);
  EXPECT_DOUBLE_EQ(rates.gpu_share.at("s-2"), 0.5);
  EXPECT_DOUBLE_EQ(rates.gpu_share.at("s-1"), 0);
  EXPECT_TRUE(absl::StrContains(Text(TopView(after, &rates, {80, 24})), "50%"));
}

TEST(TopViewTest, ClientsCannotWriteToTheTerminal) {
  TopSnapshot snapshot = Example();
  snapshot.sessions.mutable_sessions(0)->set_name("\x1b[2J\nforged\x07");
  for (const std::string& line : TopView(snapshot, nullptr, {})) {
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) >= ' ';
    })) << line;
  }
}

TEST(TopViewTest, RatesAreOfTheTimeBetweenTwoSnapshots) {
  const TopSnapshot before = Example();
  TopSnapshot after = Example(before.time + absl::Seconds(2));
  after.sessions.mutable_sessions(1)->mutable_copies(0)->set_bytes(5000);
  *after.sessions.add_sessions() = MakeSession("s-3", 0, 1 << 30);
  const CopyRates rates = RatesBetween(before, after);
  EXPECT_DOUBLE_EQ(rates.all, 2000);
  EXPECT_DOUBLE_EQ(rates.by_session.at("s-2"), 2000);
  EXPECT_DOUBLE_EQ(rates.by_session.at("s-1"), 0);
  EXPECT_FALSE(rates.by_session.contains("s-3"));  // since when is not known
  EXPECT_DOUBLE_EQ(RatesBetween(after, after).all, 0);
}

TEST(TopViewTest, ARecoveredSessionThatCountsAnewHasNoNegativeRate) {
  const TopSnapshot before = Example();
  TopSnapshot after = Example(before.time + absl::Seconds(1));
  after.sessions.mutable_sessions(1)->mutable_copies(0)->set_bytes(10);
  EXPECT_DOUBLE_EQ(RatesBetween(before, after).by_session.at("s-2"), 0);
}

TEST(TopViewTest, JsonHasTheSame) {
  TopSnapshot snapshot = Example();
  snapshot.sessions.mutable_sessions(0)->set_name("a \"quoted\"\nname");
  const auto json = nlohmann::json::parse(TopJson(snapshot, nullptr));
  EXPECT_EQ(json["devices"][0]["name"], "NVIDIA H200");
  EXPECT_EQ(json["sessions"].size(), 2u);
  EXPECT_EQ(json["sessions"][1]["name"], "a \"quoted\"\nname");
  EXPECT_FALSE(json.contains("copied_bytes_per_second"));
}

TEST(TopViewTest, SessionsAreSortedByWhatIsChosen) {
  TopSnapshot snapshot = Example();
  snapshot.sessions.mutable_sessions(0)->set_faults(3);
  snapshot.sessions.mutable_sessions(1)->mutable_usage()->set_launches(7);
  const auto is_first = [&](const char* name, const char* session) {
    for (const SortOrder& order : SortOrders()) {
      if (std::string(order.name) != name) continue;
      const auto json =
          nlohmann::json::parse(TopJson(snapshot, nullptr, order));
      EXPECT_EQ(json["sessions"][0]["session_id"], session) << name;
    }
  };
  is_first("memory", "s-2");
  is_first("faults", "s-1");
  is_first("launches", "s-2");
  is_first("gpu", "s-1");  // equal: the oldest
}

TEST(TopViewTest, ColorsAreShownOnlyWhereTheyAreWantedAndTakeNoRoom) {
  TopSnapshot snapshot = Example();
  snapshot.sessions.mutable_sessions(0)->set_faults(3);
  const auto plain = TopView(snapshot, nullptr, {60, 24});
  const auto colored = TopView(snapshot, nullptr, {60, 24}, {.colors = true});
  ASSERT_EQ(plain.size(), colored.size());
  EXPECT_FALSE(absl::StrContains(Text(plain), "\x1b"));
  EXPECT_TRUE(absl::StrContains(Text(colored), "\x1b[32m"));  // active
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(absl::StartsWith(WithoutColors(colored[i]), plain[i]));
  }
}

TEST(TopViewTest, TheLastLineSaysTheKeys) {
  const auto lines = TopView(Example(), nullptr, {100, 30}, {.keys = true});
  EXPECT_EQ(lines.size(), 30u);
  EXPECT_TRUE(absl::StartsWith(lines.back(), "q leaves")) << lines.back();
  EXPECT_EQ(TopView(Example(), nullptr, {20, 4}, {.keys = true}).size(), 4u);
}

TEST(TopViewTest, TheLastLineHasTheKeysOfTheColumnsThatAreShown) {
  const auto narrow = TopView(Example(), nullptr, {80, 30}, {.keys = true});
  EXPECT_EQ(narrow.back(),
            "q leaves   sort by   m memory   g gpu   c copies   f faults   "
            "a age");
  const auto wide = TopView(Example(), nullptr, {160, 30}, {.keys = true});
  EXPECT_TRUE(absl::StrContains(wide.back(), "t time")) << wide.back();
  EXPECT_TRUE(absl::StrContains(wide.back(), "l launches")) << wide.back();
}

TEST(FitTest, ColorsTakeNoRoomAndEndWithTheText) {
  EXPECT_EQ(Fit("\x1b[31mab\x1b[0m", 3), "\x1b[31mab\x1b[0m ");
  EXPECT_EQ(Fit("\x1b[31mabc\x1b[0m", 2), "\x1b[31mab\x1b[0m");
  EXPECT_EQ(WithoutColors("a\x1b[1mb\x1b[0mc"), "abc");
}

TEST(FitTest, CutsBetweenCharactersAndPads) {
  EXPECT_EQ(Fit("abc", 5), "abc  ");
  EXPECT_EQ(Fit("abcdef", 3), "abc");
  EXPECT_EQ(Fit("größer", 4), "größ");
  EXPECT_EQ(Fit("", 2), "  ");
}

std::vector<WatchedDaemon> TwoDaemonsOneOfThemGone() {
  TopSnapshot snapshot = Example();
  snapshot.info.set_host("node-1");
  return {{.address = snapshot.address,
           .status = absl::OkStatus(),
           .snapshot = snapshot,
           .rates = std::nullopt},
          {.address = "tcp:node-2:7070",
           .status = absl::UnavailableError("the connection broke"),
           .snapshot = std::nullopt,
           .rates = std::nullopt}};
}

TEST(TopViewTest, DaemonThatIsGoneHidesNoOther) {
  const std::string text =
      Text(TopViewOfSeveral(TwoDaemonsOneOfThemGone(), {}, {}));
  for (const char* const shown :
       {"node-1", "s-1", "s-2", "tcp:node-2:7070: the connection broke"}) {
    EXPECT_TRUE(absl::StrContains(text, shown)) << shown << "\n" << text;
  }
}

TEST(TopViewTest, ViewsOfSeveralDaemonsFitIntoAnyTerminal) {
  std::vector<WatchedDaemon> daemons = TwoDaemonsOneOfThemGone();
  daemons.push_back(daemons.front());
  const ViewStyle style = {.keys = true};
  for (size_t rows = 1; rows < 60; ++rows) {
    const auto lines =
        TopViewOfSeveral(daemons, {.columns = 40, .rows = rows}, style);
    EXPECT_LE(lines.size(), rows);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 40) << line;
  }
}

}  // namespace
}  // namespace holdfast::cli
