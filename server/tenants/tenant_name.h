// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_
#define HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

inline constexpr size_t kMaxTenantName = 64;

// INVALID_ARGUMENT: not 1 to 64 letters, digits and "._-". Names of identities
// have a space in them ("uid 1000"), so that no tenant is taken for one.
absl::Status CheckTenantName(absl::string_view name);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_
