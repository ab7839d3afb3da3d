// SPDX-License-Identifier: Apache-2.0
//
// Upload and Download.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/executor/executor_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using grpc::StatusCode;

constexpr size_t kMiB = size_t{1} << 20;

std::string Pattern(size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>((i * 2654435761u + seed) >> 13);
  }
  return bytes;
}

class TransferTest : public ExecutorTest {
 protected:
  // Stream 0 and buffer 0 of 10 MiB and 5 bytes.
  static constexpr size_t kSize = 10 * kMiB + 5;

  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
    Batch batch;
    batch.CreateStream(StreamName(0));
    batch.Allocate(BufferName(0), kSize);
    const auto results = Run(batch);
    ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
  }

  static v1::TransferRange Range(uint64_t offset, uint64_t size) {
    v1::TransferRange range;
    range.set_buffer(BufferName(0));
    range.set_offset(offset);
    range.set_size(size);
    range.set_stream(StreamName(0));
    return range;
  }

  grpc::Status Upload(const v1::TransferRange& range, const std::string& bytes,
                      size_t message_bytes = kMiB) {
    auto context = Context();
    v1::UploadResponse response;
    auto writer = transfers().Upload(context.get(), &response);
    v1::UploadRequest request;
    *request.mutable_header() = range;
    bool open = writer->Write(request);
    for (size_t at = 0; open && at < bytes.size(); at += message_bytes) {
      request.set_data(bytes.substr(at, message_bytes));
      open = writer->Write(request);
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (status.ok()) {
      EXPECT_EQ(response.size(), bytes.size());
    }
    return status;
  }

  grpc::Status Download(const v1::TransferRange& range, std::string* bytes) {
    auto context = Context();
    v1::DownloadRequest request;
    *request.mutable_range() = range;
    auto reader = transfers().Download(context.get(), request);
    for (v1::DownloadResponse response; reader->Read(&response);) {
      EXPECT_LE(response.data().size(), kMiB);
      bytes->append(response.data());
    }
    return reader->Finish();
  }
};

TEST_F(TransferTest, BytesComeBackAsTheyWent) {
  const std::string bytes = Pattern(kSize, 1);
  ASSERT_TRUE(Upload(Range(0, kSize), bytes).ok());
  std::string back;
  ASSERT_TRUE(Download(Range(0, kSize), &back).ok());
  EXPECT_TRUE(back == bytes);
  back.clear();
  ASSERT_TRUE(Download(Range(kMiB - 3, 7), &back).ok());
  EXPECT_EQ(back, bytes.substr(kMiB - 3, 7));
}

TEST_F(TransferTest, MessagesMayBeOfAnySize) {
  const std::string bytes = Pattern(100000, 2);
  ASSERT_TRUE(Upload(Range(17, bytes.size()), bytes, 777).ok());
  std::string back;
  ASSERT_TRUE(Download(Range(17, bytes.size()), &back).ok());
  EXPECT_TRUE(back == bytes);
}

TEST_F(TransferTest, ATransferIsAnOperationOfItsStream) {
  Batch batch(10);
  batch.FillWord(StreamName(0), BufferName(0), 0, 64, 0x61616161);
  ASSERT_TRUE(Run(batch).empty());
  v1::TransferRange range = Range(4, 4);
  range.set_after_sequence(10);
  ASSERT_TRUE(Upload(range, "word").ok());
  Batch read(11);
  const uint64_t sequence = read.Read(StreamName(0), BufferName(0), 0, 12);
  EXPECT_EQ(Run(read).at(sequence).data(), "aaaawordaaaa");
}

TEST_F(TransferTest, ItWaitsForTheCommandsThatItNames) {
  v1::TransferRange range = Range(0, 4);
  range.set_after_sequence(10);
  // A command that does not come is waited for until the client gives up.
  const auto context = Context();
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(200));
  v1::DownloadRequest request;
  *request.mutable_range() = range;
  const auto reader = transfers().Download(context.get(), request);
  v1::DownloadResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);

  std::string back;
  std::thread download([&] { EXPECT_TRUE(Download(range, &back).ok()); });
  Batch batch(10);
  batch.Write(StreamName(0), BufferName(0), 0, "told");
  EXPECT_TRUE(Run(batch).empty());
  download.join();
  EXPECT_EQ(back, "told");
}

