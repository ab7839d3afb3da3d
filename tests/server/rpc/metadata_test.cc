// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/metadata.h"

#include <grpcpp/test/client_context_test_peer.h>
#include <grpcpp/test/server_context_test_spouse.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/rpc/session_token.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/trace_context.h"

namespace holdfast {
namespace {

using Metadata = std::multimap<std::string, std::string>;

// A client's call.
class MetadataTest : public testing::Test {
 protected:
  void Add(const std::string& key, const std::string& value) {
    client_.AddClientMetadata(key, value);
  }

  Metadata Forwarded() const {
    grpc::ClientContext to;
    ForwardMetadata(context_, &to);
    return grpc::testing::ClientContextTestPeer(&to).GetSendInitialMetadata();
  }

  grpc::ServerContext context_;

 private:
  grpc::testing::ServerContextTestSpouse client_{&context_};
};

TEST_F(MetadataTest, FindsTheValueOfAKey) {
  EXPECT_FALSE(FindMetadata(context_, kTransferKey).has_value());
  Add(kTransferKey.name, "a/1");
  Add(kStepTimesKey.name, "");
  EXPECT_EQ(FindMetadata(context_, kTransferKey), "a/1");
  EXPECT_EQ(FindMetadata(context_, kStepTimesKey), "");
}

TEST_F(MetadataTest, ExecutorsSeeEveryKeyThatTheTableForwards) {
  Metadata sent;
  for (const MetadataKey& key : kMetadataKeys) {
    Add(key.name, "value");
    if (key.passage == MetadataPassage::kForwarded) {
      sent.emplace(key.name, "value");
    }
  }
  EXPECT_EQ(Forwarded(), sent);
}

TEST_F(MetadataTest, ExecutorsSeeNoKeyOfTheDaemonOrTheConnection) {
  Add(kRingsKey.name, std::string(32, '0'));
  Add(kAuthorizationKey.name, "Bearer secret");
  Add("holdfast-unknown", "1");
  Add("x-request-id", "1");
  EXPECT_EQ(Forwarded(), Metadata());
}

TEST_F(MetadataTest, SeveralValuesOfAKeyAreForwardedAsTheyAre) {
  Add(kTraceStateKey.name, "a=1");
  Add(kTraceStateKey.name, "b=2");
  EXPECT_EQ(Forwarded(),
            (Metadata{{"tracestate", "a=1"}, {"tracestate", "b=2"}}));
}

TEST_F(MetadataTest, ValuesOverTheirBoundAreNotRead) {
  const std::string trace =
      "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-";
  Add(kTraceParentKey.name,
      trace + std::string(kTraceParentKey.max_bytes - trace.size() + 1, 'x'));
  Add(kTrailerBytesKey.name,
      std::string(kTrailerBytesKey.max_bytes, '0') + "65536");
  Add(kSessionTokenKey.name, std::string(kSessionTokenKey.max_bytes + 2, '0'));
  EXPECT_EQ(TraceOf(context_).trace_id, "");
  EXPECT_EQ(TrailerBytesOf(context_), kDefaultTrailerBytes);
  EXPECT_EQ(SessionTokenOf(context_).status().code(),
            absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace holdfast
