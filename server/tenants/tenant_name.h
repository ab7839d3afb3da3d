// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_
#define HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace holdfast {

inline constexpr size_t kMaxTenantName = 64;

// Checks a tenant's name. INVALID_ARGUMENT: it does not consist of 1 to 64
// letters, digits and "._-". Names of identities contain a space ("uid 1000"),
// so they never equal a tenant's name.
absl::Status CheckTenantName(absl::string_view name);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_NAME_H_
