// SPDX-License-Identifier: Apache-2.0
//
// Signed tokens: which are taken, and each way in which one can be wrong.
#include "server/tenants/signed_token.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/tenants/key_set.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

constexpr char kClaims[] =
    R"({"iss":"https://id.example","aud":"holdfast","sub":"ci@example",)"
    R"("exp":2000000000,"nbf":1900000000})";

constexpr char kRsaHeader[] = R"({"alg":"RS256"})";

// The claims with one part replaced.
std::string Claims(absl::string_view before, absl::string_view after) {
  EXPECT_TRUE(absl::StrContains(kClaims, before)) << before;
  return absl::StrReplaceAll(kClaims, {{before, after}});
}

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

class SignedTokenTest : public testing::Test {
 protected:
  // Keys take time to make.
  static void SetUpTestSuite() {
    rsa_ = new TokenIssuer(TokenIssuer::Rsa());
    ed_ = new TokenIssuer(TokenIssuer::Ed25519());
  }

  static TokenRules Rules(const std::string& pem) {
    TokenRules rules;
    rules.keys = *ParseTokenKeys(pem);
    rules.issuer = "https://id.example";
    rules.audience = "holdfast";
    return rules;
  }

  void ExpectWrong(const std::string& token, absl::string_view error) {
    ExpectWrong(token, rules_, error);
  }
  static void ExpectWrong(const std::string& token, const TokenRules& rules,
                          absl::string_view error) {
    const absl::Status status = VerifyToken(token, rules).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << token;
    EXPECT_TRUE(absl::StrContains(status.message(), error)) << status << "\n"
                                                            << error;
  }

  static TokenIssuer* rsa_;
  static TokenIssuer* ed_;
  const TokenRules rules_ = Rules(rsa_->public_key() + ed_->public_key());
};

TokenIssuer* SignedTokenTest::rsa_ = nullptr;
TokenIssuer* SignedTokenTest::ed_ = nullptr;

TEST_F(SignedTokenTest, ATokenOfEitherAlgorithmTellsItsSubjectAndTimes) {
  for (const TokenIssuer* const issuer : {rsa_, ed_}) {
    const auto token = VerifyToken(issuer->Sign(kClaims), rules_);
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(token->identity.subject, "ci@example");
    EXPECT_TRUE(token->identity.groups.empty());
    EXPECT_EQ(token->expires, At(2000000030));
    EXPECT_EQ(token->not_before, At(1899999970));
  }
}

TEST_F(SignedTokenTest, AKeyIdSelectsTheKeyOfASet) {
  const TokenIssuer next = TokenIssuer::Ed25519();
  TokenRules rules = rules_;
  rules.keys =
      *ParseKeySet(absl::StrCat("{\"keys\":[", ed_->Jwk("a"), ",",
                                next.Jwk("b"), ",", rsa_->Jwk("r"), "]}"));
  const auto sign = [](const TokenIssuer& issuer, absl::string_view id) {
    return issuer.SignWithHeader(
        absl::StrCat(R"({"alg":"EdDSA","kid":)", id, "}"), kClaims);
  };
  EXPECT_TRUE(VerifyToken(sign(*ed_, "\"a\""), rules).ok());
  EXPECT_TRUE(VerifyToken(sign(next, "\"b\""), rules).ok());
  // Without one, each key of the algorithm is tried.
  EXPECT_TRUE(VerifyToken(next.Sign(kClaims), rules).ok());
  EXPECT_TRUE(VerifyToken(rsa_->Sign(kClaims), rules).ok());
  ExpectWrong(sign(next, "\"a\""), rules, "signed by none of the policy's");
  ExpectWrong(sign(next, "\"c\""), rules, "policy does not have: 'c'");
  ExpectWrong(sign(next, "\"\""), rules, "policy does not have: ''");
  // It is a key of another algorithm.
  ExpectWrong(sign(*ed_, "\"r\""), rules, "policy does not have: 'r'");
  ExpectWrong(sign(*ed_, "7"), rules, "'kid' that is no string");
  // Keys of PEM files have no id, so they may go by any.
  EXPECT_TRUE(VerifyToken(sign(*ed_, "\"any\""), rules_).ok());
}

TEST_F(SignedTokenTest, GroupsAreOneOrSeveralAndOfTheClaimThatIsNamed) {
  TokenRules rules = rules_;
  rules.groups_claim = "https://id.example/teams";
  const auto groups = [&](absl::string_view value) {
    return VerifyToken(
        ed_->Sign(Claims(
            "\"aud\"",
            absl::StrCat("\"groups\":[\"x\"],\"https://id.example/teams\":",
                         value, ",\"aud\""))),
        rules);
  };
  EXPECT_EQ(groups(R"("ml")")->identity.groups,
            (std::vector<std::string>{"ml"}));
  EXPECT_EQ(groups(R"(["ml","a b"])")->identity.groups,
            (std::vector<std::string>{"ml", "a b"}));
  EXPECT_TRUE(groups("[]")->identity.groups.empty());
  for (const char* const wrong : {"7", "{}", "null", "[7]", "[[]]", "true"}) {
    EXPECT_EQ(groups(wrong).status().code(),
              absl::StatusCode::kUnauthenticated);
  }
}

