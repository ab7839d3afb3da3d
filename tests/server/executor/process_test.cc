// SPDX-License-Identifier: Apache-2.0
//
// How an executor ends.
#include <sys/wait.h>

#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

class ProcessTest : public ExecutorTest {
 protected:
  // A session with things in it, some of them at work.
  void Fill() {
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), 64 << 20);
    batch.AllocateHost(BufferName(1), 1 << 20);
    for (int i = 0; i < 20; ++i) {
      batch.FillWord(StreamName(0), BufferName(0), 0, 64 << 20, 7);
    }
    EXPECT_TRUE(Run(batch).empty());
  }
};

TEST_F(ProcessTest, ShutdownFreesEverythingAndExitsWithZero) {
  Fill();
  internal::ToExecutor message;
  message.mutable_shutdown();
  ASSERT_OK(channel().Send(message));
  const int status = AwaitExit();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(chunks_seen(), 0u);
}

TEST_F(ProcessTest, AClosedChannelEndsIt) {
  Fill();
  channel().Shutdown();
  const int status = AwaitExit();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(ProcessTest, AnOpenExecuteStreamDoesNotHoldUpTheEnd) {
  Fill();
  auto context = Context();
  auto stream = commands().Execute(context.get());
  stream->WaitForInitialMetadata();
  internal::ToExecutor message;
  message.mutable_shutdown();
  ASSERT_OK(channel().Send(message));
  AwaitExit();
  v1::ResultBatch results;
  EXPECT_FALSE(stream->Read(&results));
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace holdfast::testing
