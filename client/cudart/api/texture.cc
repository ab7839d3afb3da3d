// SPDX-License-Identifier: Apache-2.0
//
// Entry points: textures and surfaces.
#include "client/cudart/call.h"
#include "client/cudart/texture_description.h"

using namespace holdfast::libcudart;

namespace {

// body(const Driver&, const CUDA_RESOURCE_DESC*).
template <typename Body>
cudaError_t WithResource(const cudaResourceDesc* resource, Body body) {
  if (resource == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUDA_RESOURCE_DESC described;
    const cudaError_t error = DescribeResource(*resource, &described);
    return error != cudaSuccess ? error : Translate(body(driver, &described));
  });
}

// Reads a resource's description with one of the driver's functions.
template <typename Function, typename Object>
cudaError_t GetResource(Function Driver::*function, cudaResourceDesc* resource,
                        Object object) {
  if (resource == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    CUDA_RESOURCE_DESC described{};
    const CUresult result = (driver.*function)(&described, object);
    if (result == CUDA_SUCCESS) *resource = ReadResource(described);
    return result;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object,
                                    const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture,
                                    const cudaResourceViewDesc* view) {
  if (texture == nullptr) return Record(cudaErrorInvalidValue);
  return WithResource(
      resource, [&](const Driver& driver, const CUDA_RESOURCE_DESC* described) {
        const CUDA_TEXTURE_DESC description = DescribeTexture(*texture);
        return driver.TexObjectCreate(object, described, &description,
                                      As<const CUDA_RESOURCE_VIEW_DESC>(view));
      });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return CallInContext(&Driver::TexObjectDestroy, object);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  return GetResource(&Driver::TexObjectGetResourceDesc, resource, object);
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture,
                                            cudaTextureObject_t object) {
  if (texture == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) {
    CUDA_TEXTURE_DESC described{};
    const CUresult result = driver.TexObjectGetTextureDesc(&described, object);
    if (result == CUDA_SUCCESS) *texture = ReadTexture(described);
    return result;
  });
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  return CallInContext(&Driver::TexObjectGetResourceViewDesc,
                       As<CUDA_RESOURCE_VIEW_DESC>(view), object);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                    const cudaResourceDesc* resource) {
  return WithResource(
      resource, [&](const Driver& driver, const CUDA_RESOURCE_DESC* described) {
        return driver.SurfObjectCreate(object, described);
      });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return CallInContext(&Driver::SurfObjectDestroy, object);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object) {
  return GetResource(&Driver::SurfObjectGetResourceDesc, resource, object);
}

}  // extern "C"
