// SPDX-License-Identifier: Apache-2.0
//
// Messages that are pushed faster than any client reads.
#include "server/rpc/push_stream.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "holdfast/v1/collections.grpc.pb.h"

namespace holdfast {
namespace {

using Stream = PushStream<v1::CollectionChange>;

// Each watch is fed before the client reads.
class Service final : public v1::CollectionService::CallbackService {
 public:
  explicit Service(std::function<void(Stream&)> feed)
      : feed_(std::move(feed)) {}

  grpc::ServerWriteReactor<v1::CollectionChange>* WatchCollections(
      grpc::CallbackServerContext*, const v1::WatchCollectionsRequest*) final {
    auto* const stream = new Stream([] {});
    feed_(*stream);
    return stream;
  }

 private:
  const std::function<void(Stream&)> feed_;
};

// Versions first, first + 1, ...
Stream::Messages Changes(uint64_t first, size_t count) {
  auto changes = std::make_shared<std::vector<v1::CollectionChange>>(count);
  for (v1::CollectionChange& change : *changes) change.set_version(first++);
  return changes;
}

struct Seen {
  std::vector<uint64_t> versions;
  grpc::Status end;
};

// All that a client sees of a stream that is fed so.
Seen Watch(std::function<void(Stream&)> feed) {
  Service service(std::move(feed));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub =
      v1::CollectionService::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  const auto reader = stub->WatchCollections(&context, {});
  Seen seen;
  v1::CollectionChange change;
  while (reader->Read(&change)) seen.versions.push_back(change.version());
  seen.end = reader->Finish();
  server->Shutdown();
  return seen;
}

TEST(PushStreamTest, MessagesOfOnePushCountAsOne) {
  const Seen seen = Watch([](Stream& stream) {
    stream.Push(Changes(1, 2 * Stream::kMaxPending));
    stream.Push(Changes(2 * Stream::kMaxPending + 1, 3));
    stream.Push(Changes(2 * Stream::kMaxPending + 4, 1));
    stream.End(absl::OkStatus());
  });
  EXPECT_TRUE(seen.end.ok()) << seen.end.error_message();
  ASSERT_EQ(seen.versions.size(), 2 * Stream::kMaxPending + 4);
  for (size_t i = 0; i < seen.versions.size(); ++i) {
    ASSERT_EQ(seen.versions[i], i + 1);
  }
}

TEST(PushStreamTest, AClientThatLeavesTooManyPushesUnreadIsEnded) {
  const Seen seen = Watch([](Stream& stream) {
    for (size_t i = 0; i <= Stream::kMaxPending; ++i) {
      stream.Push(v1::CollectionChange());
    }
  });
  EXPECT_EQ(seen.end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace holdfast
