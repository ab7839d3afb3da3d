// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
#define HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_

namespace holdfast {

// Sets the descriptor to which log.h writes instead of standard error. Used by
// a process that needs standard error for other output. The caller keeps the
// descriptor open until the process ends.
void SetLogDescriptor(int descriptor);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
