// SPDX-License-Identifier: Apache-2.0
#include "server/config/flags.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast::server {
namespace {

std::optional<Config> Parse(std::vector<std::string> flags,
                            int* exit_code = nullptr) {
  flags.insert(flags.begin(), "holdfastd");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  int ignored = 0;
  return ParseFlags(static_cast<int>(argv.size()), argv.data(),
                    exit_code == nullptr ? &ignored : exit_code);
}

TEST(FlagsTest, DefaultsServeThisMachineAlone) {
  const auto config = Parse({});
  ASSERT_TRUE(config.has_value());
  ASSERT_EQ(config->listen.size(), 1u);
  EXPECT_EQ(config->listen[0].kind, Endpoint::Kind::kUnix);
  EXPECT_EQ(config->listen[0].path,
            DefaultRuntimeDirectory() + "/holdfast.sock");
  EXPECT_EQ(config->socket_mode, 0600u);
  EXPECT_FALSE(config->insecure);
  EXPECT_EQ(config->role, Config::Role::kSupervisor);
}

TEST(FlagsTest, ServesNoMetricsUnlessGivenAnAddress) {
  EXPECT_FALSE(Parse({})->metrics_address.has_value());
  const auto config = Parse({"--metrics-address=[::1]:9464"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->metrics_address->ToString(), "tcp:[::1]:9464");
  EXPECT_FALSE(config->metrics_beyond_loopback);
  EXPECT_FALSE(Parse({"--metrics-address=9464"}).has_value());
}

TEST(FlagsTest, ReadsUnits) {
  const auto config = Parse({"--listen=unix:/tmp/a", "--listen=tcp:[::1]:0",
                             "--socket-mode=0660", "--compile-timeout=1m30s",
                             "--drain-timeout=5", "--compile-memory=2GiB",
                             "--compile-queue=9", "--object-store=1048576",
                             "--cache-memory=64MiB", "--log-level=debug"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->listen.size(), 2u);
  EXPECT_EQ(config->socket_mode, 0660u);
  EXPECT_EQ(config->compile_timeout, absl::Seconds(90));
  EXPECT_EQ(config->compile_queue, 9u);
  EXPECT_EQ(config->drain_timeout, absl::Seconds(5));
  EXPECT_EQ(config->compile_memory, uint64_t{2} << 30);
  EXPECT_EQ(config->object_store, 1u << 20);
  EXPECT_EQ(config->cache_memory, 64u << 20);
  EXPECT_EQ(config->log_level, LogLevel::kDebug);
}

TEST(FlagsTest, QuotasHaveDefaultsOfTheMachinesAndUnits) {
  const auto defaults = Parse({});
  ASSERT_TRUE(defaults.has_value());
  EXPECT_EQ(defaults->session_memory, 0u);
  EXPECT_EQ(defaults->pinned_memory, MachineMemory() / 4);
  EXPECT_EQ(defaults->arena_memory, MachineMemory() / 4);
  EXPECT_EQ(defaults->host_memory, MachineMemory() / 2);
  EXPECT_GT(MachineMemory(), 0u);
  EXPECT_EQ(defaults->max_handles, 1u << 18);
  const auto config = Parse({"--session-memory=2GiB", "--pinned-memory=1MiB",
                             "--arena-memory=5", "--host-memory=0",
                             "--max-handles=7", "--outstanding-commands=4096"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->session_memory, uint64_t{2} << 30);
  EXPECT_EQ(config->pinned_memory, 1u << 20);
  EXPECT_EQ(config->arena_memory, 5u);
  EXPECT_EQ(config->host_memory, 0u);
  EXPECT_EQ(config->max_handles, 7u);
  EXPECT_EQ(config->outstanding_commands, 4096u);
  for (const char* flag : {"--max-handles=0", "--max-handles=262145",
                           "--outstanding-commands=4095",
                           "--session-memory=much", "--pinned-memory=-1"}) {
    EXPECT_FALSE(Parse({flag}).has_value()) << flag;
  }
}

TEST(FlagsTest, WrongValuesAreRefused) {
  for (const char* flag :
       {"--listen=/tmp/x", "--socket-mode=0999", "--socket-mode=1777",
        "--socket-mode=", "--socket-mode=07777777777777777777777777",
        "--device=tpu", "--compile-timeout=soon", "--compile-queue=0",
        "--drain-timeout=-1s", "--log-level=loud", "--max-sessions=0",
        "--unknown"}) {
    int exit_code = 0;
    EXPECT_FALSE(Parse({flag}, &exit_code).has_value()) << flag;
    EXPECT_NE(exit_code, 0) << flag;
  }
}

// As `--policy=$POLICY` is without that variable.
TEST(FlagsTest, EmptyValuesAreRefused) {
  for (const char* flag :
       {"--policy=", "--audit-log=", "--tls-client-ca=", "--runtime-dir=",
        "--suspend-directory=", "--metrics-password-file=", "--devices=",
        "--user-range=", "--cache-directory=", "--software-driver="}) {
    int exit_code = 0;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse({flag}, &exit_code).has_value()) << flag;
    EXPECT_EQ(exit_code, 2) << flag;
    testing::internal::GetCapturedStderr();
  }
}

TEST(FlagsTest, LimitsThatNothingCouldKeepAreRefused) {
  for (const char* flag :
       {"--probe-timeout=0", "--probe-timeout=1us", "--compile-timeout=0s",
        "--compile-timeout=nan", "--compile-memory=0", "--compile-memory=-1",
        "--cache-disk=-1", "--object-store=-5"}) {
    EXPECT_FALSE(Parse({flag}).has_value()) << flag;
  }
  // These zeros have a meaning.
  for (const char* flag :
       {"--probe-interval=0", "--suspend-idle=0", "--kernel-time-limit=0",
        "--drain-timeout=0", "--detached-session-limit=0", "--cache-disk=0"}) {
    EXPECT_TRUE(Parse({flag}).has_value()) << flag;
  }
}

TEST(FlagsTest, HelpAndVersionAreNoFailures) {
  for (const char* flag : {"--help", "--version"}) {
    int exit_code = -1;
    EXPECT_FALSE(Parse({flag}, &exit_code).has_value());
    EXPECT_EQ(exit_code, 0);
  }
}

TEST(FlagsTest, AMisspeltOptionIsToldWithTheNearest) {
  const auto said = [](const char* flag) {
    int exit_code = 0;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse({flag}, &exit_code).has_value()) << flag;
    EXPECT_EQ(exit_code, 2);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(said("--max-sesions=3")
                .find("there is no option --max-sesions; "
                      "did you mean --max-sessions?"),
            std::string::npos);
  EXPECT_NE(said("--frobnicate").find("--frobnicate"), std::string::npos);
}

class ConfigFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = testing::TempDir() + "/holdfast.conf";
    std::ofstream(path) << text;
    return "--config=" + path;
  }
};

TEST_F(ConfigFileTest, MistakesAreToldWithTheirPlace) {
  const auto refused = [&](const std::string& text, const std::string& why) {
    int exit_code = 0;
    testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse({Write(text)}, &exit_code).has_value()) << text;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(exit_code, 2);
    EXPECT_NE(said.find("/holdfast.conf:" + why), std::string::npos) << said;
  };
  refused("device = \"cpu\"\nlisen = []\n",
          "2:1: unknown key 'lisen'; did you mean listen? There are: ");
  refused("max_sessions = 3\n",
          "1:1: unknown key 'max_sessions'; did you mean max-sessions? ");
  refused("frobnicate = 3\n", "1:1: unknown key 'frobnicate'; there are: ");
  refused("\n max-sessions = \"abc\"\n", "2:2: max-sessions: ");
  refused("max-sessions = 0\n", "1:1: max-sessions: ");
  refused("drain-timeout = \"20 sec\"\n",
          "1:1: drain-timeout: 20 sec is no duration; write 30s, 2m, 500ms or "
          "a number of seconds");
  refused("listen = [\n", "");
  refused("device = cpu\n", "1:");
  refused("[tls]\ncert = \"a\"\n", "1:2: unknown key 'tls'");
  refused("device = 1979-05-27\n", "1:10: a string, a number");
  refused("listen = [[\"unix:/a\"]]\n", "1:11: a string, a number");
  refused("check-config = true\n", "1:1: unknown key 'check-config'");
  refused("role = \"executor\"\n", "1:1: unknown key 'role'");
  refused("policy = \"\"\n", "1:10: this is empty; leave the key out");
  refused("tls-client-ca = ''\n", "1:17: this is empty");
  refused("operator-socket = [\"/a\", \"\"]\n", "1:26: this is empty");
  refused("max-sessions = true\n", "1:16: a string, a number");
  refused("compile-timeout = nan\n", "1:19: a string, a number");
  refused("insecure = 2\n", "1:12: true or false is wanted");
  refused("insecure = \"yes\"\n", "1:12: true or false is wanted");
}

