// SPDX-License-Identifier: Apache-2.0
//
// Closes descriptors that a child process has inherited by accident.
#ifndef CORE_BASE_CLOSE_DESCRIPTORS_H_
#define CORE_BASE_CLOSE_DESCRIPTORS_H_

namespace holdfast {

// Closes every open descriptor from `first` on. Kernels before 5.9, such as
// Ubuntu 20.04's, do not have the call close_range. On these kernels, closes
// the descriptors that /proc/self/fd lists; without /proc, closes all numbers
// up to the process's limit of descriptors.
void CloseDescriptorsFrom(int first);

}  // namespace holdfast

#endif  // CORE_BASE_CLOSE_DESCRIPTORS_H_
