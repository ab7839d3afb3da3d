// SPDX-License-Identifier: Apache-2.0
#include "server/channel/channel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast {
namespace {

class ChannelTest : public testing::Test {
 protected:
  ChannelTest() : ChannelTest(Channel::CreatePair().value()) {}

  static internal::FromExecutor Message(std::string text) {
    internal::FromExecutor message;
    message.mutable_error()->set_message(std::move(text));
    return message;
  }

  // Sends bytes as they are, past the channel's own framing.
  void SendRaw(absl::string_view bytes) {
    ASSERT_EQ(send(a_.fd(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  absl::StatusCode ReceiveCode() {
    internal::FromExecutor message;
    return b_.Receive(&message).status().code();
  }

 private:
  explicit ChannelTest(std::pair<UniqueFd, UniqueFd> ends)
      : a_(std::move(ends.first)), b_(std::move(ends.second)) {}

 protected:
  Channel a_, b_;
};

TEST_F(ChannelTest, CarriesMessagesInOrder) {
  ASSERT_TRUE(a_.Send(Message("one")).ok());
  ASSERT_TRUE(a_.Send(Message("two")).ok());
  internal::FromExecutor message;
  ASSERT_TRUE(b_.Receive(&message).ok());
  EXPECT_EQ(message.error().message(), "one");
  absl::StatusOr<UniqueFd> fd = b_.Receive(&message);
  ASSERT_TRUE(fd.ok());
  EXPECT_FALSE(fd->valid());
  EXPECT_EQ(message.error().message(), "two");
}

TEST_F(ChannelTest, CarriesADescriptorThatIsClosedOnExec) {
  const UniqueFd memory = CreateSealedMemfd("test", "bytes").value();
  ASSERT_TRUE(a_.Send(Message("with"), memory.get()).ok());
  internal::FromExecutor message;
  const UniqueFd received = b_.Receive(&message).value();
  ASSERT_TRUE(received.valid());
  EXPECT_EQ(
      FileMapping::Map(received.get(), FileMapping::Access::kReadOnly)->bytes(),
      "bytes");
  EXPECT_TRUE(fcntl(received.get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(ChannelTest, CarriesMessagesThatAreLargerThanTheSocketsBuffer) {
  const UniqueFd memory = CreateSealedMemfd("test", "bytes").value();
  const std::string large(12 << 20, 'x');
  ASSERT_TRUE(a_.Send(Message(large), memory.get()).ok());
  internal::FromExecutor message;
  const UniqueFd received = b_.Receive(&message).value();
  EXPECT_EQ(message.error().message(), large);
  EXPECT_EQ(
      FileMapping::Map(received.get(), FileMapping::Access::kReadOnly)->bytes(),
      "bytes");
}

TEST_F(ChannelTest, RefusesToSendMoreThanTheLimit) {
  const std::string large(Channel::kMaxMessageBytes + 1, 'x');
  EXPECT_EQ(a_.Send(Message(large)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(ChannelTest, DeliversWhatWasSentBeforeTheEnd) {
  ASSERT_TRUE(a_.Send(Message("last words")).ok());
  a_ = Channel(UniqueFd());
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kOk);
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(b_.Send(Message("hello?")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ChannelTest, ShutdownWakesAReceiver) {
  std::thread receiver(
      [&] { EXPECT_EQ(ReceiveCode(), absl::StatusCode::kUnavailable); });
  b_.Shutdown();
  receiver.join();
}

TEST_F(ChannelTest, DeadlinePassesWithoutAMessage) {
  internal::FromExecutor message;
  EXPECT_EQ(b_.Receive(&message, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(a_.Send(Message("late")).ok());
  EXPECT_TRUE(b_.Receive(&message, absl::Now()).ok());
}

TEST_F(ChannelTest, OneThatMustNotWaitIsToldThatThereIsNoRoom) {
  int sent = 0;
  absl::Status status;
  while (sent < 1'000'000) {
    status = a_.TrySend(Message("more"));
    if (!status.ok()) break;
    ++sent;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GT(sent, 0);
  for (int i = 0; i < sent; ++i) {
    ASSERT_EQ(ReceiveCode(), absl::StatusCode::kOk);
  }
  EXPECT_TRUE(a_.TrySend(Message("there is room")).ok());
}

TEST_F(ChannelTest, TruncatedHeaderIsDataLoss) {
  SendRaw("abc");
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

TEST_F(ChannelTest, BodyShorterThanAnnouncedIsDataLoss) {
  SendRaw(absl::string_view("\x10\0\0\0\0\0\0\0xyz", 11));
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

TEST_F(ChannelTest, AnnouncedSizeOverTheLimitIsDataLoss) {
  SendRaw(absl::string_view("\xff\xff\xff\xff\1\0\0\0", 8));
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

TEST_F(ChannelTest, AnnouncedDescriptorThatIsMissingIsDataLoss) {
  SendRaw(absl::string_view("\0\0\0\0\0\1\0\0", 8));
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

TEST_F(ChannelTest, FrameOverTheLimitIsDataLoss) {
  SendRaw(std::string((64 << 10) + 9, '\0'));
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

TEST_F(ChannelTest, BytesThatAreNoMessageAreDataLoss) {
  SendRaw(absl::string_view("\3\0\0\0\0\0\0\0\xff\xff\xff", 11));
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
}

// It looks like the end of the channel, and was taken for no more than that.
TEST_F(ChannelTest, ADescriptorWithAnEmptyMessageIsClosed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(rights), &ends[1], sizeof(int));
  ASSERT_EQ(sendmsg(a_.fd(), &message, 0), 0);
  write_end.Reset();
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kUnavailable);
  // With the last write end gone, the pipe has ended.
  char byte;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0);
}

// It was taken for a malformed frame, at which a daemon gave its spawner up.
TEST_F(ChannelTest, AReceiverWithoutDescriptorsGetsTheMessageAndGoesOn) {
  const UniqueFd memory = CreateSealedMemfd("test", "bytes").value();
  ASSERT_TRUE(a_.Send(Message("with"), memory.get()).ok());
  ASSERT_TRUE(a_.Send(Message(std::string(1 << 20, 'x'))).ok());
  ASSERT_TRUE(a_.Send(Message("next"), memory.get()).ok());
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 3, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  internal::FromExecutor message;
  const absl::Status attached = b_.Receive(&message).status();
  const absl::StatusCode large = ReceiveCode();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(attached.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(attached.message(), testing::HasSubstr("0 left of its 3"));
  EXPECT_EQ(message.error().message(), "with");
  EXPECT_EQ(large, absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(b_.Receive(&message).value().valid());
  EXPECT_EQ(message.error().message(), "next");
}

TEST_F(ChannelTest, UsableAfterAMalformedFrame) {
  SendRaw("abc");
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(a_.Send(Message("fine")).ok());
  EXPECT_EQ(ReceiveCode(), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace holdfast
