// SPDX-License-Identifier: Apache-2.0
//
// Commands that read, for several daemons at once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/cli_fixture.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

// Two daemons and an address where there is none.
class SeveralDaemonsTest : public CliTest {
 protected:
  static std::string Gone() { return "unix:" + Path("nobody.sock"); }

  // `arguments` with --address of the daemons, by commas and by repetition.
  Outcome Look(std::vector<std::string> arguments, bool with_gone) {
    arguments.push_back("--address=" + daemon_->address() +
                        (with_gone ? "," + Gone() : ""));
    arguments.push_back("--address=" + other_.address());
    return Holdfast(std::move(arguments));
  }

  DaemonProcess other_;
};

TEST_F(SeveralDaemonsTest, CommandsThatLookShowEachUnderItsHost) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"devices"},
           {"devices", "0"},
           {"sessions"},
           {"sessions", "--usage"},
           {"tenants", "ls"},
           {"version"},
           {"cache", "stats"},
           {"cache", "list"},
           {"collection", "ls"},
           {"top", "--once", "--interval=0.1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/false);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << outcome.err;
    for (const std::string& shown :
         {std::string(host), daemon_->address(), other_.address()}) {
      EXPECT_TRUE(absl::StrContains(outcome.out, shown))
          << command[0] << ": " << shown << "\n"
          << outcome.out;
    }
  }
}

TEST_F(SeveralDaemonsTest, OneThatIsGoneHidesNoOther) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions"}, {"version"}, {"top", "--once", "--interval=0.1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/true);
    ExpectFailure(outcome, 3, Gone());
    EXPECT_TRUE(absl::StrContains(outcome.out, daemon_->address()))
        << outcome.out;
    EXPECT_TRUE(absl::StrContains(outcome.out, other_.address()))
        << outcome.out;
    const std::vector<std::string> reports =
        absl::StrSplit(outcome.err, "holdfast: ");
    EXPECT_EQ(reports.size(), 2u) << outcome.err;
  }
}

TEST_F(SeveralDaemonsTest, JsonIsOneArrayWithAnObjectForEach) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions", "--json"},
           {"devices", "--json"},
           {"top", "--once", "--interval=0.1", "--json"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/true);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_array()) << outcome.out;
    ASSERT_EQ(json.size(), 3u);
    EXPECT_EQ(json[0]["address"], daemon_->address());
    EXPECT_TRUE(json[0].contains("host"));
    EXPECT_EQ(json[1]["address"], Gone());
    EXPECT_EQ(json[1]["error"]["code"], "UNAVAILABLE");
    EXPECT_EQ(json[2]["address"], other_.address());
    EXPECT_FALSE(json[2].contains("error"));
  }
}

TEST_F(SeveralDaemonsTest, CommandsThatChangeSomethingRefuseThem) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{
           {"sessions", "end", "s-1"},
           {"cache", "clear"},
           {"admin", "drain"},
           {"tenants", "create", "job"},
           {"collection", "rm", "model"},
           {"run", Path("kernels.cu"), "--kernel=add_one", "--grid=1",
            "--block=1"}}) {
    const Outcome outcome = Look(command, /*with_gone=*/false);
    ExpectFailure(outcome, 2, "takes one daemon, --address names 2: ");
  }
}

}  // namespace
}  // namespace holdfast::e2e