TEST_F(ConfigFileTest, HoldsAnyOptionAndTheCommandLineWins) {
  const std::string file = Write(
      "listen = [\"unix:/tmp/a\", \"tcp:127.0.0.1:7070\"]\n"
      "device = \"cpu\"\n"
      "max-sessions = 16\n"
      "compile-timeout = \"2m\"\n");
  const auto config = Parse({file, "--max-sessions=3"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->listen.size(), 2u);
  EXPECT_EQ(config->device, "cpu");
  EXPECT_EQ(config->max_sessions, 3u);
  EXPECT_EQ(config->compile_timeout, absl::Minutes(2));
}

TEST_F(ConfigFileTest, AModeIsTextOrAnOctalNumber) {
  EXPECT_EQ(Parse({Write("socket-mode = \"0660\"\n")})->socket_mode, 0660u);
  EXPECT_EQ(Parse({Write("socket-mode = 0o660\n")})->socket_mode, 0660u);
  EXPECT_EQ(Parse({Write("socket-mode = 0o0\n")})->socket_mode, 0u);
  for (const char* mode : {"660", "0x1b0", "0b110110000", "432.0", "true",
                           "0o1777", "-1", "[0o660, 0o600]"}) {
    EXPECT_FALSE(
        Parse({Write(absl::StrCat("socket-mode = ", mode, "\n"))}).has_value())
        << mode;
  }
}

TEST_F(ConfigFileTest, NumbersMeanWhatTomlSays) {
  const auto config =
      Parse({Write("max-sessions = 0x10\n"
                   "max-faults = 0o17\n"
                   "compile-queue = 0b11\n"
                   "max-connections = 1_000\n"
                   "cache-memory = 1e9\n"
                   "drain-timeout = 1234567.5\n")});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->max_sessions, 16u);
  EXPECT_EQ(config->max_faults, 15u);
  EXPECT_EQ(config->compile_queue, 3u);
  EXPECT_EQ(config->max_connections, 1000u);
  EXPECT_EQ(config->cache_memory, 1'000'000'000u);
  EXPECT_EQ(config->drain_timeout, absl::Seconds(1234567.5));
  EXPECT_FALSE(Parse({Write("max-sessions = 3.5\n")}).has_value());
}

TEST_F(ConfigFileTest, UnknownKeyAndMissingFileAreRefused) {
  EXPECT_FALSE(Parse({Write("max-session = 16\n")}).has_value());
  EXPECT_FALSE(Parse({"--config=/nonexistent"}).has_value());
}

}  // namespace
}  // namespace holdfast::server
