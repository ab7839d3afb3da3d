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

}  // namespace

cudaError_t DescribeResource(const cudaResourceDesc& resource,
                             CUDA_RESOURCE_DESC* described) {
  *described = {};
  described->resType = static_cast<CUresourcetype>(resource.resType);
  described->flags = resource.flags;
  const auto& from = resource.res;
  auto& to = described->res;
  bool known = true;
  switch (resource.resType) {
    case cudaResourceTypeArray:
      to.array.hArray = reinterpret_cast<CUarray>(from.array.array);
      break;
    case cudaResourceTypeMipmappedArray:
      to.mipmap.hMipmappedArray =
          reinterpret_cast<CUmipmappedArray>(from.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear:
      to.linear.devPtr = reinterpret_cast<CUdeviceptr>(from.linear.devPtr);
      known = ToArrayFormat(from.linear.desc, &to.linear.format,
                            &to.linear.numChannels);
      to.linear.sizeInBytes = from.linear.sizeInBytes;
      break;
    case cudaResourceTypePitch2D:
      to.pitch2D.devPtr = reinterpret_cast<CUdeviceptr>(from.pitch2D.devPtr);
      known = ToArrayFormat(from.pitch2D.desc, &to.pitch2D.format,
                            &to.pitch2D.numChannels);
      to.pitch2D.width = from.pitch2D.width;
      to.pitch2D.height = from.pitch2D.height;
      to.pitch2D.pitchInBytes = from.pitch2D.pitchInBytes;
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
  const auto& from = described.res;
  auto& to = resource.res;
  switch (described.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      to.array.array = reinterpret_cast<cudaArray_t>(from.array.hArray);
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      to.mipmap.mipmap =
          reinterpret_cast<cudaMipmappedArray_t>(from.mipmap.hMipmappedArray);
      break;
    case CU_RESOURCE_TYPE_LINEAR:
      to.linear.devPtr = reinterpret_cast<void*>(from.linear.devPtr);
      to.linear.desc =
          FromArrayFormat(from.linear.format, from.linear.numChannels);
      to.linear.sizeInBytes = from.linear.sizeInBytes;
      break;
    default:
      to.pitch2D.devPtr = reinterpret_cast<void*>(from.pitch2D.devPtr);
      to.pitch2D.desc =
          FromArrayFormat(from.pitch2D.format, from.pitch2D.numChannels);
      to.pitch2D.width = from.pitch2D.width;
      to.pitch2D.height = from.pitch2D.height;
      to.pitch2D.pitchInBytes = from.pitch2D.pitchInBytes;
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
