// SPDX-License-Identifier: Apache-2.0
//
// A child process closes the descriptors that it has inherited by accident.
#ifndef CORE_BASE_CLOSE_DESCRIPTORS_H_
#define CORE_BASE_CLOSE_DESCRIPTORS_H_

namespace holdfast {

// Closes every open descriptor from `first` on. Kernels before 5.9, such as
// Ubuntu 20.04's, do not have the call close_range: there the descriptors that
// /proc lists are closed, and without /proc those up to the process's limit.
void CloseDescriptorsFrom(int first);

}  // namespace holdfast

#endif  // CORE_BASE_CLOSE_DESCRIPTORS_H_
