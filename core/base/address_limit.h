// SPDX-License-Identifier: Apache-2.0
//
// The limit of this process's addresses: RLIMIT_AS, which `ulimit -v` and a
// systemd unit's LimitAS= set. A process that uses a device reserves far more
// addresses than it has memory.
#ifndef HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_
#define HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// Raises the limit as far as this process may, for itself and its children.
void RaiseAddressLimit();

// RESOURCE_EXHAUSTED: this process may have fewer than `least` bytes of
// addresses. The message names the limit and says how to lift it.
absl::Status CheckAddressLimit(uint64_t least);

// Returns the error of a call that may have found no addresses. If there is a
// limit, the message names it as CheckAddressLimit does.
absl::Status ExplainAddressLimit(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_
