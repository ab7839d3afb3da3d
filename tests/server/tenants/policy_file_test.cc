// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/policy_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

constexpr char kPolicy[] = R"(
unnamed = "refuse"
foreign-exports = false

[operators]
users = ["root", 7]
groups = [8]
certificates = ["CN=ops,O=Example"]

[groups.inference]
concurrency = "shared"
pipe-directory = "/run/mps"

[groups.training]
concurrency = "separate"

[groups.batch]
concurrency = "shared"
thread-percentage = 25
temporary-tenants = true

[tenants.team-b]
group = "training"
thread-percentage = 25
groups = [20]
collections = "everybody"

[tenants.team-a]
users = [1000]
groups = [30, "root"]
certificates = ["trainer.example"]
weight = 3
stream-priorities = "high"
group = "inference"
thread-percentage = 75
kernel-time-limit = "1.5s"
devices = [1, 0]
collections = ["team-b", "uid 7"]
foreign-exports = true
reserved-memory = "4GiB"

[tenants.team-a.quota]
device-memory = "8GiB"
pinned-memory = 4096
arena-memory = "1MiB"
collection-memory = "2TiB"
sessions = 4
handles = 100
outstanding-commands = 1000
compile-seconds = 600
compile-requests = 2
)";

UserIdentity User(uid_t uid, gid_t gid, std::vector<gid_t> groups = {}) {
  return {.uid = uid, .gid = gid, .groups = std::move(groups)};
}

