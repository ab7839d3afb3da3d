// SPDX-License-Identifier: Apache-2.0
//
// Key sets of token issuers: a text is refused with a message that can be
// written anywhere, or it has keys whose ids differ.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "server/tenants/key_set.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast::fuzz {
namespace {

class KeySetTarget final : public FuzzTarget {
 public:
  KeySetTarget() {
    const TokenIssuer ed = TokenIssuer::FixedEd25519();
    // The same in every run, so that a seed repeats a run.
    const std::string rsa = absl::StrCat(
        R"({"kty":"RSA","kid":"a","use":"sig","e":"AQAB","n":")",
        absl::WebSafeBase64Escape(std::string(256, '\xc5')), "\"}");
    sets_ = std::make_unique<ByteMutator>(
        std::vector<std::string>{absl::StrCat("{\"keys\":[", ed.Jwk("a"), "]}"),
                                 absl::StrCat("{\"keys\":[", rsa, ",\n",
                                              ed.Jwk("b"), "],\"x\":{}}")},
        std::vector<std::string>{"\"kty\":",
                                 "\"RSA\"",
                                 "\"OKP\"",
                                 "\"crv\":",
                                 "\"Ed25519\"",
                                 "\"n\":",
                                 "\"e\":",
                                 "\"x\":",
                                 "\"d\":",
                                 "\"kid\":",
                                 "\"a\"",
                                 "\"AQAB\"",
                                 "\"\"",
                                 "null",
                                 "7",
                                 "{",
                                 "}",
                                 "[",
                                 "]",
                                 ",",
                                 "\\ud800",
                                 "\xef\xbf",
                                 "\"use\":\"enc\""});
  }

  absl::Status Execute(Random& random) override {
    const std::string text = sets_->Make(random);
    const auto keys = ParseKeySet(text);
    if (!keys.ok()) return CheckRefusal(keys.status());
    ++taken_;
    HOLDFAST_FUZZ_EXPECT(IsKeySet(text), text);
    HOLDFAST_FUZZ_EXPECT(!keys->empty(), text);
    std::set<std::string> ids;
    for (const TokenKey& key : *keys) {
      HOLDFAST_FUZZ_EXPECT(key.id().empty() || ids.insert(key.id()).second,
                           text);
      HOLDFAST_FUZZ_EXPECT(!key.Verifies("text", "signature"), text);
    }
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(taken_, " sets taken");
  }

 private:
  static absl::Status CheckRefusal(const absl::Status& status) {
    HOLDFAST_FUZZ_EXPECT(status.code() == absl::StatusCode::kInvalidArgument,
                         status.ToString());
    HOLDFAST_FUZZ_EXPECT(status.message().size() < 4096, status.message());
    HOLDFAST_FUZZ_EXPECT(ToPrintable(status.message()) == status.message(),
                         status.message());
    return absl::OkStatus();
  }

  std::unique_ptr<ByteMutator> sets_;
  uint64_t taken_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::KeySetTarget>();
  });
}
