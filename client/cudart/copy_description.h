// SPDX-License-Identifier: Apache-2.0
//
// Converts copies to the driver's descriptions, and back.
#ifndef HOLDFAST_CLIENT_CUDART_COPY_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDART_COPY_DESCRIPTION_H_

#include <cstddef>

#include "client/cudart/driver.h"

namespace holdfast::libcudart {

// Returns false if the number is not a cudaMemcpyKind.
bool IsDirection(cudaMemcpyKind kind);

// Describes a copy of `height` rows of `width` bytes.
CUDA_MEMCPY2D DescribeRows(void* to, size_t to_pitch, const void* from,
                           size_t from_pitch, size_t width, size_t height,
                           cudaMemcpyKind kind);

// Describes a copy of `size` bytes, for nodes of graphs.
CUDA_MEMCPY3D DescribeBytes(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind);

// Describe a copy of a box. Get the size of an array's elements from the
// driver.
cudaError_t DescribeBox(const Driver& driver, const cudaMemcpy3DParms& box,
                        CUDA_MEMCPY3D* described);
cudaError_t DescribePeerBox(const Driver& driver,
                            const cudaMemcpy3DPeerParms& box,
                            CUDA_MEMCPY3D_PEER* described);

// Converts the driver's description of a box back to the runtime's.
cudaError_t ReadBox(const Driver& driver, const CUDA_MEMCPY3D& described,
                    cudaMemcpy3DParms* box);

// Gets the bytes of an element of an array.
cudaError_t ElementSize(const Driver& driver, cudaArray_const_t array,
                        size_t* size);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_COPY_DESCRIPTION_H_