TEST_F(SignedTokenTest, ATokenHoldsBetweenItsTimesAndNotBeyond) {
  const auto token = VerifyToken(ed_->Sign(kClaims), rules_);
  ASSERT_TRUE(token.ok()) << token.status();
  const absl::Duration step = absl::Nanoseconds(1);
  EXPECT_FALSE(CheckTime(*token, token->not_before - step).ok());
  EXPECT_TRUE(CheckTime(*token, token->not_before).ok());
  EXPECT_TRUE(CheckTime(*token, At(1950000000)).ok());
  EXPECT_TRUE(CheckTime(*token, token->expires - step).ok());
  EXPECT_FALSE(CheckTime(*token, token->expires).ok());
  EXPECT_EQ(CheckTime(*token, absl::InfiniteFuture()).message(),
            "the token has expired");
  EXPECT_EQ(CheckTime(*token, absl::UnixEpoch()).message(),
            "the token is not valid yet");
}

TEST_F(SignedTokenTest, ATokenThatNeverExpiresIsRefused) {
  ExpectWrong(ed_->Sign(Claims("\"exp\":2000000000,", "")), "never expires");
  const auto unbounded =
      VerifyToken(ed_->Sign(Claims(",\"nbf\":1900000000", "")), rules_);
  ASSERT_TRUE(unbounded.ok()) << unbounded.status();
  EXPECT_TRUE(CheckTime(*unbounded, absl::UnixEpoch()).ok());
}

TEST_F(SignedTokenTest, TimesAreNumbersWithinTheCalendar) {
  for (const char* const wrong :
       {"\"2000000000\"", "null", "true", "[]", "{}", "-1", "1e300",
        "18446744073709551616", "253402300800"}) {
    ExpectWrong(ed_->Sign(Claims("\"exp\":2000000000",
                                 absl::StrCat("\"exp\":", wrong))),
                "'exp'");
    ExpectWrong(ed_->Sign(Claims("\"nbf\":1900000000",
                                 absl::StrCat("\"nbf\":", wrong))),
                "'nbf'");
  }
  // Numbers beyond those of the machine are no JSON to the parser.
  ExpectWrong(ed_->Sign(Claims("2000000000", "1e400")), "payload");
  EXPECT_TRUE(
      VerifyToken(ed_->Sign(Claims("2000000000", "2000000000.5")), rules_)
          .ok());
}

TEST_F(SignedTokenTest, TheIssuerAndTheAudienceMustBeOurs) {
  ExpectWrong(ed_->Sign(Claims("https://id.example", "https://id.example/")),
              "is of the issuer 'https://id.example/'");
  ExpectWrong(ed_->Sign(Claims("\"https://id.example\"", "null")), "'iss'");
  ExpectWrong(ed_->Sign(Claims("\"iss\":\"https://id.example\",", "")),
              "'iss'");
  for (const char* const wrong :
       {"\"Holdfast\"", "\"\"", "[]", "[\"other\"]", "[\"holdfast\",7]", "{}",
        "null", "{\"0\":\"holdfast\"}"}) {
    ExpectWrong(ed_->Sign(Claims("\"holdfast\"", wrong)), "au");
  }
  ExpectWrong(ed_->Sign(Claims("\"aud\":\"holdfast\",", "")), "no audience");
  EXPECT_TRUE(
      VerifyToken(ed_->Sign(Claims("\"holdfast\"", "[\"x\",\"holdfast\"]")),
                  rules_)
          .ok());
}

TEST_F(SignedTokenTest, TheSubjectIsANameThatCanBeWritten) {
  for (const std::string& wrong :
       {std::string("\"\""), std::string("null"), std::string("7"),
        std::string("[\"ci@example\"]"), std::string("\"a\\nb\""),
        std::string("\"a\\u0000\""), std::string("\"\\u007f\""),
        absl::StrCat("\"", std::string(257, 'a'), "\"")}) {
    ExpectWrong(ed_->Sign(Claims("\"ci@example\"", wrong)), "su");
  }
  EXPECT_TRUE(
      VerifyToken(ed_->Sign(Claims("ci@example", std::string(256, 'a'))),
                  rules_)
          .ok());
}

