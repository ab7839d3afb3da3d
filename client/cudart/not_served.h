// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDART_NOT_SERVED_H_
#define HOLDFAST_CLIENT_CUDART_NOT_SERVED_H_

namespace holdfast::libcudart {

// Returns cudaErrorNotSupported as a number, after making it the thread's last
// error.
int Refuse();

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_NOT_SERVED_H_
