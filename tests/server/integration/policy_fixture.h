// SPDX-License-Identifier: Apache-2.0
//
// A daemon with a policy file and an audit log.
#ifndef HOLDFAST_TESTS_SERVER_INTEGRATION_POLICY_FIXTURE_H_
#define HOLDFAST_TESTS_SERVER_INTEGRATION_POLICY_FIXTURE_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/cpp/connection/bearer_token.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {

// The policy of the daemon refuses clients without a name, such as those over
// TCP, and has one tenant, "team".
class PolicyTest : public testing::Test {
 protected:
  PolicyTest() {
    char name[] = "/tmp/holdfast-policy-XXXXXX";
    directory_ = mkdtemp(name);
    Write("unnamed = \"refuse\"\n[tenants.team]\nusers = [4711]\n");
    daemon_ = std::make_unique<DaemonProcess>(std::vector<std::string>{
        "--policy=" + policy(), "--audit-log=" + audit()});
  }
  ~PolicyTest() override {
    daemon_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  std::string policy() const { return directory_ + "/policy.toml"; }
  std::string audit() const { return directory_ + "/audit.json"; }
  void Write(const std::string& text) { std::ofstream(policy()) << text; }

  static StatusCode List(const ChannelPtr& channel) {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    return v1::SessionService::NewStub(channel)
        ->ListSessions(&context, {}, &response)
        .error_code();
  }

  std::vector<std::string> AuditLines(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return absl::StrSplit(text.str(), '\n', absl::SkipEmpty());
  }

  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(1));
    }
    return false;
  }

  // A connection whose calls carry the token.
  ChannelPtr WithToken(const std::string& token) const {
    std::vector<
        std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(SendToken(token));
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        "unix:" + daemon_->socket(), grpc::InsecureChannelCredentials(), {},
        std::move(interceptors));
  }
  std::string directory_;
  std::unique_ptr<DaemonProcess> daemon_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_INTEGRATION_POLICY_FIXTURE_H_