TEST(PolicyFileTest, ReadsWhatItSaysOfEachTenant) {
  const auto policy = ParsePolicy(kPolicy, "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_FALSE(policy->serves_unnamed);
  // In the file's order, not the alphabet's.
  ASSERT_EQ(policy->tenants.size(), 2u);
  EXPECT_EQ(policy->tenants[0].name, "team-b");
  EXPECT_TRUE(policy->tenants[0].collections.everybody());
  EXPECT_FALSE(policy->tenants[0].foreign_exports);
  EXPECT_EQ(policy->tenants[0].weight, 1u);
  const TenantPolicy& team = policy->tenants[1];
  EXPECT_EQ(team.name, "team-a");
  EXPECT_EQ(team.weight, 3u);
  EXPECT_TRUE(team.foreign_exports);
  EXPECT_EQ(team.kernel_time_limit, absl::Milliseconds(1500));
  EXPECT_EQ(team.devices, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(team.collections.clients(0), "team-b");
  EXPECT_EQ(team.quota.device_bytes(), uint64_t{8} << 30);
  EXPECT_EQ(team.quota.pinned_bytes(), 4096u);
  EXPECT_EQ(team.quota.arena_bytes(), 1u << 20);
  EXPECT_EQ(team.quota.collection_bytes(), uint64_t{2} << 40);
  EXPECT_EQ(team.quota.sessions(), 4u);
  EXPECT_EQ(team.quota.handles(), 100u);
  EXPECT_EQ(team.quota.outstanding_commands(), 1000u);
  EXPECT_EQ(team.quota.compile_time().seconds(), 600);
  EXPECT_EQ(team.quota.compile_requests(), 2u);
  EXPECT_EQ(team.reserved_device_bytes, uint64_t{4} << 30);
  EXPECT_EQ(team.stream_priorities, v1::STREAM_PRIORITY_CLASS_HIGH);
  EXPECT_EQ(team.concurrency, (Concurrency{.group = "inference",
                                           .pipe_directory = "/run/mps",
                                           .thread_percentage = 75}));
  EXPECT_EQ(policy->tenants[0].concurrency, Concurrency());
  const Concurrency batch = {.group = "batch", .thread_percentage = 25};
  EXPECT_EQ(policy->temporary_groups,
            (std::map<std::string, Concurrency>{{"batch", batch}}));
  EXPECT_EQ(SharingOf(*policy),
            (std::vector<Concurrency>{team.concurrency, batch}));
  EXPECT_TRUE(policy->overcommit);
}

TEST(PolicyFileTest, ATenantHasThePercentageOfItsGroupUnlessItHasItsOwn) {
  const auto policy = ParsePolicy(
      "[groups.g]\nconcurrency = \"shared\"\nthread-percentage = 25\n"
      "[tenants.a]\ngroup = \"g\"\n"
      "[tenants.b]\ngroup = \"g\"\nthread-percentage = 50\n",
      "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->tenants[0].concurrency.thread_percentage, 25u);
  EXPECT_EQ(policy->tenants[1].concurrency.thread_percentage, 50u);
}

TEST(PolicyFileTest, ReservationsAreComparedWithTheDevices) {
  const auto policy = ParsePolicy(R"(
[tenants.a]
reserved-memory = 60
[tenants.b]
devices = [1]
reserved-memory = 41
)",
                                  "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_TRUE(NeedsDevices(*policy));
  EXPECT_FALSE(NeedsDevices({}));
  EXPECT_TRUE(CheckDevices(*policy, {{0, 100}, {1, 101}}).ok());
  const absl::Status wrong = CheckDevices(*policy, {{0, 100}, {1, 100}});
  EXPECT_TRUE(absl::StartsWith(wrong.message(),
                               "policy.toml:6:19: tenant b reserves 41 bytes "
                               "of device 1"))
      << wrong;
}

TEST(PolicyFileTest, WithoutOvercommitQuotasAreComparedWithTheDevices) {
  const std::string text = R"(
overcommit = false
[tenants.a.quota]
device-memory = 100
[tenants.b.quota]
device-memory = 101
)";
  const auto policy = ParsePolicy(text, "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_TRUE(NeedsDevices(*policy));
  EXPECT_TRUE(CheckDevices(*policy, {{0, 101}, {1, 101}}).ok());
  const absl::Status wrong = CheckDevices(*policy, {{0, 101}, {1, 100}});
  EXPECT_TRUE(absl::StrContains(
      wrong.message(), "tenant b has, without overcommit, a quota of 51"))
      << wrong;
  EXPECT_TRUE(absl::StartsWith(wrong.message(), "policy.toml:5:")) << wrong;
}

TEST(PolicyFileTest, AUserGoesBeforeItsGroupsAndTheFirstTenantsGroupCounts) {
  const auto policy = ParsePolicy(kPolicy, "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  const IdentityMap& map = policy->tenant_of;
  EXPECT_EQ(map.Find(User(1000, 20)), 1);
  EXPECT_EQ(map.Find(User(1, 20)), 0);
  EXPECT_EQ(map.Find(User(1, 30, {1, 20})), 0);
  EXPECT_EQ(map.Find(User(1, 1, {30})), 1);
  EXPECT_EQ(map.Find(User(1, 0)), 1);
  EXPECT_EQ(map.Find(User(1, 1)), -1);
  EXPECT_EQ(map.Find(CertificateIdentity{
                .subject = "",
                .common_name = "x",
                .alternative_names = {"y", "trainer.example"}}),
            1);
  EXPECT_EQ(map.Find(CertificateIdentity{.common_name = "y"}), -1);
  EXPECT_EQ(map.Find(AddressIdentity{"trainer.example"}), -1);
  EXPECT_EQ(policy->operators.Find(User(0, 1)), 0);
  EXPECT_EQ(policy->operators.Find(User(1, 1, {8})), 0);
  EXPECT_EQ(policy->operators.Find(
                CertificateIdentity{.subject = "CN=ops,O=Example"}),
            0);
}

TEST(PolicyFileTest, AnEmptyFileRefusesWhoeverIsNotAnOperator) {
  const auto policy = ParsePolicy("", "policy.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_FALSE(policy->serves_unnamed);
  EXPECT_EQ(policy->tenant_of.Find(User(0, 0)), -1);
}

TEST(PolicyFileTest, AMistakeIsToldWithItsPlace) {
  const struct {
    const char* text;
    const char* error;
  } kMistakes[] = {
      {"unnamed = 1", "policy.toml:1:11: a string is wanted"},
      {"\nunnamed = \"maybe\"", "policy.toml:2:11: \"refuse\" or \"serve\""},
      {"tennants = {}",
       "policy.toml:1:1: unknown key 'tennants'; did you mean tenants? "},
      {"[tenants.a]\nquotas = {}", "policy.toml:2:1: unknown key 'quotas'"},
      {"[tenants.a]\nweight = 0", "policy.toml:2:10: a number from 1 to 1000"},
      {"[tenants.a]\nweight = -1", "policy.toml:2:10"},
      {"[tenants.a]\nkernel-time-limit = 2", "2:21: a time is wanted"},
      {"[tenants.a]\nkernel-time-limit = \"0\"", "2:21: a time is wanted"},
      {"[tenants.a]\nkernel-time-limit = \"0.5ns\"", "2:21: a time is wanted"},
      {"[tenants.a]\nkernel-time-limit = \"2d\"", "2:21: a time is wanted"},
      {"[tenants.a]\nkernel-time-limit = \"-1s\"", "2:21: a time is wanted"},
      {"[tenants.a]\nusers = 7", "policy.toml:2:9: an array is wanted"},
      {"[tenants.a]\nreserved-memory = 0", "2:19: a number from 1"},
      {"[tenants.a]\nreserved-memory = \"8GB\"", "2:19: '8GB' is no size"},
      {"[tenants.a]\nreserved-memory = 9\nquota = {device-memory = 8}",
       "2:19: 9 bytes are reserved"},
      {"[tenants.a.quota]\ncompile-seconds = 0", "2:19: a number from 1"},
      {"overcommit = \"no\"", "1:14: true or false is wanted"},
      {"unnamed = \"serve\"\novercommit = false", "2:14: there is overcommit"},
      {"overcommit = false\n[tenants.a]\nweight = 2",
       "2:10: without overcommit a tenant needs"},
      {"[tenants.a]\nusers = [\"no such user\"]", "no user 'no such user'"},
      {"[tenants.a]\ngroups = [\"no such group\"]", "no group"},
      {"[tenants.a]\nusers = [7]\n[tenants.b]\nusers = [7]",
       "policy.toml:4:10: this identity is named before"},
      {"[tenants.a]\ndevices = []", "no devices"},
      {"[tenants.a]\ndevices = [1, 1]", "policy.toml:2:15: device 1 is named"},
      {"[tenants.a.quota]\ndevice-memory = \"8GB\"", "'8GB' is no size"},
      {"[tenants.a.quota]\ndevice-memory = \"99999999TiB\"", "is no size"},
      {"[tenants.a.quota]\nsessions = 0", "policy.toml:2:12"},
      {"[tenants.a]\ncollections = \"mine\"", "policy.toml:2:15"},
      {"[tenants.\"uid 7\"]", "is no tenant's name"},
      {"[tenants.a]\nforeign-exports = 1", "2:19: true or false is wanted"},
      {"foreign-exports = \"no\"", "1:19: true or false is wanted"},
      {"[tenants.a]\nstream-priorities = 3", "2:21: a string is wanted"},
      {"[tenants.a]\nstream-priorities = \"top\"", "2:21: \"low\", \"normal\""},
      {"[tenants.a]\ngroup = \"g\"", "2:9: there is no table [groups.g]"},
      {"[tenants.a]\nthread-percentage = 5", "2:21: only tenants with a"},
      {"[groups.g]\nconcurrency = \"shared\"\n[tenants.a]\ngroup = \"g\"\n"
       "thread-percentage = 101",
       "5:21: a number from 1 to 100"},
      {"[groups.g]", "policy.toml:1:1: a group needs 'concurrency'"},
      {"[groups.g]\nconcurrency = \"both\"", "2:15: \"shared\" or"},
      {"[groups.g]\nconcurrency = \"shared\"\nthread-percentage = 0",
       "3:21: a number from 1 to 100"},
      {"[groups.g]\nconcurrency = \"shared\"\ntemporary-tenants = \"slurm\"",
       "3:21: true or false is wanted"},
      {"[groups.g]\nconcurrency = \"shared\"\npipe-directory = \"mps\"",
       "3:18: an absolute path is wanted"},
      {"[groups.\"../g\"]\nconcurrency = \"shared\"", "is no tenant's name"},
      {"tenants = 3", "policy.toml:1:11: a table is wanted"},
      {"[tenants.a\n", "policy.toml:1:"},
      {"a = \"\x01\"", "policy.toml:1:"},
  };
  for (const auto& [text, error] : kMistakes) {
    const auto status = ParsePolicy(text, "policy.toml").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(absl::StrContains(status.message(), error))
        << text << ": " << status;
  }
}

class TokenPolicyTest : public testing::Test {
 protected:
  TokenPolicyTest() {
    char name[] = "/tmp/holdfast-policy-XXXXXX";
    directory_ = mkdtemp(name);
    const TokenIssuer issuer = TokenIssuer::Ed25519();
    Write("issuer.pem", issuer.public_key());
    Write("private.pem", issuer.private_key());
    Write("empty.pem", "");
    std::string many;
    for (size_t i = 0; i <= kMaxTokenKeys; ++i) many += issuer.public_key();
    Write("many.pem", many);
    Write("huge.pem", std::string(1 << 20, '#'));
  }
  ~TokenPolicyTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  absl::StatusOr<Policy> Parse(absl::string_view text) const {
    return ParsePolicy(text, directory_ + "/policy.toml");
  }

  std::string directory_;
};

TEST_F(TokenPolicyTest, KeysAreReadFromFilesBesideThePolicy) {
  const auto policy = Parse(absl::StrCat(R"(
[tokens]
keys = ["issuer.pem", ")",
                                         directory_, R"(/issuer.pem"]
issuer = "https://id.example"
audience = "gpus"
leeway = 5
groups-claim = "teams"
[tenants.b]
token-groups = ["ml"]
[tenants.a]
subjects = ["ci@example", "ann"]
token-groups = ["vision"]
)"));
  ASSERT_TRUE(policy.ok()) << policy.status();
  ASSERT_NE(policy->tokens, nullptr);
  const TokenRules& rules = policy->tokens->rules();
  EXPECT_EQ(rules.keys.size(), 2u);
  EXPECT_EQ(rules.issuer, "https://id.example");
  EXPECT_EQ(rules.audience, "gpus");
  EXPECT_EQ(rules.leeway, absl::Seconds(5));
  EXPECT_EQ(rules.groups_claim, "teams");
  const IdentityMap& map = policy->tenant_of;
  EXPECT_EQ(map.Find(TokenIdentity{"ann", {"ml"}}), 1);
  EXPECT_EQ(map.Find(TokenIdentity{"bob", {"vision", "x", "ml"}}), 0);
  EXPECT_EQ(map.Find(TokenIdentity{"bob", {"x"}}), -1);
  EXPECT_EQ(map.Find(TokenIdentity{"ml", {"ann"}}), -1);
  // A certificate of a subject's name is another identity.
  EXPECT_EQ(map.Find(CertificateIdentity{.subject = "ann"}), -1);
}

TEST_F(TokenPolicyTest, MistakesInTokensAreToldWithTheirPlace) {
  const std::string good =
      "[tokens]\nkeys = [\"issuer.pem\"]\nissuer = \"i\"\n"
      "audience = \"a\"\n";
  ASSERT_TRUE(Parse(good).ok()) << Parse(good).status();
  const struct {
    std::string text;
    const char* error;
  } kMistakes[] = {
      {"[tokens]\nissuer = \"i\"",
       "policy.toml:1:1: signed tokens need 'keys'"},
      {"[tokens]\nkeys = []\nissuer = \"i\"\n", "need 'audience'"},
      {"tokens = 3", "policy.toml:1:10: a table is wanted"},
      {"[tokens]\nkeys = []\nissuer = \"i\"\naudience = \"a\"",
       "policy.toml:2:8: no files"},
      {absl::StrReplaceAll(good, {{"issuer.pem", "none.pem"}}),
       "/none.pem cannot be opened"},
      {absl::StrReplaceAll(good, {{"issuer.pem", "empty.pem"}}),
       "/empty.pem: no public key is in it"},
      {absl::StrReplaceAll(good, {{"issuer.pem", "private.pem"}}),
       "policy.toml:2:9: "},
      {absl::StrReplaceAll(good, {{"issuer.pem", "many.pem"}}),
       "more than 16 keys"},
      {absl::StrReplaceAll(good, {{"issuer.pem", "huge.pem"}}),
       "huge.pem has more than 65536 bytes"},
      {absl::StrReplaceAll(good, {{"issuer.pem", "."}}), "cannot be read"},
      {absl::StrReplaceAll(good, {{"\"i\"", "\"\""}}), "policy.toml:3:10"},
      {absl::StrReplaceAll(good, {{"\"a\"", "[\"a\"]"}}), "policy.toml:4:12"},
      {good + "leeway = 301", "policy.toml:5:10: a number from 0 to 300"},
      {good + "leeway = \"1m\"", "policy.toml:5:10"},
      {good + "groups-claim = 7", "policy.toml:5:16: a string is wanted"},
      {good + "secret = \"x\"", "policy.toml:5:1: unknown key 'secret'"},
      {good + "[tenants.a]\nsubjects = \"x\"", "policy.toml:6:12: an array"},
      {good + "[tenants.a]\nsubjects = [7]", "policy.toml:6:13: a string"},
      {good + "[tenants.a]\nsubjects = [\"x\"]\n[tenants.b]\nsubjects = "
              "[\"x\"]",
       "policy.toml:8:13: this identity is named before"},
      {good + "[operators]\nsubjects = [\"x\"]",
       "policy.toml:6:1: unknown key 'subjects'"},
      {"[tenants.a]\nsubjects = [\"x\"]",
       "policy.toml:2:12: no token is taken without a table [tokens]"},
      {"[tenants.a]\ntoken-groups = [\"x\"]", "without a table [tokens]"},
  };
  for (const auto& [text, error] : kMistakes) {
    const auto status = Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(absl::StrContains(status.message(), error))
        << text << ": " << status;
  }
}

// Otherwise a reload, while an editor writes the file, would take every tenant
// away.
TEST(PolicyFileTest, AFileThatIsEmptyIsNoPolicy) {
  const std::string file =
      absl::StrCat(testing::TempDir(), "/policy-", getpid(), ".toml");
  for (const char* text : {"", " \n\n"}) {
    std::ofstream(file) << text;
    const absl::Status status = ReadPolicy(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "is empty")) << status;
  }
  std::ofstream(file) << "unnamed = \"refuse\"\n";
  EXPECT_TRUE(ReadPolicy(file).ok());
  unlink(file.c_str());
}

TEST(PolicyFileTest, HugeOrDeepFilesAreRefused) {
  EXPECT_FALSE(
      ParsePolicy(std::string(kMaxPolicyBytes + 1, '#'), "policy.toml").ok());
  EXPECT_FALSE(
      ParsePolicy("a = " + std::string(100'000, '['), "policy.toml").ok());
  EXPECT_EQ(ReadPolicy("/no/such/file").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadPolicy("/proc").ok());
}

}  // namespace
}  // namespace holdfast
