// SPDX-License-Identifier: Apache-2.0
//
// Transfers that the daemon relays: the test is the daemon.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/chunk.h"
#include "proto/metadata.h"
#include "server/relay/relayed_message.h"
#include "server/relay/shared_blocks.h"
#include "server/relay/transfer_relay.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using Call = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSize = 10 * kMiB + 70'000;

std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  return bytes;
}

class RelayTest : public ExecutorTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), kSize);
    ASSERT_TRUE(Run(batch).empty());
    range_.set_buffer(BufferName(0));
    range_.set_size(kSize);
    range_.set_stream(StreamName(0));
  }

  std::unique_ptr<Call> Start(grpc::ClientContext* context,
                              const std::string& method) {
    context->AddMetadata(kRelayedKey.name, "1");
    const std::string path = "/holdfast.v1.TransferService/" + method;
    return std::unique_ptr<Call>(
        grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer,
                                                  grpc::ByteBuffer>::
            Create(connection().get(),
                   grpc::internal::RpcMethod(
                       path.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING),
                   context));
  }

  // Sends one message after the header; how the call ends.
  grpc::Status UploadMessage(const grpc::ByteBuffer& message) {
    const auto context = Context();
    const auto call = Start(context.get(), "Upload");
    call->Write(RelayWhole(MakeUploadHeader(range_)));
    call->Write(message);
    call->WritesDone();
    return call->Finish();
  }

  grpc::Status Upload(const std::string& bytes, size_t message_bytes) {
    const auto context = Context();
    const auto call = Start(context.get(), "Upload");
    UploadRelay relay(blocks());
    bool open = call->Write(relay.Relay(MakeUploadHeader(range_), {}));
    for (size_t at = 0; open && at < bytes.size(); at += message_bytes) {
      const grpc::Slice data(bytes.substr(at, message_bytes));
      open = call->Write(relay.Relay(MakeUploadData(data), {}));
    }
    call->WritesDone();
    grpc::ByteBuffer response;
    EXPECT_TRUE(call->Read(&response));
    return call->Finish();
  }

  std::unique_ptr<Call> StartDownload(grpc::ClientContext* context) {
    auto call = Start(context, "Download");
    v1::DownloadRequest request;
    *request.mutable_range() = range_;
    const grpc::Slice slice(request.SerializeAsString());
    call->Write(grpc::ByteBuffer(&slice, 1));
    call->WritesDone();
    return call;
  }

  // How many of the executor's messages named a block.
  grpc::Status Download(std::string* bytes, size_t* blocks_named) {
    const auto context = Context();
    const auto call = StartDownload(context.get());
    for (grpc::ByteBuffer message; call->Read(&message);) {
      const auto read = ReadRelayed(blocks(), message);
      if (!read.ok()) return grpc::Status::CANCELLED;
      if (const auto* slice = absl::get_if<grpc::Slice>(&*read)) {
        ++*blocks_named;
        bytes->append(slice->begin(), slice->end());
        continue;
      }
      const auto data =
          ReadDownloadResponse(absl::get<grpc::ByteBuffer>(*read));
      if (!data.ok()) return grpc::Status::CANCELLED;
      std::string piece(data->size(), '\0');
      data->CopyTo(piece.data());
      bytes->append(piece);
    }
    return call->Finish();
  }

  v1::TransferRange range_;
};

TEST_F(RelayTest, BytesPassBothWays) {
  const std::string bytes = Pattern(kSize);
  for (const size_t message_bytes : {kMiB, size_t{70'000}}) {
    ASSERT_TRUE(Upload(bytes, message_bytes).ok());
    std::string back;
    size_t named = 0;
    ASSERT_TRUE(Download(&back, &named).ok());
    EXPECT_EQ(back == bytes, true);
    EXPECT_EQ(named, 11u);
  }
}

TEST_F(RelayTest, WithoutAFreeBlockBytesPassInTheMessages) {
  std::vector<SharedBlocks::Block> taken;
  while (const auto block = blocks()->Take(1)) taken.push_back(*block);
  const std::string bytes = Pattern(kSize);
  ASSERT_TRUE(Upload(bytes, kMiB).ok());
  std::string back;
  size_t named = 0;
  ASSERT_TRUE(Download(&back, &named).ok());
  EXPECT_EQ(back == bytes, true);
}

TEST_F(RelayTest, WhatTheDaemonMayNotSendEndsTheCall) {
  const grpc::Slice text("neither");
  for (const grpc::ByteBuffer& message :
       {RelayBlock({.index = 3, .ticket = 1, .size = 5}),
        RelayBlock({.index = 1000, .ticket = 1, .size = 5}),
        grpc::ByteBuffer(&text, 1)}) {
    EXPECT_EQ(UploadMessage(message).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_TRUE(Upload(Pattern(kSize), kMiB).ok());
}

// There is room for the downloads that come after.
TEST_F(RelayTest, DownloadsThatAreGivenUpKeepNoBlock) {
  for (size_t i = 0; i < SharedBlocks::kExecutorBlocks; ++i) {
    const auto context = Context();
    const auto call = StartDownload(context.get());
    grpc::ByteBuffer message;
    ASSERT_TRUE(call->Read(&message));
    context->TryCancel();
    (void)call->Finish();
  }
  std::string back;
  size_t named = 0;
  ASSERT_TRUE(Download(&back, &named).ok());
  EXPECT_EQ(back.size(), kSize);
}

// The daemon sends a client's bytes from the block.
TEST_F(RelayTest, ABlockIsNotUsedAgainBeforeItIsGivenBack) {
  const std::string bytes = Pattern(kSize);
  ASSERT_TRUE(Upload(bytes, kMiB).ok());
  const auto context = Context();
  const auto call = StartDownload(context.get());
  grpc::ByteBuffer message;
  ASSERT_TRUE(call->Read(&message));
  ASSERT_TRUE(Upload(std::string(kSize, 'o'), kMiB).ok());
  for (int i = 0; i < 10; ++i) {
    std::string others;
    size_t named = 0;
    ASSERT_TRUE(Download(&others, &named).ok());
  }
  ASSERT_OK_AND_ASSIGN(const Relayed read, ReadRelayed(blocks(), message));
  const auto& slice = absl::get<grpc::Slice>(read);
  EXPECT_EQ(std::string(slice.begin(), slice.end()) == bytes.substr(0, kMiB),
            true);
  context->TryCancel();
}

// A device error in the middle must reach the client, so what was sent before
// stays readable.
TEST_F(RelayTest, WhatWasSentBeforeADownloadFailsCanStillBeRead) {
  const auto context = Context();
  const auto call = StartDownload(context.get());
  grpc::ByteBuffer message;
  ASSERT_TRUE(call->Read(&message));
  Batch batch(3);
  batch.Free(BufferName(0));
  ASSERT_TRUE(Run(batch).empty());
  do {
    EXPECT_OK(ReadRelayed(blocks(), message));
  } while (call->Read(&message));
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(RelayTest, AReaderThatStandsStillHoldsUpNobodyElse) {
  const auto context = Context();
  const auto call = StartDownload(context.get());
  grpc::ByteBuffer message;
  ASSERT_TRUE(call->Read(&message));
  std::string back;
  size_t named = 0;
  ASSERT_TRUE(Download(&back, &named).ok());
  EXPECT_EQ(named, 11u);
  context->TryCancel();
}

}  // namespace
}  // namespace holdfast::testing
