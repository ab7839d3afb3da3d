// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
#define HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_

namespace holdfast {

// Sets the descriptor that log.h writes to, instead of standard error, for a
// process that uses standard error otherwise. The descriptor must stay open.
void SetLogDescriptor(int descriptor);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
