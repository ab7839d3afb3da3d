// SPDX-License-Identifier: Apache-2.0
//
// Calls that a thread of ours serves, over a connection within the process.
#include "server/rpc/served_stream.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/wake_on_stop.h"
#include "server/rpc/call_limit.h"
#include "server/rpc/unary_call.h"

namespace holdfast {
namespace {

using grpc::ByteBuffer;
using grpc::StatusCode;
using Call = grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>;

ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return ByteBuffer(&slice, 1);
}

std::string Text(const ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(slice.begin(), slice.end());
  }
  return text;
}

// Waits for the call's cancellation and nothing else.
absl::Status AwaitCancelled(const std::stop_token& cancelled) {
  absl::Mutex mutex;
  const WakeOnStop wake(cancelled, mutex);
  absl::MutexLock lock(&mutex);
  const auto stopped = [&] { return cancelled.stop_requested(); };
  mutex.Await(absl::Condition(&stopped));
  return absl::CancelledError("given up");
}

class Service final : public grpc::Service {
 public:
  using Serve = std::function<absl::Status(ServedStream&)>;
  using Answered = std::function<absl::Status(const std::stop_token&)>;

  explicit Service(absl::Duration stall_limit) : stall_guard_(stall_limit) {
    using grpc::internal::RpcMethod;
    using grpc::internal::RpcServiceMethod;
    AddMethod(new RpcServiceMethod("/test/Stream", RpcMethod::BIDI_STREAMING,
                                   nullptr));
    MarkMethodRawCallback(
        0, new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
               [this](grpc::CallbackServerContext* context) {
                 auto* const call = new ServedStream(*context, &stall_guard_);
                 call->ServeMessages(threads_,
                                     [this, call] { return serve(*call); });
                 return call;
               }));
    AddMethod(
        new RpcServiceMethod("/test/Unary", RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        1, new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
               [this](grpc::CallbackServerContext* context, const ByteBuffer*,
                      ByteBuffer*) {
                 return AnswerInThread(context, threads_, "client",
                                       [this](const std::stop_token& stop) {
                                         return answer(stop);
                                       });
               }));
    AddMethod(
        new RpcServiceMethod("/test/Single", RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        2, new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
               [this](grpc::CallbackServerContext* context, const ByteBuffer*,
                      ByteBuffer* response) {
                 *response = Bytes("done");
                 auto count = single_.Take();
                 if (!count.ok()) return Answer(context, count.status());
                 return AnswerInThread(
                     context, many_threads_, "client",
                     [count = *std::move(count)] { return absl::OkStatus(); });
               }));
  }

  Serve serve;
  Answered answer;

 private:
  StallGuard stall_guard_;
  CallThreads threads_{4};
  CallLimit single_{"calls of Single", 1};
  CallThreads many_threads_{64};
};

class ServedStreamTest : public ::testing::Test {
 protected:
  explicit ServedStreamTest(absl::Duration stall_limit = absl::Hours(1))
      : service_(stall_limit) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel(grpc::ChannelArguments());
  }
  ~ServedStreamTest() override { server_->Shutdown(); }

  std::unique_ptr<Call> Begin(const char* method = "/test/Stream") {
    return Begin(method, &context_);
  }
  std::unique_ptr<Call> Begin(const char* method,
                              grpc::ClientContext* context) {
    return std::unique_ptr<Call>(
        grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::
            Create(channel_.get(),
                   grpc::internal::RpcMethod(
                       method, grpc::internal::RpcMethod::BIDI_STREAMING),
                   context));
  }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
};

TEST_F(ServedStreamTest, MessagesPassInOrderBothWaysAndTheLastWithTheEnd) {
  service_.serve = [](ServedStream& call) {
    std::string all;
    for (ByteBuffer message; call.Read(&message);) {
      all += Text(message);
      EXPECT_TRUE(call.Write(message));
    }
    call.WriteLast(Bytes("all: " + all));
    return absl::OkStatus();
  };
  const auto call = Begin();
  for (const char* text : {"a", "b", "c"})
    ASSERT_TRUE(call->Write(Bytes(text)));
  call->WritesDone();
  std::vector<std::string> got;
  for (ByteBuffer message; call->Read(&message);) got.push_back(Text(message));
  EXPECT_EQ(got, (std::vector<std::string>{"a", "b", "c", "all: abc"}));
  EXPECT_TRUE(call->Finish().ok());
}

