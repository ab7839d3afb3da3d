// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/texture_description.h"

#include <algorithm>
#include <iterator>

#include "client/cudart/channel_format.h"

namespace holdfast::libcudart {
namespace {

unsigned FlagsOf(const cudaTextureDesc& texture) {
  unsigned flags = 0;
  if (texture.readMode == cudaReadModeElementType) {
    flags |= CU_TRSF_READ_AS_INTEGER;
  }
  if (texture.normalizedCoords != 0) flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (texture.sRGB != 0) flags |= CU_TRSF_SRGB;
  if (texture.disableTrilinearOptimization != 0) {
    flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  }
  if (texture.seamlessCubemap != 0) flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  return flags;
}

// Linear memory, and memory with a pitch. False: in a format that textures
// cannot have.
bool DescribeLinear(const cudaResourceDesc& resource,
                    CUDA_RESOURCE_DESC* described) {
  const auto& from = resource.res.linear;
  auto& to = described->res.linear;
  to.devPtr = reinterpret_cast<CUdeviceptr>(from.devPtr);
  to.sizeInBytes = from.sizeInBytes;
  return ToArrayFormat(from.desc, &to.format, &to.numChannels);
}

bool DescribeRows(const cudaResourceDesc& resource,
                  CUDA_RESOURCE_DESC* described) {
  const auto& from = resource.res.pitch2D;
  auto& to = described->res.pitch2D;
  to.devPtr = reinterpret_cast<CUdeviceptr>(from.devPtr);
  to.width = from.width;
  to.height = from.height;
  to.pitchInBytes = from.pitchInBytes;
  return ToArrayFormat(from.desc, &to.format, &to.numChannels);
}

void ReadLinear(const CUDA_RESOURCE_DESC& described,
                cudaResourceDesc* resource) {
  const auto& from = described.res.linear;
  auto& to = resource->res.linear;
  to.devPtr = reinterpret_cast<void*>(from.devPtr);
  to.desc = FromArrayFormat(from.format, from.numChannels);
  to.sizeInBytes = from.sizeInBytes;
}

void ReadRows(const CUDA_RESOURCE_DESC& described, cudaResourceDesc* resource) {
  const auto& from = described.res.pitch2D;
  auto& to = resource->res.pitch2D;
  to.devPtr = reinterpret_cast<void*>(from.devPtr);
  to.desc = FromArrayFormat(from.format, from.numChannels);
  to.width = from.width;
  to.height = from.height;
  to.pitchInBytes = from.pitchInBytes;
}

}  // namespace

cudaError_t DescribeResource(const cudaResourceDesc& resource,
                             CUDA_RESOURCE_DESC* described) {
  *described = {};
  described->resType = static_cast<CUresourcetype>(resource.resType);
  described->flags = resource.flags;
  bool known = true;
  switch (resource.resType) {
    case cudaResourceTypeArray:
      described->res.array.hArray =
          reinterpret_cast<CUarray>(resource.res.array.array);
      break;
    case cudaResourceTypeMipmappedArray:
      described->res.mipmap.hMipmappedArray =
          reinterpret_cast<CUmipmappedArray>(resource.res.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear:
      known = DescribeLinear(resource, described);
      break;
    case cudaResourceTypePitch2D:
      known = DescribeRows(resource, described);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return known ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaResourceDesc ReadResource(const CUDA_RESOURCE_DESC& described) {
  cudaResourceDesc resource{};
  resource.resType = static_cast<cudaResourceType>(described.resType);
  resource.flags = described.flags;
  switch (described.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      resource.res.array.array =
          reinterpret_cast<cudaArray_t>(described.res.array.hArray);
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      resource.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(
          described.res.mipmap.hMipmappedArray);
      break;
    case CU_RESOURCE_TYPE_LINEAR:
      ReadLinear(described, &resource);
      break;
    default:
      ReadRows(described, &resource);
  }
  return resource;
}

CUDA_TEXTURE_DESC DescribeTexture(const cudaTextureDesc& texture) {
  CUDA_TEXTURE_DESC described{};
  for (int i = 0; i < 3; ++i) {
    described.addressMode[i] =
        static_cast<CUaddress_mode>(texture.addressMode[i]);
  }
  described.filterMode = static_cast<CUfilter_mode>(texture.filterMode);
  described.flags = FlagsOf(texture);
  described.maxAnisotropy = texture.maxAnisotropy;
  described.mipmapFilterMode =
      static_cast<CUfilter_mode>(texture.mipmapFilterMode);
  described.mipmapLevelBias = texture.mipmapLevelBias;
  described.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  described.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  std::copy_n(texture.borderColor, std::size(texture.borderColor),
              described.borderColor);
  return described;
}

cudaTextureDesc ReadTexture(const CUDA_TEXTURE_DESC& described) {
  const auto has = [&](unsigned flag) {
    return (described.flags & flag) != 0 ? 1 : 0;
  };
  cudaTextureDesc texture{};
  for (int i = 0; i < 3; ++i) {
    texture.addressMode[i] =
        static_cast<cudaTextureAddressMode>(described.addressMode[i]);
  }
  texture.filterMode = static_cast<cudaTextureFilterMode>(described.filterMode);
  texture.readMode = has(CU_TRSF_READ_AS_INTEGER) != 0
                         ? cudaReadModeElementType
                         : cudaReadModeNormalizedFloat;
  texture.sRGB = has(CU_TRSF_SRGB);
  std::copy_n(described.borderColor, std::size(described.borderColor),
              texture.borderColor);
  texture.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
  texture.maxAnisotropy = described.maxAnisotropy;
  texture.mipmapFilterMode =
      static_cast<cudaTextureFilterMode>(described.mipmapFilterMode);
  texture.mipmapLevelBias = described.mipmapLevelBias;
  texture.minMipmapLevelClamp = described.minMipmapLevelClamp;
  texture.maxMipmapLevelClamp = described.maxMipmapLevelClamp;
  texture.disableTrilinearOptimization =
      has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  texture.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
  return texture;
}

}  // namespace holdfast::libcudart
