// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/grpc_log.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "core/base/log.h"
#include "core/base/log_format.h"

namespace holdfast {
namespace {

class GrpcLogTest : public testing::Test {
 protected:
  GrpcLogTest() {
    WriteGrpcMessagesToLog();
    grpc_init();  // has gRPC decide what it says
  }
  ~GrpcLogTest() override {
    grpc_shutdown();
    SetLogFormat(LogFormat::kText);
  }

  static std::string Written(int times) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < times; ++i) {
      gpr_log("src/core/tsi/ssl.cc", 7, GPR_LOG_SEVERITY_ERROR,
              "Handshake failed: %s\n", "a \x1b[1m certificate");
    }
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(GrpcLogTest, MessagesAreLinesOfTheLog) {
  const std::string line = Written(1);
  EXPECT_TRUE(absl::StrContains(line, " WARNING ")) << line;
  EXPECT_TRUE(absl::EndsWith(line,
                             "gRPC, ssl.cc:7: Handshake failed: a \\x1b[1m "
                             "certificate\n"))
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST_F(GrpcLogTest, MessagesHaveTheFormatOfTheLog) {
  SetLogFormat(LogFormat::kJson);
  const auto json = nlohmann::json::parse(Written(1), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["severity"], "WARNING");
}

TEST_F(GrpcLogTest, ManyMessagesAreLimited) {
  const std::string lines = Written(2000);
  EXPECT_GT(std::count(lines.begin(), lines.end(), '\n'), 100);
  EXPECT_LT(std::count(lines.begin(), lines.end(), '\n'), 300);
}

}  // namespace
}  // namespace holdfast
