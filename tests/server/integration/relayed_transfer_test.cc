// SPDX-License-Identifier: Apache-2.0
//
// Uploads and downloads of a remote client, which the daemon carries through
// pipes, at the protocol: nothing shows of them.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/handle.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/relay/transfer_pipe.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSize = 9 * kMiB + 5;
constexpr uint64_t kStream = Handle{HandleKind::kStream, 1, 0}.Pack();
constexpr uint64_t kBuffer = Handle{HandleKind::kBuffer, 1, 0}.Pack();
constexpr uint64_t kLargeSize = 64 * kMiB;
constexpr uint64_t kLargeBuffer = Handle{HandleKind::kBuffer, 1, 2}.Pack();

std::string Pattern(char seed) {
  std::string bytes(kSize, '\0');
  for (uint64_t i = 0; i < kSize; ++i) {
    bytes[i] = static_cast<char>(seed + (i * 2654435761u >> 13));
  }
  return bytes;
}

class RelayedTransferTest : public DaemonTest {
 protected:
  using Writer = grpc::ClientWriter<v1::UploadRequest>;
  using Reader = grpc::ClientReader<v1::DownloadResponse>;

  RelayedTransferTest() {
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    batch.add_commands()->mutable_create_stream()->set_stream(kStream);
    for (const uint64_t buffer : {kBuffer, kLargeBuffer}) {
      auto& allocate = *batch.add_commands()->mutable_allocate_buffer();
      allocate.set_buffer(buffer);
      allocate.set_size(buffer == kBuffer ? kSize : kLargeSize);
      allocate.set_device(0);
    }
    grpc::ClientContext context;
    session_.AddToken(&context);
    v1::ResultBatch results;
    const grpc::Status status =
        v1::CommandService::NewStub(tcp_)->Run(&context, batch, &results);
    EXPECT_TRUE(status.ok() && results.results_size() == 0)
        << Text(status) << results.DebugString();
    range_.set_buffer(kBuffer);
    range_.set_size(kSize);
    range_.set_stream(kStream);
  }

  struct Download {
    grpc::ClientContext context;
    std::unique_ptr<Reader> reader;
  };
  // Begun, and its first message read.
  std::unique_ptr<Download> BeginDownload() {
    auto download = std::make_unique<Download>();
    session_.AddToken(&download->context);
    v1::DownloadRequest request;
    *request.mutable_range() = range_;
    download->reader = transfers_->Download(&download->context, request);
    v1::DownloadResponse response;
    EXPECT_TRUE(download->reader->Read(&response));
    EXPECT_EQ(response.data().size(), kMiB);
    return download;
  }

  struct Upload {
    grpc::ClientContext context;
    v1::UploadResponse response;
    std::unique_ptr<Writer> writer;
  };
  // Begun, with its header and so many bytes of the pattern sent.
  std::unique_ptr<Upload> BeginUpload(const std::string& bytes) {
    auto upload = std::make_unique<Upload>();
    session_.AddToken(&upload->context);
    upload->writer = transfers_->Upload(&upload->context, &upload->response);
    v1::UploadRequest request;
    *request.mutable_header() = range_;
    bool open = upload->writer->Write(request);
    for (uint64_t at = 0; open && at < bytes.size(); at += kMiB) {
      request.set_data(bytes.substr(at, kMiB));
      open = upload->writer->Write(request);
    }
    return upload;
  }
  static grpc::Status Finish(Upload& upload) {
    upload.writer->WritesDone();
    return upload.writer->Finish();
  }

  // How a download ends whose request is no message.
  grpc::Status DownloadByGarbage() {
    const grpc::Slice slice("\xff no protobuf");
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::ClientContext context;
    session_.AddToken(&context);
    std::promise<grpc::Status> done;
    grpc::GenericStub(tcp_).UnaryCall(
        &context, "/holdfast.v1.TransferService/Download", {}, &request,
        &response, [&](grpc::Status status) { done.set_value(status); });
    return done.get_future().get();
  }

  // Bytes go up and come down again.
  void ExpectServes(char seed) {
    const std::string bytes = Pattern(seed);
    const auto upload = BeginUpload(bytes);
    const grpc::Status up = Finish(*upload);
    ASSERT_TRUE(up.ok()) << Text(up);
    EXPECT_EQ(upload->response.size(), kSize);
    ExpectDownload(bytes);
  }
  void ExpectDownload(const std::string& bytes) {
    v1::DownloadRequest request;
    *request.mutable_range() = range_;
    grpc::ClientContext context;
    session_.AddToken(&context);
    const auto reader = transfers_->Download(&context, request);
    std::string back;
    for (v1::DownloadResponse response; reader->Read(&response);) {
      back += response.data();
    }
    const grpc::Status down = reader->Finish();
    EXPECT_TRUE(down.ok()) << Text(down);
    EXPECT_EQ(back == bytes, true);
  }

  TestSession session_{tcp_};
  const std::unique_ptr<v1::TransferService::Stub> transfers_ =
      v1::TransferService::NewStub(tcp_);
  v1::TransferRange range_;
};

TEST_F(RelayedTransferTest, BytesComeBackAsTheyWentAgainAndAgain) {
  for (const char seed : {'a', 'b', 'c'}) ExpectServes(seed);
}

