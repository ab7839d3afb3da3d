// SPDX-License-Identifier: Apache-2.0
//
// Textures and surfaces as the driver describes them.
#ifndef HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_
#define HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_

#include "cuda.h"
#include "driver_types.h"
#include "texture_types.h"

namespace holdfast::libcudart {

// cudaErrorInvalidChannelDescriptor: memory in a format that textures cannot
// have.
cudaError_t DescribeResource(const cudaResourceDesc& resource,
                             CUDA_RESOURCE_DESC* described);
cudaResourceDesc ReadResource(const CUDA_RESOURCE_DESC& described);

CUDA_TEXTURE_DESC DescribeTexture(const cudaTextureDesc& texture);
cudaTextureDesc ReadTexture(const CUDA_TEXTURE_DESC& described);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_TEXTURE_DESCRIPTION_H_
