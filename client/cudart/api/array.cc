// SPDX-License-Identifier: Apache-2.0
//
// Entry points: arrays.
#include "client/cudart/call.h"
#include "client/cudart/channel_format.h"

using namespace holdfast::libcudart;

namespace {

CUarray ArrayOf(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

CUmipmappedArray MipmapOf(cudaMipmappedArray_const_t mipmap) {
  return reinterpret_cast<CUmipmappedArray>(
      const_cast<cudaMipmappedArray_t>(mipmap));
}

// body(const Driver&, const CUDA_ARRAY3D_DESCRIPTOR*). The runtime's flags have
// the driver's numbers.
template <typename Body>
cudaError_t WithDescriptor(const cudaChannelFormatDesc* format,
                           cudaExtent extent, unsigned flags, Body body) {
  if (format == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{.Width = extent.width,
                                       .Height = extent.height,
                                       .Depth = extent.depth,
                                       .Flags = flags};
    if (!ToArrayFormat(*format, &descriptor.Format, &descriptor.NumChannels)) {
      return cudaErrorInvalidChannelDescriptor;
    }
    return Translate(body(driver, &descriptor));
  });
}

}  // namespace

extern "C" {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array,
                              const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned flags) {
  return WithDescriptor(
      format, extent, flags,
      [&](const Driver& driver, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
        return driver.Array3DCreate(As<CUarray>(array), descriptor);
      });
}

cudaError_t cudaMallocArray(cudaArray_t* array,
                            const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return WithContext([&](const Driver& driver) {
    return array == nullptr ? CUDA_SUCCESS
                            : driver.ArrayDestroy(ArrayOf(array));
  });
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap,
                                     const cudaChannelFormatDesc* format,
                                     cudaExtent extent, unsigned levels,
                                     unsigned flags) {
  return WithDescriptor(
      format, extent, flags,
      [&](const Driver& driver, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
        return driver.MipmappedArrayCreate(As<CUmipmappedArray>(mipmap),
                                           descriptor, levels);
      });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
  return WithContext([&](const Driver& driver) {
    return mipmap == nullptr ? CUDA_SUCCESS
                             : driver.MipmappedArrayDestroy(MipmapOf(mipmap));
  });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array,
                                       cudaMipmappedArray_const_t mipmap,
                                       unsigned level) {
  return CallInContext(&Driver::MipmappedArrayGetLevel, As<CUarray>(array),
                       MipmapOf(mipmap), level);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent,
                             unsigned* flags, cudaArray_t array) {
  return WithContext([&](const Driver& driver) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    const CUresult result =
        driver.Array3DGetDescriptor(&descriptor, ArrayOf(array));
    if (result != CUDA_SUCCESS) return result;
    if (format != nullptr) {
      *format = FromArrayFormat(descriptor.Format, descriptor.NumChannels);
    }
    if (extent != nullptr) {
      *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
    }
    if (flags != nullptr) *flags = descriptor.Flags;
    return result;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format,
                               cudaArray_const_t array) {
  if (format == nullptr) return Record(cudaErrorInvalidValue);
  return cudaArrayGetInfo(format, nullptr, nullptr,
                          const_cast<cudaArray_t>(array));
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(
    size_t* width, const cudaChannelFormatDesc* format, int device) {
  if (format == nullptr) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Driver& driver) -> cudaError_t {
    CUarray_format array_format{};
    unsigned channels = 0;
    if (!ToArrayFormat(*format, &array_format, &channels)) {
      return cudaErrorInvalidChannelDescriptor;
    }
    return Translate(driver.DeviceGetTexture1DLinearMaxWidth(
        width, array_format, channels, device));
  });
}

cudaError_t cudaArrayGetPlane(cudaArray_t* plane, cudaArray_t array,
                              unsigned index) {
  return CallInContext(&Driver::ArrayGetPlane, As<CUarray>(plane),
                       ArrayOf(array), index);
}

cudaError_t cudaArrayGetMemoryRequirements(
    cudaArrayMemoryRequirements* requirements, cudaArray_t array, int device) {
  return CallInContext(&Driver::ArrayGetMemoryRequirements,
                       As<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements),
                       ArrayOf(array), device);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(
    cudaArrayMemoryRequirements* requirements, cudaMipmappedArray_t mipmap,
    int device) {
  return CallInContext(&Driver::MipmappedArrayGetMemoryRequirements,
                       As<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements),
                       MipmapOf(mipmap), device);
}

cudaError_t cudaArrayGetSparseProperties(cudaArraySparseProperties* properties,
                                         cudaArray_t array) {
  return CallInContext(&Driver::ArrayGetSparseProperties,
                       As<CUDA_ARRAY_SPARSE_PROPERTIES>(properties),
                       ArrayOf(array));
}

cudaError_t cudaMipmappedArrayGetSparseProperties(
    cudaArraySparseProperties* properties, cudaMipmappedArray_t mipmap) {
  return CallInContext(&Driver::MipmappedArrayGetSparseProperties,
                       As<CUDA_ARRAY_SPARSE_PROPERTIES>(properties),
                       MipmapOf(mipmap));
}

}  // extern "C"
