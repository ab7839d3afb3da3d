// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/resuming_relay.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using Stream = grpc::ServerReaderWriter<v1::ResultBatch, v1::CommandBatch>;

// Each Execute call goes as the test says, by its number from 0.
class Commands final : public v1::CommandService::Service {
 public:
  using Script = std::function<grpc::Status(int call, Stream& stream)>;

  explicit Commands(Script script) : script_(std::move(script)) {}

  grpc::Status Execute(grpc::ServerContext*, Stream* stream) override {
    int call = 0;
    {
      absl::MutexLock lock(&mutex_);
      call = calls_++;
    }
    return script_(call, *stream);
  }

  int calls() {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }

 private:
  const Script script_;
  absl::Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The session is always there.
class Sessions final : public v1::SessionService::Service {
  grpc::Status AttachSession(grpc::ServerContext*,
                             const v1::AttachSessionRequest*,
                             v1::AttachSessionResponse*) override {
    return grpc::Status::OK;
  }
};

// A result without an outcome: commands have come so far.
void Acknowledge(Stream& stream, uint64_t sequence) {
  v1::ResultBatch batch;
  batch.add_results()->set_sequence(sequence);
  stream.Write(batch);
}

// Answers one batch; false: the client has gone.
bool AnswerOne(Stream& stream) {
  v1::CommandBatch batch;
  if (!stream.Read(&batch)) return false;
  v1::ResultBatch results;
  v1::Result& result = *results.add_results();
  result.set_sequence(batch.first_sequence());
  result.set_elapsed_ms(1);
  return stream.Write(results);
}

class ResumingRelayTest : public ::testing::Test {
 protected:
  void Start(Commands::Script script, absl::Duration grace) {
    commands_ = std::make_unique<Commands>(std::move(script));
    grpc::ServerBuilder builder;
    builder.RegisterService(commands_.get());
    builder.RegisterService(&sessions_);
    server_ = builder.BuildAndStart();
    const auto memory = RingPair::CreateMemory();
    ASSERT_TRUE(memory.ok()) << memory.status();
    rings_ = *RingPair::Map(memory->get(), RingPair::End::kClient, 1 << 20);
    const auto connect = [this] {
      return server_->InProcessChannel(grpc::ChannelArguments());
    };
    ASSERT_OK_AND_ASSIGN(
        relay_,
        ResumingRelay::Start(
            ResumingRelay::Options{.session_token = std::string(32, '0'),
                                   .grace = grace,
                                   .connect = connect},
            *RingPair::Map(memory->get(), RingPair::End::kExecutor, 1 << 20),
            connect()));
  }
  ~ResumingRelayTest() override {
    relay_.reset();
    if (server_ != nullptr) server_->Shutdown();
  }

  void Send(uint64_t sequence) {
    v1::CommandBatch batch;
    batch.set_first_sequence(sequence);
    batch.add_commands()->mutable_fence();
    EXPECT_TRUE(rings_->writer().Write(batch.SerializeAsString()).ok());
  }
  v1::Result Receive() {
    v1::ResultBatch batch;
    for (;;) {
      const auto message = rings_->reader().Read();
      EXPECT_TRUE(message.ok()) << message.status();
      if (!message.ok()) return {};
      if (message->has_value()) {
        EXPECT_TRUE(batch.ParseFromArray((*message)->data(),
                                         static_cast<int>((*message)->size())));
        EXPECT_EQ(batch.results_size(), 1);
        return batch.results(0);
      }
      rings_->reader().Await(absl::Seconds(1));
    }
  }

  std::unique_ptr<Commands> commands_;
  Sessions sessions_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<RingPair> rings_;
  std::unique_ptr<ResumingRelay> relay_;
};

// A client whose connection breaks again and again has as many calls as it may
// have until the daemon notices.
TEST_F(ResumingRelayTest, RefusalForBrokenCallsThatStillCountPasses) {
  Start(
      [](int call, Stream& stream) -> grpc::Status {
        if (call > 0 && call < 4) {
          return {grpc::StatusCode::RESOURCE_EXHAUSTED, "8 calls open"};
        }
        Acknowledge(stream, call == 0 ? 0 : 1);
        while (AnswerOne(stream)) {
          if (call == 0) return {grpc::StatusCode::UNAVAILABLE, "broken"};
        }
        return grpc::Status::OK;
      },
      absl::Minutes(2));
  Send(1);
  EXPECT_EQ(Receive().sequence(), 1u);
  Send(2);
  const v1::Result result = Receive();
  EXPECT_EQ(result.sequence(), 2u) << result.ShortDebugString();
  EXPECT_EQ(commands_->calls(), 5);
}

TEST_F(ResumingRelayTest, DaemonThatAnswersNoCallIsGivenUpAfterTheGrace) {
  Start(
      [](int, Stream&) -> grpc::Status {
        return {grpc::StatusCode::INTERNAL, "no rings"};
      },
      absl::Milliseconds(100));
  const v1::Result end = Receive();
  EXPECT_EQ(end.sequence(), 0u);
  EXPECT_EQ(end.error().code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(end.error().message().find("within 100ms: no rings"),
            std::string::npos)
      << end.error().message();
}

}  // namespace
}  // namespace holdfast