TEST_F(RelayedTransferTest, NoBytesAreATransfer) {
  range_.set_size(0);
  const auto upload = BeginUpload("");
  EXPECT_TRUE(Finish(*upload).ok());
  v1::DownloadRequest request;
  *request.mutable_range() = range_;
  grpc::ClientContext context;
  session_.AddToken(&context);
  const auto reader = transfers_->Download(&context, request);
  v1::DownloadResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

// Those that find no pipe wait for one.
TEST_F(RelayedTransferTest, MoreTransfersThanPipesAreServed) {
  const std::string bytes = Pattern('m');
  ASSERT_TRUE(Finish(*BeginUpload(bytes)).ok());
  std::vector<std::thread> clients;
  for (uint32_t i = 0; i < 2 * TransferPipe::kMaxPipes + 2; ++i) {
    clients.emplace_back([&, i] {
      if (i % 2 == 0) return ExpectDownload(bytes);
      const grpc::Status status = Finish(*BeginUpload(bytes));
      EXPECT_TRUE(status.ok()) << Text(status);
    });
  }
  for (std::thread& client : clients) client.join();
  ExpectServes('n');
}

TEST_F(RelayedTransferTest, ATransferThatFindsNoPipeInItsTimeIsToldWhy) {
  // More than all buffers on the way can hold.
  range_.set_buffer(kLargeBuffer);
  range_.set_size(kLargeSize);
  std::deque<std::unique_ptr<Download>> unread;
  for (uint32_t i = 0; i < TransferPipe::kMaxPipes; ++i) {
    unread.push_back(BeginDownload());
  }
  grpc::ClientContext context;
  session_.AddToken(&context);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(4));
  v1::DownloadRequest request;
  *request.mutable_range() = range_;
  const auto waiting = transfers_->Download(&context, request);
  v1::DownloadResponse response;
  EXPECT_FALSE(waiting->Read(&response));
  const grpc::Status status = waiting->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_NE(status.error_message().find("use 16 of the session's 16"),
            std::string::npos)
      << Text(status);
  for (const auto& download : unread) {
    download->context.TryCancel();
    download->reader->Finish();
  }
  range_.set_buffer(kBuffer);
  range_.set_size(kSize);
  ExpectServes('d');
}

TEST_F(RelayedTransferTest, TransfersThatAreGivenUpDisturbNoOther) {
  for (uint32_t i = 0; i < TransferPipe::kMaxPipes + 2; ++i) {
    const auto download = BeginDownload();
    download->context.TryCancel();
    EXPECT_EQ(download->reader->Finish().error_code(), StatusCode::CANCELLED);
    const auto upload = BeginUpload(std::string(2 * kMiB, 'x'));
    upload->context.TryCancel();
    EXPECT_EQ(upload->writer->Finish().error_code(), StatusCode::CANCELLED);
  }
  ExpectServes('g');
}

TEST_F(RelayedTransferTest, WhatIsWrongIsSaidAndTheNextTransferIsServed) {
  const auto refusal = [](const grpc::Status& status, StatusCode code,
                          const std::string& words) {
    EXPECT_EQ(status.error_code(), code) << Text(status);
    EXPECT_NE(status.error_message().find(words), std::string::npos)
        << Text(status);
  };
  refusal(Finish(*BeginUpload("few")), StatusCode::INVALID_ARGUMENT,
          "3 bytes came, 9437189 were announced");
  refusal(Finish(*BeginUpload(std::string(kSize + 1, 'm'))),
          StatusCode::INVALID_ARGUMENT, "that are left of those announced");
  const auto twice = BeginUpload("few");
  v1::UploadRequest header;
  *header.mutable_header() = range_;
  twice->writer->Write(header);
  refusal(Finish(*twice), StatusCode::INVALID_ARGUMENT, "a second header");
  const auto large = BeginUpload("few");
  v1::UploadRequest data;
  data.set_data(std::string(kMiB + 1, 'x'));
  large->writer->Write(data);
  refusal(Finish(*large), StatusCode::INVALID_ARGUMENT,
          "a message of 1048577 bytes: at most 1048576");
  Upload headless;
  session_.AddToken(&headless.context);
  headless.writer = transfers_->Upload(&headless.context, &headless.response);
  refusal(Finish(headless), StatusCode::INVALID_ARGUMENT,
          "begins with its header");
  refusal(DownloadByGarbage(), StatusCode::INVALID_ARGUMENT,
          "that is no DownloadRequest");
  range_.set_offset(1);
  refusal(Finish(*BeginUpload("few")), StatusCode::OUT_OF_RANGE, "");
  range_.set_offset(0);
  ExpectServes('w');
}

// A client that waits for the answer before it sends its bytes.
TEST_F(RelayedTransferTest, ARefusalDoesNotWaitForTheBytes) {
  range_.set_buffer(kBuffer + 1);
  const auto upload = BeginUpload("");
  EXPECT_NE(upload->writer->Finish().error_code(), StatusCode::OK);
}

TEST_F(RelayedTransferTest, TheDeathOfTheExecutorIsTheTransfersReason) {
  const auto upload = BeginUpload("few");
  ASSERT_EQ(kill(ExecutorPid(session_), SIGKILL), 0);
  const grpc::Status status = upload->writer->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_message().find("SIGKILL"), std::string::npos)
      << Text(status);
}

}  // namespace
}  // namespace holdfast
