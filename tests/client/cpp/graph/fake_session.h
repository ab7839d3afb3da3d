// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CLIENT_CPP_GRAPH_FAKE_SESSION_H_
#define HOLDFAST_TESTS_CLIENT_CPP_GRAPH_FAKE_SESSION_H_

#include <memory>
#include <optional>
#include <utility>

#include "client/cpp/session.h"
#include "tests/client/cpp/fake_daemon.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {

using testing::StatusIs;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kRange = absl::StatusCode::kOutOfRange;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

// Opens a session of a FakeDaemon, which only records commands. The session has
// two streams, two buffers of 1024 bytes and a kernel.
class FakeSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(session_, Session::Open({.address = fake_.address()}));
    const Device device = session_->device(0);
    ASSERT_OK_AND_ASSIGN(main_, device.CreateStream());
    ASSERT_OK_AND_ASSIGN(side_, device.CreateStream());
    ASSERT_OK_AND_ASSIGN(x_, device.Allocate(1024));
    ASSERT_OK_AND_ASSIGN(y_, device.Allocate(1024));
    ASSERT_OK_AND_ASSIGN(module_, session_->Load({}));
    ASSERT_OK_AND_ASSIGN(kernel_, module_->GetKernel("step"));
    ASSERT_OK(session_->Synchronize());
    before_ = fake_.commands().size();
  }

  // Returns the commands that the daemon has received since SetUp.
  std::vector<v1::Command> Sent() {
    EXPECT_OK(session_->Synchronize());
    auto commands = fake_.commands();
    commands.erase(commands.begin(), commands.begin() + before_);
    commands.pop_back();  // the fence
    return commands;
  }

  FakeDaemon fake_;
  std::unique_ptr<Session> session_;
  std::optional<Stream> main_, side_;
  std::optional<Buffer> x_, y_;
  std::optional<Module> module_;
  std::optional<Kernel> kernel_;
  size_t before_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_CLIENT_CPP_GRAPH_FAKE_SESSION_H_