TEST_F(TransferTest, TooFewAndTooManyBytesAreRefused) {
  EXPECT_EQ(Upload(Range(0, 100), std::string(99, 'x')).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Upload(Range(0, 100), std::string(101, 'x')).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Upload(Range(0, 2 * kMiB), std::string(2 * kMiB, 'x'), kMiB + 1)
                .error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Upload(Range(0, 0), "").ok());
}

TEST_F(TransferTest, RangesAndHandlesAreCheckedFirst) {
  std::string back;
  EXPECT_EQ(Download(Range(0, kSize + 1), &back).error_code(),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Download(Range(~uint64_t{0}, 2), &back).error_code(),
            StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(Upload(Range(kSize, 1), "x").error_code(),
            StatusCode::OUT_OF_RANGE);
  v1::TransferRange range = Range(0, 1);
  range.set_buffer(BufferName(9));
  EXPECT_EQ(Upload(range, "x").error_code(), StatusCode::NOT_FOUND);
  range = Range(0, 1);
  range.set_stream(0);
  EXPECT_EQ(Download(range, &back).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(back.empty());
}

TEST_F(TransferTest, AnUploadBeginsWithItsHeader) {
  auto context = Context();
  v1::UploadResponse response;
  auto writer = transfers().Upload(context.get(), &response);
  v1::UploadRequest request;
  request.set_data("x");
  writer->Write(request);
  writer->WritesDone();
  EXPECT_EQ(writer->Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(TransferTest, TransfersNeedTheToken) {
  grpc::ClientContext context;
  v1::DownloadRequest request;
  *request.mutable_range() = Range(0, 1);
  auto reader = transfers().Download(&context, request);
  v1::DownloadResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAUTHENTICATED);
}

// More than there are staging blocks, so that each has to wait for others.
TEST_F(TransferTest, ManyAtOnceAllComeThrough) {
  constexpr int kTransfers = 24;
  const std::string bytes = Pattern(kSize, 3);
  ASSERT_TRUE(Upload(Range(0, kSize), bytes).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < kTransfers; ++i) {
    threads.emplace_back([&, i] {
      std::string back;
      const size_t offset = static_cast<size_t>(i) * 1000;
      EXPECT_TRUE(Download(Range(offset, 6 * kMiB), &back).ok());
      EXPECT_TRUE(back == bytes.substr(offset, 6 * kMiB));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TransferTest, ADownloadThatIsGivenUpHoldsNothing) {
  for (int i = 0; i < 20; ++i) {
    auto context = Context();
    v1::DownloadRequest request;
    *request.mutable_range() = Range(0, kSize);
    auto reader = transfers().Download(context.get(), request);
    v1::DownloadResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context->TryCancel();
    reader->Finish();
  }
  std::string back;
  EXPECT_TRUE(Download(Range(0, kSize), &back).ok());
}

// A client that has begun downloads of the whole buffer and reads no more.
class SlowClient {
 public:
  using Context = std::unique_ptr<grpc::ClientContext>;
  using Reader = std::unique_ptr<grpc::ClientReader<v1::DownloadResponse>>;

  void Add(v1::TransferService::Stub& transfers, Context context,
           const v1::TransferRange& range) {
    v1::DownloadRequest request;
    *request.mutable_range() = range;
    contexts_.push_back(std::move(context));
    readers_.push_back(transfers.Download(contexts_.back().get(), request));
    v1::DownloadResponse response;
    EXPECT_TRUE(readers_.back()->Read(&response));
  }
  // Reads the rest of the last; how it ended.
  grpc::Status Finish() {
    v1::DownloadResponse response;
    while (readers_.back()->Read(&response)) {
    }
    const grpc::Status status = readers_.back()->Finish();
    readers_.pop_back();
    return status;
  }
  ~SlowClient() {
    for (const Context& context : contexts_) context->TryCancel();
    for (const Reader& reader : readers_) reader->Finish();
  }

 private:
  std::vector<Context> contexts_;
  std::vector<Reader> readers_;
};

TEST_F(TransferTest, SlowDownloadersHoldUpNobodyElse) {
  const std::string bytes = Pattern(kSize, 4);
  ASSERT_TRUE(Upload(Range(0, kSize), bytes).ok());
  SlowClient slow;
  for (int i = 0; i < 24; ++i)
    slow.Add(transfers(), Context(), Range(0, kSize));
  std::string back;
  EXPECT_TRUE(Download(Range(0, kSize), &back).ok());
  EXPECT_TRUE(back == bytes);
  EXPECT_TRUE(Upload(Range(0, kSize), bytes).ok());
  // No slow one had to be given up for that.
  for (int i = 0; i < 24; ++i) EXPECT_TRUE(slow.Finish().ok());
}

TEST_F(TransferTest, TransfersBeyondTheLimitAreRefused) {
  // They wait for a command that never comes.
  v1::DownloadRequest request;
  *request.mutable_range() = Range(0, 1);
  request.mutable_range()->set_after_sequence(1000);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::DownloadResponse>>> calls;
  // Calls that are not refused yet do not end: the first that ends tells.
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 300; ++i) {
    contexts.push_back(Context());
    calls.push_back(transfers().Download(contexts.back().get(), request));
  }
  for (auto& call : calls) {
    threads.emplace_back([&refused, &call] {
      v1::DownloadResponse response;
      EXPECT_FALSE(call->Read(&response));
      const grpc::Status status = call->Finish();
      if (status.error_code() == StatusCode::RESOURCE_EXHAUSTED) ++refused;
    });
  }
  while (refused < 300 - 256) std::this_thread::yield();
  for (auto& context : contexts) context->TryCancel();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 300 - 256);
}

class StalledTransferTest : public TransferTest {
 protected:
  absl::Duration StallLimit() const override { return absl::Seconds(2); }
};

TEST_F(StalledTransferTest, ADownloaderThatReadsNothingIsGivenUp) {
  // More than all buffers on the way can hold.
  Batch batch(10);
  batch.Allocate(BufferName(1), 64 * kMiB);
  ASSERT_TRUE(Run(batch).empty());
  v1::TransferRange large = Range(0, 64 * kMiB);
  large.set_buffer(BufferName(1));
  SlowClient stalled;
  stalled.Add(transfers(), Context(), large);
  absl::SleepFor(absl::Seconds(4));
  EXPECT_EQ(stalled.Finish().error_code(), StatusCode::CANCELLED);
  std::string back;
  EXPECT_TRUE(Download(Range(0, kSize), &back).ok());
}

TEST_F(StalledTransferTest, AnUploaderThatSendsNothingIsGivenUp) {
  for (const bool with_header : {false, true}) {
    auto context = Context();
    v1::UploadResponse response;
    auto writer = transfers().Upload(context.get(), &response);
    v1::UploadRequest request;
    *request.mutable_header() = Range(0, kSize);
    if (with_header) {
      ASSERT_TRUE(writer->Write(request));
    }
    // Without WritesDone: the daemon ends the call.
    EXPECT_EQ(writer->Finish().error_code(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(Upload(Range(0, 4), "goes").ok());
}

TEST_F(StalledTransferTest, WaitingForTheDaemonIsNoStall) {
  // Longer than a client may take, for a command that comes late.
  v1::TransferRange range = Range(0, 4);
  range.set_after_sequence(10);
  std::string back;
  std::thread download([&] { EXPECT_TRUE(Download(range, &back).ok()); });
  absl::SleepFor(absl::Seconds(4));
  Batch batch(10);
  batch.Write(StreamName(0), BufferName(0), 0, "late");
  EXPECT_TRUE(Run(batch).empty());
  download.join();
  EXPECT_EQ(back, "late");
}

}  // namespace
}  // namespace holdfast::testing
