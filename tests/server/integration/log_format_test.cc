// SPDX-License-Identifier: Apache-2.0
//
// holdfastd --log-format=json, as a program that collects logs reads it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "nlohmann/json.hpp"
#include "proto/metadata.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";

// Standard error goes to a file while the object lives.
class CapturedStderr {
 public:
  explicit CapturedStderr(const std::string& path) : before_(dup(2)) {
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, 2);
    close(file);
  }
  ~CapturedStderr() {
    dup2(before_, 2);
    close(before_);
  }

 private:
  const int before_;
};

v1::OpenSessionResponse Open(const ChannelPtr& channel,
                             const std::string& name) {
  v1::OpenSessionRequest request;
  request.set_protocol_version(1);
  request.set_name(name);
  grpc::ClientContext context;
  context.AddMetadata(kTraceParentKey.name,
                      std::string("00-") + kTrace + "-00f067aa0ba902b7-01");
  v1::OpenSessionResponse response;
  const grpc::Status status = v1::SessionService::NewStub(channel)->OpenSession(
      &context, request, &response);
  EXPECT_TRUE(status.ok()) << Text(status);
  return response;
}

grpc::Status Close(const ChannelPtr& channel, const std::string& token) {
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name, absl::BytesToHexString(token));
  v1::CloseSessionResponse response;
  return v1::SessionService::NewStub(channel)->CloseSession(&context, {},
                                                            &response);
}

TEST(LogFormatTest, EachLineIsOneObjectWithSessionTenantAndTrace) {
  const std::string path = testing::TempDir() + "/log";
  std::string session, tenant;
  {
    const CapturedStderr captured(path);
    const DaemonProcess daemon({"--log-format=json", "--log-level=debug"});
    const auto opened =
        Open(daemon.Unix(), "\"},{\"forged\":\"\n\x1b[2Jline\\");
    session = opened.session_id();
    tenant = opened.tenant();
    EXPECT_TRUE(Close(daemon.Unix(), opened.token()).ok());
  }
  size_t of_supervisor = 0;
  size_t of_executor = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto object =
        nlohmann::json::parse(line, nullptr, /*exceptions=*/false);
    ASSERT_TRUE(object.is_object()) << line;
    EXPECT_FALSE(object.contains("forged")) << line;
    for (const char* field : {"time", "severity", "process", "message"}) {
      EXPECT_TRUE(object[field].is_string()) << line;
    }
    EXPECT_TRUE(object["pid"].is_number()) << line;
    if (object.value("session", "") != session) continue;
    EXPECT_EQ(object.value("tenant", ""), tenant) << line;
    EXPECT_EQ(object.value("trace_id", ""), kTrace) << line;
    if (object["process"] == "executor") {
      ++of_executor;
      continue;
    }
    // Opened, and closed by another call: both of the one that opened it.
    ++of_supervisor;
    EXPECT_EQ(object.value("span_id", ""), "00f067aa0ba902b7") << line;
  }
  EXPECT_EQ(of_supervisor, 2u);
  EXPECT_GE(of_executor, 1u);
}

}  // namespace
}  // namespace holdfast
