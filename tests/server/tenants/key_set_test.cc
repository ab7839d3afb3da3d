// SPDX-License-Identifier: Apache-2.0
//
// Key sets of token issuers: keys that are taken, those that are passed over,
// and files that are refused, with the place.
#include "server/tenants/key_set.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

std::string SetOf(const std::string& keys) {
  return absl::StrCat("{\"keys\": [", keys, "]}");
}

TEST(KeySetTest, KeysOfBothKindsAreTakenWithTheirIds) {
  const TokenIssuer rsa = TokenIssuer::Rsa(), ed = TokenIssuer::Ed25519();
  const std::string text = SetOf(
      absl::StrCat(rsa.Jwk("2026-a", R"("use":"sig","alg":"RS256","x5t":"x")"),
                   ",", ed.Jwk("2026-b")));
  EXPECT_TRUE(IsKeySet(text));
  EXPECT_TRUE(IsKeySet("\n\t " + text));
  EXPECT_FALSE(IsKeySet(rsa.public_key()));
  EXPECT_FALSE(IsKeySet(""));
  const auto keys = ParseKeySet(text);
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].id(), "2026-a");
  EXPECT_EQ((*keys)[0].algorithm(), "RS256");
  EXPECT_TRUE((*keys)[0].Verifies("text", rsa.Signature("text")));
  EXPECT_FALSE((*keys)[0].Verifies("Text", rsa.Signature("text")));
  EXPECT_EQ((*keys)[1].id(), "2026-b");
  EXPECT_EQ((*keys)[1].algorithm(), "EdDSA");
  EXPECT_TRUE((*keys)[1].Verifies("text", ed.Signature("text")));
}

TEST(KeySetTest, KeysForOtherUsesArePassedOver) {
  const TokenIssuer rsa = TokenIssuer::Rsa();
  const std::string others =
      absl::StrCat(rsa.Jwk("enc", R"("use":"enc","alg":"RSA-OAEP")"), ",",
                   rsa.Jwk("pss", R"("alg":"PS256")"), ",",
                   R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"},)",
                   R"({"kty":"OKP","crv":"X25519","x":"AQ"},{"kty":"new"})");
  const auto keys = ParseKeySet(SetOf(others + "," + rsa.Jwk("")));
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ((*keys)[0].id(), "");
  EXPECT_TRUE(absl::StrContains(ParseKeySet(SetOf(others)).status().message(),
                                "no key in it signs tokens"));
}

TEST(KeySetTest, ABadSetIsRefusedWithThePlace) {
  const TokenIssuer ed = TokenIssuer::Ed25519();
  const std::string good = ed.Jwk("a");
  const std::string rsa = TokenIssuer::Rsa().Jwk("r");
  const struct {
    std::string text;
    std::string error;
  } kMistakes[] = {
      {"{\n  \"keys\": [,]}", "2:12: it is no JSON"},
      {"{\"keys\": [", ": it is no JSON"},
      {"{}", "no member 'keys'"},
      {"{\"keys\": 3}", "no member 'keys'"},
      {"{\"keys\": [], \"keys\": []}", "names a member twice"},
      {SetOf(""), "no key in it"},
      {SetOf("3"), "keys[0]: it is no object"},
      {SetOf(good + ",{}"), "keys[1]: it has no 'kty'"},
      {SetOf(good + "," + good), "keys[1] ('a'): another key has the same"},
      {SetOf(absl::StrReplaceAll(good, {{"\"x\"", "\"d\":\"AA\",\"x\""}})),
       "keys[0] ('a'): it is a private or secret key"},
      {SetOf(R"({"kty":"oct","k":"AA"})"), "keys[0]: it is a private"},
      {SetOf(R"({"kty":"OKP","crv":"Ed25519","x":"AAAA"})"),
       "keys[0]: the public key cannot be read"},
      {SetOf(R"({"kty":"OKP","crv":"Ed25519","x":"A=="})"), "in base64url"},
      {SetOf(R"({"kty":"OKP","crv":"Ed25519"})"), "'x' is not 1 to 1024"},
      {SetOf(R"({"kty":"OKP","crv":"Ed25519","kid":7})"),
       "keys[0]: 'kid' is no string"},
      {SetOf(R"({"kty":"RSA","n":"AQAB","e":"AQAB"})"), "an RSA key has 17"},
      {SetOf(absl::StrReplaceAll(rsa, {{"\"AQAB\"", "\"AQ\""}})),
       "'e' is no odd number"},
      {SetOf(absl::StrReplaceAll(rsa, {{"\"AQAB\"", "\"AQAA\""}})),
       "'e' is no odd number"},
      {SetOf(TokenIssuer::Rsa(1024).Jwk("weak")), "has 1024 bits"},
      {SetOf("\"" + std::string(300, '[') + "\""), "keys[0]: it is no object"},
      {std::string(60'000, '{'), ": it is no JSON"},
  };
  for (const auto& [text, error] : kMistakes) {
    const auto status = ParseKeySet(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << text.substr(0, 200);
    EXPECT_TRUE(absl::StrContains(status.message(), error))
        << text.substr(0, 200) << ": " << status;
  }
}

}  // namespace
}  // namespace holdfast
