// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_CALLER_H_
#define HOLDFAST_SERVER_TENANTS_CALLER_H_

#include <memory>
#include <string>

#include "server/tenants/tenant.h"

namespace holdfast {

enum class Role {
  kUser,
  kOperator,  // may see and end the sessions of others
};

// The client that makes a call. Callers makes one for each call. A value type;
// it keeps the tenant alive.
struct Caller {
  std::shared_ptr<Tenant> tenant;
  Role role = Role::kUser;
  std::string peer;  // the connection, for messages

  // Returns the name under which the caller's shares and limits are counted.
  const std::string& client() const { return tenant->name(); }
  bool is_operator() const { return role == Role::kOperator; }
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_CALLER_H_
