// SPDX-License-Identifier: Apache-2.0
//
// The status page of a real daemon, and in a browser if there is one.
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/server/testing/http_client.h"

namespace holdfast {
namespace {

constexpr char kHostileName[] = "<img src=x onerror=document.title='taken'>";

class StatusPageTest : public testing::Test {
 protected:
  nlohmann::json Status(const std::string& headers = "") {
    const HttpAnswer answer =
        HttpGet(daemon_.metrics_address(), "/status.json", headers);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(
        absl::StrContains(answer.headers, "Content-Type: application/json"));
    return nlohmann::json::parse(answer.body, nullptr, /*exceptions=*/false);
  }

  DaemonProcess daemon_{
      {"--metrics-address=127.0.0.1:0", "--list-sessions=all"}};
  ChannelPtr unix_ = daemon_.Unix();
};

TEST_F(StatusPageTest, TellsOfDevicesSessionsAndRates) {
  TestSession session(unix_, kHostileName);
  const nlohmann::json first = Status();
  ASSERT_TRUE(first.is_object());
  EXPECT_FALSE(first.contains("rates"));  // since when is not known
  EXPECT_FALSE(first["host"].empty());
  EXPECT_EQ(first["totals"]["launches"], 0);
  EXPECT_EQ(first["totals"]["copied_bytes"], 0);
  EXPECT_EQ(first["devices"].size(), 1u);
  EXPECT_GT(first["devices"][0]["total_memory"], 0);
  EXPECT_TRUE(first["devices"][0].contains("health"));
  EXPECT_EQ(first["devices"][0]["faults"], 0);
  EXPECT_EQ(first["devices"][0]["gpu_seconds"], 0);
  EXPECT_EQ(first["sessions"][0]["launches"], 0);
  EXPECT_EQ(first["session_states"]["active"], 1);
  ASSERT_EQ(first["sessions"].size(), 1u);
  EXPECT_EQ(first["sessions"][0]["name"], kHostileName);
  EXPECT_TRUE(session.Run(daemon_.Tcp()).ok());
  const nlohmann::json second = Status();
  ASSERT_TRUE(second.contains("rates"));
  EXPECT_GT(second["rates"]["commands"], 0);
  EXPECT_EQ(second["rates"]["launches"], 0);
}

TEST_F(StatusPageTest, HasNoSecrets) {
  const TestSession session(unix_);
  const std::string body =
      HttpGet(daemon_.metrics_address(), "/status.json").body;
  const std::string& token = session.opened().token();
  EXPECT_FALSE(absl::StrContains(body, absl::BytesToHexString(token)));
  EXPECT_FALSE(absl::StrContains(body, absl::Base64Escape(token)));
  EXPECT_FALSE(absl::StrContains(body, daemon_.directory()));
}

TEST_F(StatusPageTest, IsServedWithAPolicyAndWithoutOtherServersParts) {
  const HttpAnswer page = HttpGet(daemon_.metrics_address(), "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(absl::StrContains(page.headers, "text/html"));
  EXPECT_TRUE(absl::StrContains(page.headers,
                                "Content-Security-Policy: default-src 'none'"));
  for (const char* path : {"/", "/page.css", "/page.js"}) {
    const HttpAnswer file = HttpGet(daemon_.metrics_address(), path);
    EXPECT_EQ(file.status, 200) << path;
    EXPECT_FALSE(absl::StrContains(file.body, "http://")) << path;
    EXPECT_FALSE(absl::StrContains(file.body, "https://")) << path;
    EXPECT_FALSE(absl::StrContains(file.body, "innerHTML")) << path;
  }
}

// Others of this machine reach loopback, too.
TEST(StatusPageAccessTest, NamesNoSessionUnlessAPasswordIsAskedFor) {
  const DaemonProcess open({"--metrics-address=127.0.0.1:0"});
  const TestSession session(open.Unix(), "private name");
  const HttpAnswer sums = HttpGet(open.metrics_address(), "/status.json");
  EXPECT_TRUE(absl::StrContains(sums.body, "\"active\":1"));
  EXPECT_FALSE(absl::StrContains(sums.body, "private name"));
  EXPECT_FALSE(absl::StrContains(sums.body, "\"sessions\":"));

  const std::string file = testing::TempDir() + "/password";
  std::ofstream(file) << "secret\n";
  chmod(file.c_str(), 0600);
  const DaemonProcess closed(
      {"--metrics-address=127.0.0.1:0", "--metrics-password-file=" + file});
  const TestSession other(closed.Unix(), "private name");
  for (const char* path : {"/", "/status.json", "/metrics"}) {
    EXPECT_EQ(HttpGet(closed.metrics_address(), path).status, 401) << path;
  }
  const HttpAnswer all =
      HttpGet(closed.metrics_address(), "/status.json",
              absl::StrCat("Authorization: Basic ",
                           absl::Base64Escape("me:secret"), "\r\n"));
  EXPECT_TRUE(absl::StrContains(all.body, "private name"));
}

// The page's document after a browser has run its script.
std::string Browse(const std::string& url, const std::string& directory) {
  const std::string command = absl::StrCat(
      "HOME=", directory, " /usr/bin/chromium --headless --no-sandbox ",
      // A browser that asks for nothing from elsewhere.
      "--disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run ",
      "--disable-background-networking --disable-component-update ",
      "--disable-sync --user-data-dir=", directory,
      "/browser --virtual-time-budget=5000 --dump-dom ", url, " 2>/dev/null");
  FILE* const browser = popen(command.c_str(), "r");
  if (browser == nullptr) return "";
  std::string text;
  char bytes[4096];
  size_t n = 0;
  while ((n = fread(bytes, 1, sizeof bytes, browser)) > 0) {
    text.append(bytes, n);
  }
  pclose(browser);
  return text;
}

TEST_F(StatusPageTest, ShowsItselfInABrowser) {
  if (access("/usr/bin/chromium", X_OK) != 0) {
    GTEST_SKIP() << "no browser: install the package chromium";
  }
  TestSession session(unix_, kHostileName);
  EXPECT_TRUE(session.Run(daemon_.Tcp()).ok());
  const std::string page =
      Browse(absl::StrCat("http://", daemon_.metrics_address(), "/"),
             daemon_.directory());
  EXPECT_TRUE(absl::StrContains(page, "Holdfast</title>")) << page;
  EXPECT_FALSE(absl::StrContains(page, "taken</title>")) << page;
  // A curve has points from the second look on.
  EXPECT_TRUE(absl::StrContains(page, "<path d=\"M")) << page;
  EXPECT_TRUE(absl::StrContains(page, "&lt;img src=x")) << page;
  EXPECT_FALSE(absl::StrContains(page, "<img")) << page;
  EXPECT_TRUE(absl::StrContains(page, "<td>s-1</td>") ||
              absl::StrContains(page, ">s-1</td>"))
      << page;
  EXPECT_TRUE(absl::StrContains(page, "<meter")) << page;
  EXPECT_TRUE(absl::StrContains(page, "up 0 min")) << page;
}

}  // namespace
}  // namespace holdfast