TEST_F(SignedTokenTest, AnAlgorithmGoesWithOneKindOfKey) {
  const std::string none = Unsigned(R"({"alg":"none"})", kClaims);
  ExpectWrong(none + ".", "names an algorithm");
  ExpectWrong(none + ".AAAA", "names an algorithm");
  // The public key taken for a shared secret.
  const std::string secret = rsa_->public_key();
  const std::string text = Unsigned(R"({"alg":"HS256"})", kClaims);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac,
       &size);
  const absl::string_view bytes(reinterpret_cast<char*>(mac), size);
  for (const char* const name : {"HS256", "RS256", "EdDSA", "hs256"}) {
    const std::string header = absl::StrCat("{\"alg\":\"", name, "\"}");
    ExpectWrong(absl::StrCat(Unsigned(header, kClaims), ".",
                             absl::WebSafeBase64Escape(bytes)),
                "the token");
  }
  ExpectWrong(absl::StrCat(text, ".", absl::WebSafeBase64Escape(bytes)),
              "'HS256'");
  // One key's signature under the other's name; other names of the same key.
  ExpectWrong(rsa_->SignWithHeader(R"({"alg":"EdDSA"})", kClaims), "none of");
  ExpectWrong(ed_->SignWithHeader(kRsaHeader, kClaims), "none of");
  for (const char* const name : {"RS384", "PS256", "rs256", "", "Ed25519"}) {
    ExpectWrong(
        rsa_->SignWithHeader(absl::StrCat("{\"alg\":\"", name, "\"}"), kClaims),
        "names an algorithm");
  }
  // Only the algorithms of the keys that are there.
  ExpectWrong(ed_->Sign(kClaims), Rules(rsa_->public_key()), "'EdDSA'");
}

TEST_F(SignedTokenTest, OnlyTheIssuersKeysSign) {
  ExpectWrong(TokenIssuer::Rsa().Sign(kClaims), "none of the policy's keys");
  ExpectWrong(TokenIssuer::Ed25519().Sign(kClaims), "none of the policy's");
  // A key that the token brings along is not looked at.
  ExpectWrong(TokenIssuer::Ed25519().SignWithHeader(
                  R"({"alg":"EdDSA","jku":"https://evil.example",)"
                  R"("jwk":{"kty":"OKP"},"kid":"../../dev/null"})",
                  kClaims),
              "none of the policy's keys");
  EXPECT_TRUE(
      VerifyToken(ed_->SignWithHeader(R"({"kid":"any","alg":"EdDSA","x":[1]})",
                                      kClaims),
                  rules_)
          .ok());
}

TEST_F(SignedTokenTest, NoPartOfATokenCanBeChanged) {
  const std::string token = ed_->Sign(kClaims);
  const size_t dots[] = {token.find('.'), token.rfind('.')};
  for (size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    ExpectWrong(changed, "the token");
    ExpectWrong(token.substr(0, i), "the token");
  }
  // Another's claims, with this signature.
  const std::string other = ed_->Sign(Claims("ci@example", "root"));
  ExpectWrong(other.substr(0, other.rfind('.')) + token.substr(dots[1]),
              "none of the policy's keys");
  ExpectWrong(token + ".", "has 4 parts");
  ExpectWrong(token + "=", "base64url");
  ExpectWrong(token + "\n", "base64url");
  ExpectWrong(" " + token, "base64url");
  ExpectWrong(token.substr(0, dots[0]) + "=" + token.substr(dots[0]),
              "base64url");
  // A token in base64 instead of base64url.
  ExpectWrong(absl::StrCat("+/+/.", token.substr(dots[0] + 1)), "base64url");
}

TEST_F(SignedTokenTest, AMemberThatStandsTwiceIsRefused) {
  ExpectWrong(ed_->Sign(Claims("\"aud\"", "\"sub\":\"root\",\"aud\"")),
              "payload that names a member twice");
  ExpectWrong(ed_->Sign(Claims("\"aud\"", "\"\\u0073ub\":\"root\",\"aud\"")),
              "payload that names a member twice");
  ExpectWrong(ed_->Sign(Claims("\"aud\"", "\"x\":[{\"a\":1,\"a\":1}],\"aud\"")),
              "payload that names a member twice");
  ExpectWrong(ed_->SignWithHeader(R"({"alg":"EdDSA","alg":"none"})", kClaims),
              "header that names a member twice");
  EXPECT_TRUE(
      VerifyToken(ed_->Sign(Claims("\"aud\"", "\"x\":{\"sub\":1},\"aud\"")),
                  rules_)
          .ok());
}

TEST_F(SignedTokenTest, PartsThatAreNoObjectsAreRefused) {
  for (const std::string& wrong :
       {std::string(), std::string("null"), std::string("[]"), std::string("7"),
        std::string("\"x\""), std::string("{"), std::string("{}}"),
        std::string("{\"a\":\"\xff\"}"), std::string(3000, '['),
        std::string(kClaims) + kClaims, std::string("/* */") + kClaims,
        std::string("{'alg':'EdDSA'}")}) {
    ExpectWrong(ed_->Sign(wrong), "payload");
    ExpectWrong(ed_->SignWithHeader(wrong, kClaims), "header");
  }
  ExpectWrong(ed_->SignWithHeader("{}", kClaims), "names no algorithm");
  ExpectWrong(ed_->SignWithHeader(R"({"alg":["EdDSA"]})", kClaims),
              "names no algorithm");
  // An extension that the token says must be understood.
  ExpectWrong(ed_->SignWithHeader(
                  R"({"alg":"EdDSA","b64":false,"crit":["b64"]})", kClaims),
              "'crit'");
  for (const char* const wrong : {"", ".", "..", "...", "a.b.c", "eyJ9"}) {
    ExpectWrong(wrong, "the token");
  }
}

}  // namespace
}  // namespace holdfast
