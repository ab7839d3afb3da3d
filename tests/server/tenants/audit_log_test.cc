// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/audit_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

// The size that files may have: writes of more fail as on a full disk.
class FileLimit {
 public:
  explicit FileLimit(uint64_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() { std::filesystem::remove(path_); }
  ~AuditLogTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<AuditLog> Open() {
    auto log = AuditLog::Open(path_);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  static void Act(AuditLog& log, const std::string& object) {
    log.Act({.name = "EndTenant",
             .object = object,
             .client = "uid 0",
             .outcome = absl::OkStatus()});
  }

  // The objects of the lines that are JSON.
  std::vector<std::string> Objects() {
    std::vector<std::string> objects;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_discarded()) objects.push_back(json["object"]);
    }
    return objects;
  }

  const std::string path_ =
      absl::StrCat(testing::TempDir(), "/audit-", getpid(), ".log");
};

using Names = std::vector<std::string>;

TEST_F(AuditLogTest, ALineThatAFullDiskCutsSpoilsNoOther) {
  const auto log = Open();
  Act(*log, "a");
  {
    const FileLimit full(std::filesystem::file_size(path_) + 20);
    Act(*log, "cut");
    Act(*log, "lost");
  }
  Act(*log, "b");
  Act(*log, "c");
  EXPECT_EQ(Objects(), (Names{"a", "b", "c"}));
}

TEST_F(AuditLogTest, ALineThatTheDaemonBeforeHasLeftCutSpoilsNoOther) {
  std::ofstream(path_) << "{\"time\":\"2026";
  const auto log = Open();
  Act(*log, "a");
  EXPECT_EQ(Objects(), Names{"a"});
}

TEST_F(AuditLogTest, AFailureIsToldOnceWithFileAndReason) {
  constexpr size_t kSize = 64 << 10;  // stderr is a file, too, and has room
  std::ofstream(path_) << std::string(kSize - 1, 'x') << "\n";
  const auto log = Open();
  testing::internal::CaptureStderr();
  {
    const FileLimit full(kSize);
    Act(*log, "lost");
    Act(*log, "lost, too");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string wanted = absl::StrCat(
      "--audit-log=", path_, ": write: File too large; events are");
  EXPECT_NE(said.find(wanted), std::string::npos) << said;
  EXPECT_EQ(said.find(wanted), said.rfind(wanted)) << said;
}

}  // namespace
}  // namespace holdfast
