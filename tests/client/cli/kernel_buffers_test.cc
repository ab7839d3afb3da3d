// SPDX-License-Identifier: Apache-2.0
#include "client/cli/kernel_buffers.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/session.h"
#include "tests/client/cpp/fake_daemon.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::cli {
namespace {

using testing::StatusIs;

class KernelBuffersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(session_, Session::Open({.address = fake_.address()}));
  }

  // Uploads one output of this file.
  absl::Status Upload(const std::string& file, BufferNames names) {
    const Device device = session_->device(0);
    const Stream stream = *device.CreateStream();
    std::deque<RunArgument> arguments =
        *ReadArguments({"out:" + file + ":f32[2]"});
    return UploadArguments(device, stream, &arguments, names).status();
  }

  // The names of the buffers that were allocated.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const v1::Command& command : fake_.commands()) {
      if (!command.has_allocate_buffer()) continue;
      names.push_back(command.allocate_buffer().name());
    }
    return names;
  }

  FakeDaemon fake_;
  std::unique_ptr<Session> session_;
};

TEST_F(KernelBuffersTest, OutputsHaveNoNameUnlessOneIsWanted) {
  ASSERT_OK(Upload("a/x.npy", BufferNames::kNone));
  ASSERT_OK(Upload("a/x.npy", BufferNames::kOutputs));
  EXPECT_EQ(Names(), (std::vector<std::string>{"", "x.npy:f32[2]"}));
}

TEST_F(KernelBuffersTest, AFileMayHaveAnyNameWhereBuffersHaveNone) {
  EXPECT_OK(Upload("\xff.npy", BufferNames::kNone));
  EXPECT_OK(Upload(std::string(251, 'x') + ".npy", BufferNames::kNone));
}

TEST_F(KernelBuffersTest, AFileWhoseNameNoBufferCanHaveIsRefused) {
  EXPECT_THAT(Upload("\xff.npy", BufferNames::kOutputs),
              StatusIs(absl::StatusCode::kInvalidArgument, "not UTF-8"));
  EXPECT_THAT(Upload(std::string(251, 'x') + ".npy", BufferNames::kOutputs),
              StatusIs(absl::StatusCode::kInvalidArgument, "the limit is 256"));
  EXPECT_OK(session_->Synchronize());
}

}  // namespace
}  // namespace holdfast::cli
