// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/session.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/launch.h"
#include "core/base/error_detail.h"
#include "tests/client/cpp/fake_daemon.h"

namespace holdfast {
namespace {

using Operation = v1::Command::OperationCase;

bool Says(const absl::Status& status, absl::string_view text) {
  return absl::StrContains(status.message(), text);
}

class SessionTest : public ::testing::Test {
 protected:
  void Open() {
    auto session = Session::Open({.address = fake_.address()});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  void SetUp() override { Open(); }

  std::vector<Operation> Operations() {
    std::vector<Operation> operations;
    for (const v1::Command& command : fake_.commands()) {
      operations.push_back(command.operation_case());
    }
    return operations;
  }

  FakeDaemon fake_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, CommandsWaitForAReasonToGoAndKeepTheirOrder) {
  const Device device = session_->device(0);
  const Stream stream = *device.CreateStream();
  const Buffer buffer = *device.Allocate(1024, stream);
  ASSERT_TRUE(buffer.Fill(uint8_t{7}, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(Operations(),
            (std::vector<Operation>{
                v1::Command::kCreateStream, v1::Command::kAllocateBuffer,
                v1::Command::kFillBuffer, v1::Command::kSynchronizeStream}));
  uint64_t next = 1;
  for (const auto& batch : fake_.batches()) {
    EXPECT_EQ(batch.first_sequence(), next);
    next += batch.commands_size();
  }
}

TEST_F(SessionTest, ACommandThatNothingFollowsStillGoes) {
  const Stream stream = *session_->device(0).CreateStream();
  fake_.WaitForCommands(1);
  EXPECT_EQ(Operations(), (std::vector<Operation>{v1::Command::kCreateStream}));
}

TEST_F(SessionTest, ManyCommandsGoInBatchesWithinTheLimits) {
  const Stream stream = *session_->device(0).CreateStream();
  const Event event = *session_->device(0).CreateEvent();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(stream.Record(event).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(fake_.commands().size(), 5003u);
  for (const auto& batch : fake_.batches()) {
    EXPECT_LE(batch.commands_size(), 4096);
  }
  EXPECT_LT(fake_.batches().size(), 2500u);
}

TEST_F(SessionTest, DestructorsFreeWithoutWaiting) {
  {
    const Stream stream = *session_->device(0).CreateStream();
    const Buffer buffer = *session_->device(0).Allocate(64);
    const Event event = *stream.Record();
  }
  ASSERT_TRUE(session_->Synchronize().ok());
  const auto commands = fake_.commands();
  ASSERT_EQ(commands.size(), 8u);
  EXPECT_EQ(commands[4].destroy_event().event(),
            commands[2].create_event().event());
  EXPECT_EQ(commands[5].free_buffer().buffer(),
            commands[1].allocate_buffer().buffer());
  EXPECT_EQ(commands[6].destroy_stream().stream(),
            commands[0].create_stream().stream());
}

TEST_F(SessionTest, MovedResourcesAreDestroyedOnce) {
  Stream stream = *session_->device(0).CreateStream();
  Stream other = std::move(stream);
  stream = *session_->device(0).CreateStream();
  other = std::move(stream);  // destroys the first at once
  ASSERT_TRUE(other.Synchronize().ok());
  const auto commands = fake_.commands();
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_EQ(commands[2].destroy_stream().stream(),
            commands[0].create_stream().stream());
  EXPECT_EQ(commands[3].synchronize_stream().stream(),
            commands[1].create_stream().stream());
}

TEST_F(SessionTest, AFailureNobodyWaitedForComesWithItsNumber) {
  fake_.Fail(2, 8, "no memory: 64 bytes");
  fake_.Fail(3, 3, "the buffer could not be made: no memory");
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer buffer = *session_->device(0).Allocate(64);
  ASSERT_TRUE(buffer.Fill(uint8_t{1}, stream).ok());
  const absl::Status status = stream.Synchronize();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(Says(status, "command 2 failed (and 1 after it): no memory"))
      << status;
  // Told once; the resource still knows.
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(buffer.status())) << buffer.status();
  EXPECT_TRUE(stream.status().ok());
}

TEST_F(SessionTest, AFailedCreationThatACallHasToldIsNotToldAgain) {
  const std::string cause = "no kernel is named 'fast'";
  fake_.Fail(2, 5, cause);                  // GetKernel
  fake_.Fail(4, 5, cause);                  // DescribeKernel
  fake_.Fail(3, 8, "no memory: 64 bytes");  // another creation
  const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
  const Kernel kernel = *module.GetKernel("fast");
  const Buffer buffer = *session_->device(0).Allocate(64);
  EXPECT_TRUE(absl::IsNotFound(kernel.Describe().status()));
  EXPECT_TRUE(Says(session_->Synchronize(), "command 3 failed: no memory"));
  EXPECT_TRUE(session_->Synchronize().ok());
  EXPECT_TRUE(absl::IsNotFound(kernel.status()));
}

TEST_F(SessionTest, AFailureThatTheResourceHasToldIsNotToldAgain) {
  fake_.Fail(1, 8, "no memory: 64 bytes");
  const Buffer buffer = *session_->device(0).Allocate(64);
  ASSERT_TRUE(session_->device(0).CreateStream()->IsDone().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(buffer.status()));
  EXPECT_TRUE(session_->Synchronize().ok());
}

TEST_F(SessionTest, AFailedCreationIsToldAlsoAfterItsResourceIsGone) {
  fake_.Fail(1, 8, "no memory: 64 bytes");
  session_->device(0).Allocate(64).IgnoreError();
  EXPECT_TRUE(absl::IsResourceExhausted(session_->Synchronize()));
}

TEST_F(SessionTest, WhatNoDeviceTakesIsRefusedAndSentToNobody) {
  const Stream stream = *session_->device(0).CreateStream();
  const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
  const Kernel kernel = *module.GetKernel("saxpy");
  const auto launch = [&](const LaunchConfig& config) {
    return Launch(stream, config, kernel).code();
  };
  const auto out_of_range = absl::StatusCode::kOutOfRange;
  EXPECT_EQ(launch({.grid = Dim3(1, 0), .block = 1}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(launch({.grid = 1u << 31, .block = 1}), out_of_range);
  EXPECT_EQ(launch({.grid = 1, .block = Dim3(1, 1, 65)}), out_of_range);
  EXPECT_EQ(launch({.grid = 1, .block = Dim3(32, 33)}), out_of_range);
  EXPECT_EQ(launch({.grid = 1, .block = Dim3(32, 32)}), absl::StatusCode::kOk);
  const Buffer buffer = *session_->device(0).Allocate(64);
  EXPECT_EQ(buffer.Sub(60, 8).status().code(), out_of_range);
  EXPECT_EQ(buffer.Fill(uint8_t{1}, UINT64_MAX, 2, stream).code(),
            out_of_range);
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(fake_.commands().size(), 6u);
}

TEST_F(SessionTest, AFailureOfACommandThatIsWaitedForIsItsOwn) {
  fake_.Fail(3, 9, "never recorded");
  const Event start = *session_->device(0).CreateEvent();
  const Event end = *session_->device(0).CreateEvent();
  const auto time = end.MillisecondsSince(start);
  EXPECT_TRUE(absl::IsFailedPrecondition(time.status())) << time.status();
  EXPECT_TRUE(session_->Synchronize().ok());
}

TEST_F(SessionTest, DownloadTellsWhatFailedBeforeIt) {
  fake_.Fail(3, 3, "grid of 0 blocks");
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer buffer = *session_->device(0).Allocate(64);
  ASSERT_TRUE(buffer.Fill(uint8_t{1}, stream).ok());
  std::vector<char> bytes(64);
  const absl::Status status = buffer.Download(bytes, stream);
  EXPECT_TRUE(Says(status, "command 3 failed: grid of 0")) << status;
}

TEST_F(SessionTest, ANameThatNoBufferCanHaveIsRefusedAndSentToNobody) {
  const Device device = session_->device(0);
  const Stream stream = *device.CreateStream();
  for (const std::string& name : {std::string("\xff"), std::string(257, 'n')}) {
    const absl::Status refused =
        device.AllocateNamed(name, 64, stream).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  }
  const std::string longest(256, 'n');
  ASSERT_TRUE(device.AllocateNamed(longest, 64, stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(fake_.commands()[1].allocate_buffer().name(), longest);
}

// One command that cannot be read ends the session.
TEST_F(SessionTest, TextThatIsNotUtf8IsRefusedAndSentToNobody) {
  const std::string bad = "\xff";
  const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
  const Kernel kernel = *module.GetKernel("saxpy");
  const auto refused = [](const absl::Status& status, const char* field) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(Says(status, field)) << status;
  };
  refused(module.GetKernel(bad).status(), "get_kernel.name");
  refused(module.GetGlobal(bad).status(), "get_global.name");
  refused(kernel.SetAttribute(bad, 1), "set_kernel_attribute.attribute");
  refused(session_->Load({.symbols = {{bad, "k"}}}).status(),
          "load_module.symbols.key");
  refused(session_->device(0).OpenCollection(bad, 1, {}).status(), "name");
  refused(CollectionWriter::Create(*session_, {{bad, "U32", {16}}}).status(),
          "arrays.name");
  auto writer = CollectionWriter::Create(*session_, {{"a", "U32", {16}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  refused(writer->Commit("c", {{"key", bad}}).status(), "metadata.value");
  ASSERT_TRUE(session_->Synchronize().ok());
  EXPECT_EQ(Operations(),
            (std::vector<Operation>{
                v1::Command::kLoadModule, v1::Command::kGetKernel,
                v1::Command::kAllocateBuffer, v1::Command::kFence}));
}

TEST_F(SessionTest, ABufferOfItsOwnIsNotTakenOver) {
  const Buffer own = *session_->device(0).Allocate(64);
  const absl::Status refused =
      session_->Adopt({.handle = own.handle(), .size = 64}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

TEST_F(SessionTest, LeavingEndsNothing) {
  const Buffer buffer = *session_->device(0).Allocate(64);
  session_->Leave();
  EXPECT_TRUE(absl::IsCancelled(session_->Synchronize()));
  session_.reset();
  EXPECT_FALSE(fake_.closed());
}

TEST_F(SessionTest, ACollectionIsWrittenOnTheFirstDeviceOfTheSession) {
  session_.reset();
  fake_.set_devices({1, 0});
  Open();
  const auto writer = CollectionWriter::Create(*session_, {{"a", "U32", {16}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto other =
      CollectionWriter::Create(*session_, {{"a", "U32", {16}}}, 0);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(session_->Synchronize().ok());
  const auto commands = fake_.commands();
  EXPECT_EQ(commands[0].allocate_buffer().device(), 1u);
  EXPECT_EQ(commands[1].allocate_buffer().device(), 0u);
}

TEST_F(SessionTest, SmallTransfersGoInlineLargeOnesByTheirService) {
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer buffer = *session_->device(0).Allocate(3 << 20);
  std::string small(64 << 10, 'a'), large(3 << 20, 'b');
  large[5] = 'c';
  ASSERT_TRUE(buffer.Upload(small, stream).ok());
  ASSERT_TRUE(buffer.Upload(large, stream).ok());
  EXPECT_EQ(fake_.uploaded(), large);
  ASSERT_EQ(fake_.transfers().size(), 1u);
  EXPECT_EQ(fake_.transfers()[0].size(), large.size());
  EXPECT_EQ(fake_.transfers()[0].after_sequence(), 3u);
  EXPECT_EQ(fake_.commands()[2].write_buffer().data(), small);

  std::string back(large.size(), '\0');
  ASSERT_TRUE(buffer.Download(back, stream).ok());
  EXPECT_EQ(back, large);
  ASSERT_TRUE(buffer.Download(small, stream).ok());
  EXPECT_EQ(small, std::string(64 << 10, 'r'));
}

TEST_F(SessionTest, LaunchArgumentsKeepTheirTypes) {
  const Stream stream = *session_->device(0).CreateStream();
  const Buffer buffer = *session_->device(0).Allocate(64);
  const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
  const Kernel kernel = *module.GetKernel("saxpy");
  struct Pair {
    int a;
    int b;
  } pair = {1, 2};
  ASSERT_TRUE(Launch(stream,
                     {.grid = {4, 2},
                      .block = 128,
                      .cluster = Dim3(2),
                      .dynamic_shared_bytes = 64 << 10,
                      .attributes = {.priority = -1}},
                     kernel, 2.0f, 3.0, buffer,
                     BufferAddress{buffer.handle(), 16}, nullptr, uint64_t{50},
                     int8_t{-1}, true, 7LL, Half{0x3c00}, Argument::Raw(pair))
                  .ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  const v1::Launch launch = fake_.commands()[4].launch();
  EXPECT_EQ(launch.grid().x(), 4u);
  EXPECT_EQ(launch.grid().y(), 2u);
  EXPECT_EQ(launch.grid().z(), 1u);
  EXPECT_EQ(launch.cluster().x(), 2u);
  EXPECT_EQ(launch.attributes(0).priority(), -1);
  ASSERT_EQ(launch.arguments_size(), 11);
  EXPECT_EQ(launch.arguments(0).f32(), 2.0f);
  EXPECT_EQ(launch.arguments(1).f64(), 3.0);
  EXPECT_EQ(launch.arguments(2).buffer().buffer(), buffer.handle());
  EXPECT_EQ(launch.arguments(3).buffer().offset(), 16u);
  EXPECT_TRUE(launch.arguments(4).has_buffer());
  EXPECT_EQ(launch.arguments(4).buffer().buffer(), 0u);
  EXPECT_EQ(launch.arguments(5).u64(), 50u);
  EXPECT_EQ(launch.arguments(6).i8(), -1);
  EXPECT_TRUE(launch.arguments(7).boolean());
  EXPECT_EQ(launch.arguments(8).i64(), 7);
  EXPECT_EQ(launch.arguments(9).f16_bits(), 0x3c00u);
  EXPECT_EQ(launch.arguments(10).raw(), std::string("\1\0\0\0\2\0\0\0", 8));
}

// It was a null pointer to the kernel.
TEST_F(SessionTest, AnEmptyBufferIsNoArgument) {
  const Stream stream = *session_->device(0).CreateStream();
  const Kernel kernel =
      *session_->Load({.sha256 = std::string(32, 'h')})->GetKernel("saxpy");
  Buffer freed = *session_->device(0).Allocate(64);
  freed.Free(stream);
  Buffer moved = *session_->device(0).Allocate(64);
  const Buffer buffer = std::move(moved);
  const auto fails = [](const absl::Status& status) {
    return absl::IsInvalidArgument(status) &&
           absl::StrContains(status.message(),
                             "argument 1: a buffer that was moved from");
  };
  EXPECT_TRUE(fails(Launch(stream, {}, kernel, buffer, freed)));
  EXPECT_TRUE(fails(Launch(stream, {}, kernel, buffer, moved)));
  EXPECT_TRUE(fails(KernelNode({}, kernel, buffer, moved).status()));
  EXPECT_TRUE(Launch(stream, {}, kernel, buffer, nullptr).ok());
}

TEST_F(SessionTest, AKernelIsAskedForOnceAndLivesWithItsModule) {
  {
    const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
    EXPECT_EQ(module.GetKernel("saxpy")->handle(),
              module.GetKernel("saxpy")->handle());
  }
  ASSERT_TRUE(session_->Synchronize().ok());
  EXPECT_EQ(Operations(),
            (std::vector<Operation>{
                v1::Command::kLoadModule, v1::Command::kGetKernel,
                v1::Command::kUnloadModule, v1::Command::kFence}));
}

TEST_F(SessionTest, ACommandOverTheMessageLimitIsRefusedAndOthersGo) {
  const Stream stream = *session_->device(0).CreateStream();
  const Module module = *session_->Load({.sha256 = std::string(32, 'h')});
  const Kernel kernel = *module.GetKernel("k");
  const std::vector<std::byte> huge(4 << 20);
  const absl::Status status =
      Launch(stream, {}, kernel, std::span<const std::byte>(huge));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(Says(status, "the limit is")) << status;
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(SessionTest, ALostExecutorFailsWhatWaitsAndWhatComesWithTheReason) {
  const Stream stream = *session_->device(0).CreateStream();
  ASSERT_TRUE(stream.Synchronize().ok());  // Nothing is on its way any more.
  fake_.Hold();
  absl::Status waited;
  std::thread waiter([&] { waited = stream.Synchronize(); });
  fake_.WaitForCommands(3);
  fake_.LoseExecutor("executor 4711 was killed by SIGKILL");
  waiter.join();
  for (const absl::Status& status :
       {waited, stream.Synchronize(), session_->Synchronize(),
        session_->device(0).CreateStream().status()}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(Says(status, "executor 4711 was killed by SIGKILL")) << status;
    ASSERT_TRUE(GetErrorDetail(status).has_value());
    EXPECT_TRUE(GetErrorDetail(status)->session_lost);
  }
}

TEST_F(SessionTest, ASessionThatTheDaemonEndsSaysWhy) {
  const Stream stream = *session_->device(0).CreateStream();
  ASSERT_TRUE(stream.Synchronize().ok());  // Nothing is on its way any more.
  fake_.Hold();
  absl::Status waited;
  std::thread waiter([&] { waited = stream.Synchronize(); });
  fake_.WaitForCommands(3);
  fake_.EndSession("the daemon is stopping");
  waiter.join();
  fake_.Release();
  EXPECT_TRUE(absl::IsUnavailable(waited)) << waited;
  EXPECT_TRUE(Says(waited, "the daemon is stopping")) << waited;
}

TEST_F(SessionTest, ResourcesMayOutliveTheSession) {
  const Stream stream = *session_->device(0).CreateStream();
  session_.reset();
  EXPECT_TRUE(fake_.closed());
  EXPECT_TRUE(absl::IsCancelled(stream.Synchronize()));
}

TEST_F(SessionTest, ThreadsShareASession) {
  constexpr int kThreads = 8, kRounds = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      const Stream stream = *session_->device(0).CreateStream();
      for (int i = 0; i < kRounds; ++i) {
        const Buffer buffer = *session_->device(0).Allocate(64, stream);
        ASSERT_TRUE(buffer.Fill(uint8_t{1}, stream).ok());
        ASSERT_TRUE(stream.Synchronize().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t next = 1;
  for (const auto& batch : fake_.batches()) {
    EXPECT_EQ(batch.first_sequence(), next);
    next += batch.commands_size();
  }
  EXPECT_GE(next, uint64_t{kThreads} * kRounds * 4);
}

// As of one that makes way for another before it has answered.
TEST(SessionCloseTest, ADaemonWhoseConnectionBreaksIsAskedAgain) {
  for (const bool carried_out : {false, true}) {
    FakeDaemon fake(absl::Milliseconds(300));
    fake.LoseNextClose(carried_out);
    auto session = Session::Open({.address = fake.address()});
    ASSERT_TRUE(session.ok()) << session.status();
    const absl::Status closed = (*session)->Close();
    EXPECT_TRUE(closed.ok()) << closed;
    EXPECT_TRUE(fake.closed());
  }
}

TEST(SessionOpenTest, NoDaemonIsAClearSentence) {
  const auto session = Session::Open({.address = "unix:/tmp/no/such/socket"});
  EXPECT_TRUE(absl::IsUnavailable(session.status())) << session.status();
  EXPECT_TRUE(
      Says(session.status(), "no Holdfast daemon at unix:/tmp/no/such/socket"));
  EXPECT_TRUE(
      Says(session.status(), "`holdfastd --listen=unix:/tmp/no/such/socket`"));
  EXPECT_TRUE(Says(session.status(), "let the address be embedded:"));
}

}  // namespace
}  // namespace holdfast
