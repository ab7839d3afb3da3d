// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_OWN_USER_H_
#define HOLDFAST_CORE_BASE_OWN_USER_H_

#include <string>

namespace holdfast {

// Returns the name of this process's effective user, or the number of a user
// without a name: for errors about files, which a service's user often cannot
// open although its operator can.
std::string OwnUser();

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_OWN_USER_H_
