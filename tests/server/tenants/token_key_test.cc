// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/token_key.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

TEST(TokenKeyTest, AFileMayHoldSeveralKeysOfBothKinds) {
  const TokenIssuer rsa = TokenIssuer::Rsa(), ed = TokenIssuer::Ed25519();
  const auto keys = ParseTokenKeys(
      absl::StrCat("The keys of 2026:\n", rsa.public_key(), ed.public_key()));
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].algorithm(), "RS256");
  EXPECT_EQ((*keys)[1].algorithm(), "EdDSA");
  EXPECT_TRUE((*keys)[0].Verifies("text", rsa.Signature("text")));
  EXPECT_TRUE((*keys)[1].Verifies("text", ed.Signature("text")));
  EXPECT_FALSE((*keys)[0].Verifies("text", ed.Signature("text")));
  EXPECT_FALSE((*keys)[1].Verifies("text", rsa.Signature("text")));
}

TEST(TokenKeyTest, ASignatureIsOfOneTextAndOneKey) {
  for (const TokenIssuer& issuer :
       {TokenIssuer::Rsa(), TokenIssuer::Ed25519()}) {
    const auto keys = ParseTokenKeys(issuer.public_key());
    ASSERT_TRUE(keys.ok()) << keys.status();
    const TokenKey& key = keys->front();
    const std::string signature = issuer.Signature("text");
    ASSERT_TRUE(key.Verifies("text", signature));
    EXPECT_FALSE(key.Verifies("Text", signature));
    EXPECT_FALSE(key.Verifies("", signature));
    EXPECT_FALSE(key.Verifies("text", ""));
    EXPECT_FALSE(key.Verifies("text", signature.substr(1)));
    EXPECT_FALSE(key.Verifies("text", signature + '\0'));
    EXPECT_FALSE(key.Verifies("text", std::string(signature.size(), '\0')));
    EXPECT_FALSE(key.Verifies("text", std::string(8192, '\xff')));
    for (const TokenIssuer& other :
         {TokenIssuer::Rsa(), TokenIssuer::Ed25519()}) {
      EXPECT_FALSE(key.Verifies("text", other.Signature("text")));
    }
  }
}

TEST(TokenKeyTest, WhatIsNoGoodPublicKeyIsRefused) {
  const TokenIssuer ed = TokenIssuer::Ed25519();
  const std::string good = ed.public_key();
  const struct {
    std::string pem;
    const char* error;
  } kMistakes[] = {
      {"", "no public key is in it"},
      {"hello", "no public key is in it"},
      {good.substr(0, good.size() / 2), "a block in it is broken"},
      {good + good.substr(0, good.size() / 2), "a block in it is broken"},
      {ed.private_key(), "there is a private key in it"},
      {good + ed.private_key(), "there is a private key in it"},
      {TokenIssuer::Rsa(1024).public_key(), "an RSA key has 1024 bits"},
      {TokenIssuer::EllipticCurve().public_key(), "neither RSA nor Ed25519"},
      {absl::StrReplaceAll(good, {{"PUBLIC KEY", "CERTIFICATE"}}),
       "there is a 'CERTIFICATE' in it"},
      {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
       "a public key cannot be parsed"},
  };
  for (const auto& [pem, error] : kMistakes) {
    const auto keys = ParseTokenKeys(pem);
    EXPECT_EQ(keys.status().code(), absl::StatusCode::kInvalidArgument) << pem;
    EXPECT_TRUE(absl::StrContains(keys.status().message(), error))
        << keys.status();
  }
}

}  // namespace
}  // namespace holdfast
