// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/callers.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr absl::string_view kBearer = "Bearer ";

// The daemon's own user and root are operators whatever the policy says, so
// that a wrong one can be put right.
bool IsOwner(const Identity& identity) {
  const auto* const user = std::get_if<UserIdentity>(&identity);
  return user != nullptr && (user->uid == geteuid() || user->uid == 0);
}

absl::StatusOr<Caller> ToCaller(std::shared_ptr<Tenant> tenant,
                                const Identity& identity, Role role) {
  if (tenant != nullptr) {
    return Caller{.tenant = std::move(tenant), .role = role, .peer = ""};
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "this daemon's policy names no tenant for ", NameOf(identity)));
}

absl::StatusOr<absl::string_view> TokenOf(absl::string_view authorization) {
  if (!absl::StartsWithIgnoreCase(authorization, kBearer)) {
    return absl::UnauthenticatedError(
        "the call's authorization is no bearer token");
  }
  authorization.remove_prefix(kBearer.size());
  if (authorization.size() > Callers::kMaxTokenBytes) {
    return absl::UnauthenticatedError(
        absl::StrCat("the bearer token has ", authorization.size(),
                     " bytes; limit: ", Callers::kMaxTokenBytes));
  }
  return authorization;
}

// A signed token has dots between its parts; those of CreateTenant have none.
absl::StatusOr<std::shared_ptr<Tenant>> TenantOf(TenantTable& tenants,
                                                 absl::string_view token) {
  if (absl::StrContains(token, '.')) {
    return tenants.OfSignedToken(token, absl::Now());
  }
  auto tenant = tenants.OfToken(token);
  if (tenant != nullptr) return tenant;
  return absl::UnauthenticatedError(
      "the bearer token names no tenant of this daemon: it is wrong, or its "
      "tenant has ended");
}

}  // namespace

absl::StatusOr<Caller> Callers::Resolve(
    const Identity& identity, std::optional<absl::string_view> authorization,
    bool may_operate) const {
  if (!authorization.has_value()) {
    const bool is_operator =
        IsOwner(identity) || tenants_.NamesOperator(identity);
    if (is_operator && may_operate) {
      return ToCaller(tenants_.OfOperator(identity), identity, Role::kOperator);
    }
    auto caller = ToCaller(tenants_.Of(identity), identity, Role::kUser);
    if (caller.ok() || !is_operator) return caller;
    // It is an operator elsewhere, and cannot guess why it is nobody here.
    return absl::PermissionDeniedError(
        absl::StrCat(caller.status().message(),
                     "; it is an operator on the socket of --operator-socket"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const absl::string_view token,
                            TokenOf(*authorization));
  HOLDFAST_ASSIGN_OR_RETURN(auto tenant, TenantOf(tenants_, token));
  return Caller{.tenant = std::move(tenant), .role = Role::kUser, .peer = ""};
}

absl::StatusOr<Caller> Callers::Identify(
    const grpc::ServerContextBase& context) const {
  std::optional<absl::string_view> authorization;
  const auto [first, last] =
      context.client_metadata().equal_range(kAuthorizationKey.name);
  if (first != last) {
    authorization =
        absl::string_view(first->second.data(), first->second.size());
    if (std::next(first) != last) {
      return absl::UnauthenticatedError("the call has several authorizations");
    }
  }
  HOLDFAST_ASSIGN_OR_RETURN(Caller caller,
                            Resolve(peers_.IdentityOf(context), authorization,
                                    peers_.MayOperate(context.peer())));
  caller.peer = peers_.Describe(context.peer());
  return caller;
}

void Callers::Refuse(const grpc::ServerContextBase& context,
                     absl::string_view act, absl::string_view object,
                     const absl::Status& status) const {
  const std::string client = NameOf(peers_.IdentityOf(context));
  const std::string peer = peers_.Describe(context.peer());
  audit_.Refusal({.name = act,
                  .object = object,
                  .client = client,
                  .peer = peer,
                  .outcome = status});
}

absl::StatusOr<Caller> Callers::Of(
    const grpc::ServerContextBase& context) const {
  auto caller = Identify(context);
  if (!caller.ok()) Refuse(context, "call", "", caller.status());
  return caller;
}

std::string Callers::WhyNoOperator(
    const grpc::ServerContextBase& context) const {
  if (!peers_.MayOperate(context.peer())) {
    return "; users are operators on --operator-socket";
  }
  const auto without_token =
      Resolve(peers_.IdentityOf(context), std::nullopt, /*may_operate=*/true);
  return without_token.ok() && without_token->is_operator()
             ? "; without the token this user is an operator: unset "
               "HOLDFAST_TOKEN and HOLDFAST_TOKEN_FILE"
             : "";
}

absl::StatusOr<Caller> Callers::OperatorOf(
    const grpc::ServerContextBase& context, absl::string_view act,
    absl::string_view object) const {
  auto caller = Identify(context);
  if (caller.ok() && !caller->is_operator()) {
    caller = absl::PermissionDeniedError(
        absl::StrCat(act, " is for operators, not for ", caller->client(), " (",
                     caller->peer, ")", WhyNoOperator(context)));
  }
  if (!caller.ok()) Refuse(context, act, object, caller.status());
  return caller;
}

void Callers::RecordAct(const grpc::ServerContextBase& context,
                        absl::string_view act, absl::string_view object,
                        const absl::Status& outcome) const {
  const std::string client = NameOf(peers_.IdentityOf(context));
  const std::string peer = peers_.Describe(context.peer());
  audit_.Act({.name = act,
              .object = object,
              .client = client,
              .peer = peer,
              .outcome = outcome});
}

void Callers::RecordSession(const grpc::ServerContextBase& context,
                            const Caller& caller,
                            absl::string_view session) const {
  const std::string peer = peers_.Describe(context.peer());
  audit_.Admission({.name = "OpenSession",
                    .object = session,
                    .client = caller.client(),
                    .peer = peer,
                    .outcome = absl::OkStatus()});
}

}  // namespace holdfast
