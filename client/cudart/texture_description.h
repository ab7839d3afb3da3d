// SPDX-License-Identifier: Apache-2.0
//
// Converts textures and surfaces to the driver's descriptions.
#ifndef HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_

#include "cuda.h"
#include "driver_types.h"
#include "texture_types.h"

namespace holdfast::libcudart {

// Describes a resource. cudaErrorInvalidChannelDescriptor: the memory has a
// format that textures do not support.
cudaError_t DescribeResource(const cudaResourceDesc& resource,
                             CUDA_RESOURCE_DESC* described);
cudaResourceDesc ReadResource(const CUDA_RESOURCE_DESC& described);

CUDA_TEXTURE_DESC DescribeTexture(const cudaTextureDesc& texture);
cudaTextureDesc ReadTexture(const CUDA_TEXTURE_DESC& described);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_
