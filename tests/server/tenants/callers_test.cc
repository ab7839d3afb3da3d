// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/callers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/server/testing/token_issuer.h"

namespace holdfast {
namespace {

using absl::StatusCode;

UserIdentity User(uid_t uid) { return {.uid = uid, .gid = uid}; }

class CallersTest : public testing::Test {
 protected:
  std::string NewToken() {
    v1::CreateTenantRequest request;
    request.set_name("job");
    return *tenants_.Create(request);
  }

  PeerTable peers_;
  TenantTable tenants_;
  AuditLog audit_;
  const Callers callers_{peers_, tenants_, audit_};
};

TEST_F(CallersTest, TheDaemonsUserAndRootAreOperatorsOnUnixSockets) {
  EXPECT_TRUE(callers_.Resolve(User(geteuid()), {})->is_operator());
  EXPECT_TRUE(callers_.Resolve(User(0), {})->is_operator());
  EXPECT_FALSE(callers_.Resolve(User(geteuid() + 1), {})->is_operator());
  EXPECT_FALSE(callers_.Resolve(CertificateIdentity{.common_name = "root"}, {})
                   ->is_operator());
  EXPECT_FALSE(
      callers_.Resolve(AddressIdentity{"127.0.0.1"}, {})->is_operator());
}

TEST_F(CallersTest, APolicySaysWhoIsWhichTenantAndRefusesTheRest) {
  Policy policy;
  policy.serves_unnamed = false;
  policy.tenants = {{.name = "team"}};
  policy.tenant_of.users[70] = 0;
  policy.tenant_of.groups[71] = 0;
  policy.operators.users[72] = 0;
  ASSERT_TRUE(tenants_.Apply(policy).ok());
  EXPECT_EQ(callers_.Resolve(User(70), {})->client(), "team");
  EXPECT_EQ(callers_.Resolve(User(71), {})->client(), "team");
  EXPECT_EQ(callers_.Resolve(User(73), {}).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(callers_.Resolve(AddressIdentity{"10.0.0.7"}, {}).status().code(),
            StatusCode::kPermissionDenied);
  const auto named = callers_.Resolve(User(72), {});
  EXPECT_TRUE(named->is_operator());
  EXPECT_EQ(named->client(), "uid 72");
  for (const uid_t operators : {uid_t{0}, uid_t{72}}) {
    const auto elsewhere = callers_.Resolve(User(operators), {}, false);
    EXPECT_EQ(elsewhere.status().code(), StatusCode::kPermissionDenied);
    EXPECT_TRUE(absl::StrContains(elsewhere.status().message(),
                                  "the socket of --operator-socket"))
        << elsewhere.status();
  }
  EXPECT_FALSE(absl::StrContains(
      callers_.Resolve(User(73), {}, false).status().message(),
      "--operator-socket"));
  // A wrong policy cannot lock the daemon's own user out.
  EXPECT_TRUE(callers_.Resolve(User(geteuid()), {})->is_operator());
}

TEST_F(CallersTest, ATokenIsItsTenantOverWhicheverConnection) {
  const std::string value = absl::StrCat("Bearer ", NewToken());
  for (const Identity& identity :
       {Identity(User(geteuid())), Identity(AddressIdentity{"10.0.0.7"})}) {
    const auto caller = callers_.Resolve(identity, value);
    ASSERT_TRUE(caller.ok()) << caller.status();
    EXPECT_EQ(caller->client(), "job");
    // Not even if an operator sends it.
    EXPECT_FALSE(caller->is_operator());
  }
}

TEST_F(CallersTest, AWrongTokenIsNobodyNotTheConnectionsUser) {
  const std::string token = NewToken();
  for (const std::string& value :
       {std::string(), std::string("Bearer"), std::string("Bearer "),
        absl::StrCat("Basic ", token), token,
        absl::StrCat("Bearer ", token, "0"), absl::StrCat("Bearer  ", token),
        absl::StrCat("Bearer ", std::string(9000, 'a'))}) {
    EXPECT_EQ(callers_.Resolve(User(0), value).status().code(),
              StatusCode::kUnauthenticated)
        << value;
  }
  EXPECT_TRUE(callers_.Resolve(User(0), absl::StrCat("bearer ", token)).ok());
}

class SignedCallersTest : public CallersTest {
 protected:
  // The daemon's policy takes tokens of `issuer`.
  void Trust(const TokenIssuer& issuer) {
    TokenRules rules;
    rules.keys = *ParseTokenKeys(issuer.public_key());
    rules.issuer = "id";
    rules.audience = "holdfast";
    policy_.tokens = std::make_shared<TokenVerifier>(rules);
    ASSERT_TRUE(tenants_.Apply(policy_).ok());
  }

  // The value of a call's `authorization`.
  static std::string Value(const TokenIssuer& issuer, absl::string_view subject,
                           absl::Duration lifetime = absl::Hours(1)) {
    return absl::StrCat(
        "Bearer ",
        issuer.Sign(absl::StrCat(
            R"({"iss":"id","aud":"holdfast","groups":["ml"],"sub":")", subject,
            R"(","exp":)", absl::ToUnixSeconds(absl::Now() + lifetime), "}")));
  }

  Policy policy_ = {.serves_unnamed = false,
                    .tenants = {{.name = "team"}, {.name = "research"}},
                    .tenant_of = {.subjects = {{"ci", 0}}}};
  const TokenIssuer issuer_ = TokenIssuer::Ed25519();
};

TEST_F(SignedCallersTest, ATokensSubjectIsItsTenantAndNeverAnOperator) {
  Trust(issuer_);
  for (const Identity& identity :
       {Identity(User(geteuid())), Identity(AddressIdentity{"10.0.0.7"})}) {
    const auto caller = callers_.Resolve(identity, Value(issuer_, "ci"));
    ASSERT_TRUE(caller.ok()) << caller.status();
    EXPECT_EQ(caller->client(), "team");
    EXPECT_FALSE(caller->is_operator());
  }
  policy_.tenant_of.token_groups["ml"] = 1;
  Trust(issuer_);
  EXPECT_EQ(callers_.Resolve(User(7), Value(issuer_, "ci"))->client(), "team");
  EXPECT_EQ(callers_.Resolve(User(7), Value(issuer_, "ann"))->client(),
            "research");
}

TEST_F(SignedCallersTest, AWrongTokenIsNobodyWhoeverSendsIt) {
  // Without a policy that takes them.
  const std::string good = Value(issuer_, "ci");
  EXPECT_EQ(callers_.Resolve(User(0), good).status().code(),
            StatusCode::kUnauthenticated);
  Trust(issuer_);
  EXPECT_TRUE(callers_.Resolve(User(0), good).ok());
  for (const std::string& wrong :
       {Value(TokenIssuer::Ed25519(), "ci"),
        Value(issuer_, "ci", -absl::Hours(1)), good + "A",
        good.substr(0, good.size() - 1),
        absl::StrCat(good, std::string(Callers::kMaxTokenBytes, 'A')),
        std::string("Bearer ..")}) {
    EXPECT_EQ(callers_.Resolve(User(0), wrong).status().code(),
              StatusCode::kUnauthenticated)
        << wrong;
  }
}

TEST_F(SignedCallersTest, ASubjectThatNobodyNamesIsRefusedOrItsOwnTenant) {
  Trust(issuer_);
  const auto refused = callers_.Resolve(User(0), Value(issuer_, "eve"));
  EXPECT_EQ(refused.status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.status().message(),
            "this daemon's policy names no tenant for token eve");
  policy_.serves_unnamed = true;
  Trust(issuer_);
  EXPECT_EQ(callers_.Resolve(User(0), Value(issuer_, "eve"))->client(),
            "token eve");
}

TEST_F(SignedCallersTest, AKeyThatIsGoneFromThePolicyOpensNothingMore) {
  Trust(issuer_);
  const std::string value = Value(issuer_, "ci");
  ASSERT_TRUE(callers_.Resolve(User(0), value).ok());
  const TokenIssuer next = TokenIssuer::Rsa();
  Trust(next);
  EXPECT_EQ(callers_.Resolve(User(0), value).status().code(),
            StatusCode::kUnauthenticated);
  EXPECT_TRUE(callers_.Resolve(User(0), Value(next, "ci")).ok());
}

}  // namespace
}  // namespace holdfast
