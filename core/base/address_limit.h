// SPDX-License-Identifier: Apache-2.0
//
// The limit on the address space of this process: RLIMIT_AS, which `ulimit -v`
// and a systemd unit's LimitAS= set. A process that uses a device reserves far
// more address space than it has memory.
#ifndef HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_
#define HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// Raises the soft limit to the hard limit, for this process and its later
// children. Ignores errors.
void RaiseAddressLimit();

// Checks that the soft limit is at least `least` bytes. RESOURCE_EXHAUSTED: it
// is less; the message names the limit and says how to lift it.
absl::Status CheckAddressLimit(uint64_t least);

// Returns `status`, the result of a call that may have failed because of the
// limit. If it is an error and there is a limit, appends the limit to the
// message, as CheckAddressLimit words it.
absl::Status ExplainAddressLimit(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_ADDRESS_LIMIT_H_