TEST_F(ServedStreamTest, ACallThatFailsSendsNoLastMessage) {
  service_.serve = [](ServedStream& call) {
    call.WriteLast(Bytes("last"));
    return absl::NotFoundError("nothing");
  };
  const auto call = Begin();
  call->WritesDone();
  ByteBuffer message;
  EXPECT_FALSE(call->Read(&message));
  EXPECT_EQ(call->Finish().error_code(), StatusCode::NOT_FOUND);
}

// No message comes, and nothing looks from time to time.
TEST_F(ServedStreamTest, CancellationEndsEveryWait) {
  absl::Notification waits;
  absl::Notification ended;
  service_.serve = [&](ServedStream& call) {
    ByteBuffer message;
    EXPECT_TRUE(call.Read(&message));
    waits.Notify();
    const absl::Status status = AwaitCancelled(call.cancelled());
    EXPECT_FALSE(call.Read(&message));
    while (call.Write(Bytes("x"))) {
    }
    EXPECT_FALSE(call.TryWrite(Bytes("x")));
    EXPECT_FALSE(call.AwaitWritten());
    ended.Notify();
    return status;
  };
  const auto call = Begin();
  call->Write(Bytes("first"));
  waits.WaitForNotification();
  context_.TryCancel();
  ended.WaitForNotification();
  EXPECT_EQ(call->Finish().error_code(), StatusCode::CANCELLED);
}

// There are threads for two calls.
TEST_F(ServedStreamTest, CallsWhoseClientsSendNothingHoldNoThread) {
  service_.serve = [](ServedStream& call) {
    ByteBuffer message;
    return call.Read(&message) ? absl::OkStatus() : absl::CancelledError("");
  };
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Call>> silent;
  for (int i = 0; i < 8; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    silent.push_back(Begin("/test/Stream", contexts.back().get()));
  }
  const auto call = Begin();
  call->Write(Bytes("first"));
  EXPECT_TRUE(call->Finish().ok());
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& other : silent) other->Finish();
}

// A client that waits for each answer has one call at a time.
TEST_F(ServedStreamTest, ACallIsNotCountedAnyMoreOnceItsClientHasTheAnswer) {
  for (int i = 0; i < 1000; ++i) {
    grpc::ClientContext context;
    const auto call = Begin("/test/Single", &context);
    call->Write(Bytes("request"));
    call->WritesDone();
    ByteBuffer answer;
    call->Read(&answer);
    const grpc::Status status = call->Finish();
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
}

TEST_F(ServedStreamTest, CancellationReachesACallOfOneRequest) {
  absl::Notification waits;
  absl::Notification ended;
  service_.answer = [&](const std::stop_token& cancelled) {
    waits.Notify();
    const absl::Status status = AwaitCancelled(cancelled);
    ended.Notify();
    return status;
  };
  const auto call = Begin("/test/Unary");
  call->WriteLast(Bytes("request"), grpc::WriteOptions());
  waits.WaitForNotification();
  context_.TryCancel();
  ended.WaitForNotification();
  EXPECT_EQ(call->Finish().error_code(), StatusCode::CANCELLED);
}

class StalledStreamTest : public ServedStreamTest {
 protected:
  StalledStreamTest() : ServedStreamTest(absl::Milliseconds(200)) {}
};

TEST_F(StalledStreamTest, AClientThatSendsNothingIsGivenUp) {
  service_.serve = [](ServedStream& call) {
    for (ByteBuffer message; call.Read(&message);) {
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(Begin()->Finish().error_code(), StatusCode::CANCELLED);
  grpc::ClientContext context;
  const auto call = Begin("/test/Stream", &context);
  call->Write(Bytes("first"));
  EXPECT_EQ(call->Finish().error_code(), StatusCode::CANCELLED);
}

}  // namespace
}  // namespace holdfast
