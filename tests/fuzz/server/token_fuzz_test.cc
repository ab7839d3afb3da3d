// SPDX-License-Identifier: Apache-2.0
//
// Signed tokens: whatever a client sends is refused with a message that can be
// written anywhere, unless the issuer has signed it; and whatever the issuer
// signs, is taken only if it says what it must.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "server/tenants/signed_token.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast::fuzz {
namespace {

std::vector<std::string> Claims() {
  return {
      R"({"iss":"id","aud":"holdfast","sub":"ci","exp":2000000000})",
      R"({"iss":"id","aud":["x","holdfast"],"sub":"a b","exp":2e9,"nbf":1.5,)"
      R"("groups":["ml","vision"],"x":{"y":[{"z":null}]}})",
      R"({"sub":"\u00e4","groups":"ml","exp":253402300799,"nbf":0,)"
      R"("aud":"holdfast","iss":"id","iat":-1,"jti":"7"})"};
}

std::vector<std::string> Headers() {
  return {R"({"alg":"EdDSA","typ":"JWT"})", R"({"alg":"RS256","kid":"1"})",
          R"({"alg":"none"})", R"({"crit":["b64"],"b64":false,"alg":"EdDSA"})"};
}

std::vector<std::string> Words() {
  return {"\"iss\":", "\"aud\":", "\"sub\":",    "\"exp\":",   "\"nbf\":",
          "\"alg\":", "null",     "\"id\"",      "holdfast",   "EdDSA",
          "1e308",    "-0.0",     "1E-400",      "\\ud800",    "\\u0000",
          "{",        "}",        "[",           "]",          ",",
          ".",        "=",        "\xef\xbf",    "\"groups\"", "9e99",
          "[[[[[[[[", "true",     "253402300800"};
}

class TokenTarget final : public FuzzTarget {
 public:
  TokenTarget() {
    rules_.keys = *ParseTokenKeys(issuer_.public_key());
    rules_.issuer = "id";
    rules_.audience = "holdfast";
    std::vector<std::string> tokens;
    for (const std::string& claims : Claims()) {
      tokens.push_back(issuer_.Sign(claims));
    }
    tokens_ = std::make_unique<ByteMutator>(tokens, Words());
  }

  absl::Status Execute(Random& random) override {
    return random.OneIn(2) ? Forge(random) : Issue(random);
  }

  absl::Status Finish() override {
    HOLDFAST_FUZZ_EXPECT(runs_ < 100 || taken_ > 0, "no token was taken");
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(taken_, " of ", runs_, " signed tokens taken");
  }

 private:
  // A token that is no longer what the issuer has signed.
  absl::Status Forge(Random& random) const {
    const std::string token = tokens_->Make(random);
    const auto verified = VerifyToken(token, rules_);
    if (!verified.ok()) return CheckRefusal(verified.status());
    for (const std::string& claims : Claims()) {
      if (token == issuer_.Sign(claims)) return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("taken: ", token));
  }

  // One that the issuer has signed, whatever it says.
  absl::Status Issue(Random& random) {
    ++runs_;
    const std::string header =
        random.OneIn(4) ? headers_.Make(random) : Headers()[0];
    std::string claims = random.Pick(good_claims_);
    if (random.OneIn(2)) {
      claims_.Edit(&claims, random);
    } else {
      claims = claims_.Make(random);
    }
    const auto verified =
        VerifyToken(issuer_.SignWithHeader(header, claims), rules_);
    if (!verified.ok()) return CheckRefusal(verified.status());
    ++taken_;
    const std::string& subject = verified->identity.subject;
    HOLDFAST_FUZZ_EXPECT(!subject.empty() && subject.size() <= 256, claims);
    HOLDFAST_FUZZ_EXPECT(subject.find('\0') == std::string::npos, claims);
    HOLDFAST_FUZZ_EXPECT(verified->expires < absl::InfiniteFuture() &&
                             verified->expires > absl::UnixEpoch(),
                         claims);
    HOLDFAST_FUZZ_EXPECT(claims.find("holdfast") != std::string::npos ||
                             claims.find("\\u") != std::string::npos,
                         claims);
    return absl::OkStatus();
  }

  static absl::Status CheckRefusal(const absl::Status& status) {
    HOLDFAST_FUZZ_EXPECT(status.code() == absl::StatusCode::kUnauthenticated,
                         status.ToString());
    HOLDFAST_FUZZ_EXPECT(status.message().size() < 4096, status.message());
    HOLDFAST_FUZZ_EXPECT(ToPrintable(status.message()) == status.message(),
                         status.message());
    return absl::OkStatus();
  }

  const TokenIssuer issuer_ = TokenIssuer::FixedEd25519();
  TokenRules rules_;
  std::unique_ptr<ByteMutator> tokens_;
  const std::vector<std::string> good_claims_ = Claims();
  const ByteMutator claims_{good_claims_, Words()};
  const ByteMutator headers_{Headers(), Words()};
  uint64_t runs_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::TokenTarget>();
  });
}
