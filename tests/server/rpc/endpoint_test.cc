// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

TEST(EndpointTest, ReadsWhatItWrites) {
  for (const char* text :
       {"unix:/run/holdfast/holdfast.sock", "tcp:127.0.0.1:7070", "tcp:[::1]:0",
        "tcp:gpu7.example:65535"}) {
    const auto endpoint = Endpoint::Parse(text);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    EXPECT_EQ(endpoint->ToString(), text);
  }
}

TEST(EndpointTest, RefusesWhatIsNoAddress) {
  for (const std::string& text :
       {std::string(), std::string("/run/x.sock"), std::string("unix:"),
        std::string("unix:relative"), std::string("tcp:1234"),
        std::string("tcp::1234"), std::string("tcp:h:65536"),
        std::string("tcp:h:-1"), std::string("tcp:h:"),
        std::string("tcp:[::1:5"), std::string("http://h"),
        "unix:/" + std::string(kMaxSocketPathBytes, 'x')}) {
    EXPECT_EQ(Endpoint::Parse(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(EndpointTest, KnowsLoopback) {
  for (const char* text : {"tcp:127.0.0.1:1", "tcp:127.1.2.3:1", "tcp:[::1]:1",
                           "tcp:localhost:1"}) {
    EXPECT_TRUE(Endpoint::Parse(text)->IsLoopback()) << text;
  }
  for (const char* text :
       {"tcp:0.0.0.0:1", "tcp:[::]:1", "tcp:10.0.0.1:1", "unix:/x",
        "tcp:127.0.0.1.example.com:1", "tcp:127.:1", "tcp:127.0.0.256:1",
        "tcp:localhost.example.com:1"}) {
    EXPECT_FALSE(Endpoint::Parse(text)->IsLoopback()) << text;
  }
}

}  // namespace
}  // namespace holdfast
