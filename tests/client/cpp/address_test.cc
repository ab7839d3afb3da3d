// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/address.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"

namespace holdfast {
namespace {

using Kind = Address::Kind;

void ExpectRefused(const std::string& text, const std::string& why) {
  const auto address = Address::Parse(text);
  ASSERT_FALSE(address.ok()) << text;
  EXPECT_TRUE(absl::StrContains(address.status().message(), why))
      << address.status();
  EXPECT_TRUE(absl::StrContains(address.status().message(), "unix:PATH"))
      << address.status();
}

TEST(AddressTest, EveryForm) {
  EXPECT_EQ(Address::Parse("unix:/run/x.sock")->target, "/run/x.sock");
  EXPECT_EQ(Address::Parse("tcp:localhost:50051")->target, "localhost:50051");
  EXPECT_EQ(Address::Parse("tcp:[::1]:50051")->target, "[::1]:50051");
  const auto tls = Address::Parse("tls:gpu7:443?ca=/c.pem&name=gpu");
  ASSERT_TRUE(tls.ok()) << tls.status();
  EXPECT_EQ(tls->kind, Kind::kTls);
  EXPECT_EQ(tls->target, "gpu7:443");
  EXPECT_EQ(tls->options.at("ca"), "/c.pem");
  EXPECT_EQ(tls->options.at("name"), "gpu");
  EXPECT_EQ(Address::Parse("embedded:")->kind, Kind::kEmbedded);
  EXPECT_EQ(Address::Parse("embedded:device=cpu,log-level=debug")
                ->options.at("device"),
            "cpu");
}

TEST(AddressTest, MalformedAddressesSayWhatIsWrong) {
  ExpectRefused("", "unknown form");
  ExpectRefused("/run/x.sock", "unknown form");
  ExpectRefused("unix:", "no path");
  ExpectRefused("unix:/" + std::string(107, 'x'),
                "108 bytes, the limit is 107");
  ExpectRefused("localhost:7070", "did you mean tcp:localhost:7070?");
  ExpectRefused("/tmp/h.sock", "did you mean unix:/tmp/h.sock?");
  ExpectRefused("https://gpu:443", "did you mean tls:gpu:443?");
  ExpectRefused("embedded", "did you mean embedded:?");
  ExpectRefused("tcp:localhost", "HOST:PORT");
  ExpectRefused("tcp::80", "HOST:PORT");
  ExpectRefused("tcp:localhost:http", "not a port");
  ExpectRefused("tcp:localhost:65536", "not a port");
  ExpectRefused("tcp:localhost:0", "not a port");
  ExpectRefused("tcp:::1:80", "brackets");
  ExpectRefused("tls:h:1?password=x", "\"password=x\" is not one of");
  ExpectRefused("embedded:device", "\"device\" is not one of");
}

TEST(CommandToStartTest, NamesAnySocketButTheDefault) {
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto command = [](const std::string& text) {
    return CommandToStart(Address::Parse(text).value());
  };
  EXPECT_EQ(command("unix:/tmp/my/socket"),
            "holdfastd --listen=unix:/tmp/my/socket");
  EXPECT_EQ(command("unix:/run/user/7/holdfast/holdfast.sock"), "holdfastd");
  EXPECT_EQ(command("tcp:host:7070"), "holdfastd");
  unsetenv("XDG_RUNTIME_DIR");
}

TEST(DefaultAddressTest, EnvironmentThenTheSystemsSocketThenTheUsers) {
  setenv("HOLDFAST_ADDRESS", "tcp:localhost:1", 1);
  EXPECT_EQ(DefaultAddress(), "tcp:localhost:1");
  unsetenv("HOLDFAST_ADDRESS");
  if (access("/run/holdfast/holdfast.sock", F_OK) == 0) {
    EXPECT_EQ(DefaultAddress(), "unix:/run/holdfast/holdfast.sock");
    return;
  }
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  EXPECT_EQ(DefaultAddress(), "unix:/run/user/7/holdfast/holdfast.sock");
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_TRUE(absl::StartsWith(DefaultAddress(), "unix:/tmp/holdfast-"));
}

}  // namespace
}  // namespace holdfast
