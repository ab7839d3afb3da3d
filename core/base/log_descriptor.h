// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
#define HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_

namespace holdfast {

// Where the lines of log.h go: at first standard error. For a process that
// takes its standard error for something else. The descriptor stays open.
void SetLogDescriptor(int descriptor);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_DESCRIPTOR_H_
