// SPDX-License-Identifier: Apache-2.0
#include "server/identity/identity.h"

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

struct Namer {
  std::string operator()(const UserIdentity& user) const {
    return absl::StrCat("uid ", user.uid);
  }
  std::string operator()(const CertificateIdentity& certificate) const {
    const auto& names = certificate.alternative_names;
    return absl::StrCat("certificate ",
                        names.empty() ? certificate.common_name : names[0]);
  }
  std::string operator()(const AddressIdentity& address) const {
    return absl::StrCat("ip ", address.network);
  }
  std::string operator()(const TokenIdentity& token) const {
    return absl::StrCat("token ", token.subject);
  }
};

}  // namespace

std::string NameOf(const Identity& identity) {
  return std::visit(Namer(), identity);
}

bool IsAuthenticated(const Identity& identity) {
  return !std::holds_alternative<AddressIdentity>(identity);
}

}  // namespace holdfast
