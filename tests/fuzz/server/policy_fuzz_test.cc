// SPDX-License-Identifier: Apache-2.0
//
// Policy files: whatever one holds, the daemon gets a policy within its limits
// or an error that says where in the file it is wrong.
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/tenants/policy_file.h"
#include "server/tenants/tenant_name.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast::fuzz {
namespace {

// `key` is the path of a file with a public key.
std::vector<std::string> Corpus(const std::string& key) {
  return {R"(unnamed = "refuse"
[operators]
users = ["root", 7]
certificates = ["CN=ops"]
[tenants.a]
users = [1, 2, 3]
groups = [4]
certificates = ["x"]
weight = 3
devices = [1, 0]
collections = ["b"]
[tenants.a.quota]
device-memory = "8GiB"
pinned-memory = 4096
sessions = 4
)",
          R"(tenants = { a = { users = [1], quota = { handles = 9 } }, b = {} }
)",
          R"([tenants]
"b".groups = [0x10, 0o17, 0b1]
'c' = { collections = """everybody""", weight = 1_0 }
# [tenants.d]
)",
          "unnamed = \"serve\"\n",
          absl::StrCat("[tokens]\nkeys = [\"", key, R"("]
issuer = "https://id.example"
audience = "holdfast"
leeway = 30
groups-claim = "groups"
[tenants.a]
subjects = ["ci", "ann"]
token-groups = ["ml"]
)")};
}

std::vector<std::string> Dictionary() {
  return {"[tenants.", "[[tenants]]", "users = [", "quota",       "= {",
          "\"8GiB\"",  "1979-05-27",  "inf",       "nan",         "0x",
          "\"\"\"",    "'''",         "\\u0000",   "\\UFFFFFFFF", "1e400",
          "]",         "}",           "[",         "devices",     "weight"};
}

class PolicyTarget final : public FuzzTarget {
 public:
  PolicyTarget() {
    std::ofstream(directory_ + "/key.pem")
        << TokenIssuer::FixedEd25519().public_key();
  }
  ~PolicyTarget() override { std::filesystem::remove_all(directory_); }

  absl::Status Execute(Random& random) override {
    const auto policy = ParsePolicy(mutator_.Make(random), "policy.toml");
    if (!policy.ok()) {
      HOLDFAST_FUZZ_EXPECT(
          absl::StartsWith(policy.status().message(), "policy.toml:"),
          policy.status().message());
      return absl::OkStatus();
    }
    ++accepted_;
    for (const TenantPolicy& tenant : policy->tenants) {
      HOLDFAST_FUZZ_EXPECT(CheckTenantName(tenant.name).ok(), tenant.name);
      HOLDFAST_FUZZ_EXPECT(tenant.weight >= 1 && tenant.weight <= 1000,
                           tenant.weight);
      HOLDFAST_FUZZ_EXPECT(tenant.devices.size() <= 256, tenant.name);
    }
    for (const auto& [uid, tenant] : policy->tenant_of.users) {
      HOLDFAST_FUZZ_EXPECT(tenant < policy->tenants.size(), uid);
      HOLDFAST_FUZZ_EXPECT(policy->tenant_of.Find(UserIdentity{.uid = uid}) ==
                               static_cast<int64_t>(tenant),
                           uid);
    }
    if (policy->tokens == nullptr) {
      HOLDFAST_FUZZ_EXPECT(policy->tenant_of.subjects.empty(), "no keys");
      return absl::OkStatus();
    }
    ++with_tokens_;
    const TokenRules& rules = policy->tokens->rules();
    HOLDFAST_FUZZ_EXPECT(
        !rules.keys.empty() && rules.keys.size() <= kMaxTokenKeys,
        rules.keys.size());
    HOLDFAST_FUZZ_EXPECT(!rules.issuer.empty() && !rules.audience.empty(),
                         rules.issuer);
    HOLDFAST_FUZZ_EXPECT(rules.leeway >= absl::ZeroDuration() &&
                             rules.leeway <= absl::Minutes(5),
                         absl::FormatDuration(rules.leeway));
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(accepted_, " files accepted, ", with_tokens_,
                        " of them with tokens");
  }

 private:
  static std::string MakeDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "policy-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }

  const std::string directory_ = MakeDirectory();
  const ByteMutator mutator_{Corpus(directory_ + "/key.pem"), Dictionary()};
  uint64_t accepted_ = 0;
  uint64_t with_tokens_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::PolicyTarget>();
  });
}
