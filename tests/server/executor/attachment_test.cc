// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/attachment.h"

#include <grpcpp/server_context.h>

#include <cstdint>
#include <thread>

#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast::executor {
namespace {

using ::holdfast::testing::StatusIs;
using ::holdfast::testing::ThreadRefusal;

// Every wait of a call ends though nothing comes that it waits for.
TEST(AttachmentTest, NoThreadOfACancelledCallWaits) {
  Attachment attachment;
  grpc::CallbackServerContext context;
  ASSERT_OK_AND_ASSIGN(const uint64_t first, attachment.Begin(context, 0));
  ASSERT_TRUE(attachment.AwaitTurn(first));
  ASSERT_TRUE(attachment.AwaitRoom(first));
  v1::ResultBatch batch;
  std::thread writer([&] { EXPECT_FALSE(attachment.Next(first, &batch)); });
  attachment.Cancel(first);
  writer.join();
  EXPECT_FALSE(attachment.AwaitRoom(first));

  // The first one still reads.
  grpc::CallbackServerContext later;
  ASSERT_OK_AND_ASSIGN(const uint64_t second, attachment.Begin(later, 0));
  std::thread reader([&] { EXPECT_FALSE(attachment.AwaitTurn(second)); });
  attachment.Cancel(second);
  reader.join();
  attachment.End(second);
  attachment.End(first);
}

TEST(AttachmentTest, ACallThatWasReplacedCancelsNothing) {
  Attachment attachment;
  grpc::CallbackServerContext context;
  ASSERT_OK_AND_ASSIGN(const uint64_t first, attachment.Begin(context, 0));
  attachment.End(first);
  grpc::CallbackServerContext later;
  ASSERT_OK_AND_ASSIGN(const uint64_t second, attachment.Begin(later, 0));
  attachment.Cancel(first);
  EXPECT_TRUE(attachment.AwaitTurn(second));
  attachment.End(second);
}

TEST(AttachmentTest, ACallWithoutAThreadIsRefusedAndTheNextOneBegins) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  Attachment attachment;
  grpc::CallbackServerContext context;
  {
    const ThreadRefusal refusal;
    EXPECT_THAT(attachment.Begin(context, 0),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         "no thread for the session's results"));
  }
  ASSERT_OK_AND_ASSIGN(const uint64_t call, attachment.Begin(context, 0));
  attachment.End(call);
}

}  // namespace
}  // namespace holdfast::executor
