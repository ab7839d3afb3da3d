// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/copy_description.h"

#include "client/cudart/channel_format.h"
#include "client/cudart/contexts.h"
#include "client/cudart/errors.h"

namespace holdfast::libcudart {
namespace {

bool FromHost(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
}
bool ToHost(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost;
}

CUmemorytype SpaceOf(bool host, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

// The driver's descriptions have the same fields for the same things.
template <typename Description>
void SetSource(Description* to, const void* pointer, cudaMemcpyKind kind) {
  to->srcMemoryType = SpaceOf(FromHost(kind), kind);
  to->srcHost = pointer;
  to->srcDevice = reinterpret_cast<CUdeviceptr>(pointer);
}

template <typename Description>
void SetDestination(Description* to, void* pointer, cudaMemcpyKind kind) {
  to->dstMemoryType = SpaceOf(ToHost(kind), kind);
  to->dstHost = pointer;
  to->dstDevice = reinterpret_cast<CUdeviceptr>(pointer);
}

template <typename Description, typename Box>
void SetPlaces(Description* to, const Box& box, cudaMemcpyKind kind) {
  if (box.srcArray != nullptr) {
    to->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    to->srcArray = reinterpret_cast<CUarray>(box.srcArray);
  } else {
    SetSource(to, box.srcPtr.ptr, kind);
    to->srcPitch = box.srcPtr.pitch;
    to->srcHeight = box.srcPtr.ysize;
  }
  if (box.dstArray != nullptr) {
    to->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    to->dstArray = reinterpret_cast<CUarray>(box.dstArray);
  } else {
    SetDestination(to, box.dstPtr.ptr, kind);
    to->dstPitch = box.dstPtr.pitch;
    to->dstHeight = box.dstPtr.ysize;
  }
}

// Positions and widths count elements of an array, if one takes part, and bytes
// otherwise; a position in memory always counts bytes.
template <typename Description, typename Box>
cudaError_t SetExtent(const Driver& driver, Description* to, const Box& box) {
  size_t from_unit = 1;
  size_t to_unit = 1;
  if (box.srcArray != nullptr) {
    const cudaError_t error = ElementSize(driver, box.srcArray, &from_unit);
    if (error != cudaSuccess) return error;
  }
  if (box.dstArray != nullptr) {
    const cudaError_t error = ElementSize(driver, box.dstArray, &to_unit);
    if (error != cudaSuccess) return error;
  }
  to->srcXInBytes = box.srcPos.x * from_unit;
  to->srcY = box.srcPos.y;
  to->srcZ = box.srcPos.z;
  to->dstXInBytes = box.dstPos.x * to_unit;
  to->dstY = box.dstPos.y;
  to->dstZ = box.dstPos.z;
  to->WidthInBytes =
      box.extent.width * (box.srcArray != nullptr ? from_unit : to_unit);
  to->Height = box.extent.height;
  to->Depth = box.extent.depth;
  return cudaSuccess;
}

// True if a box names one place on each side.
template <typename Box>
bool HasPlaces(const Box& box) {
  return (box.srcArray != nullptr) != (box.srcPtr.ptr != nullptr) &&
         (box.dstArray != nullptr) != (box.dstPtr.ptr != nullptr);
}

cudaMemcpyKind DirectionOf(const CUDA_MEMCPY3D& described) {
  if (described.srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
      described.dstMemoryType == CU_MEMORYTYPE_UNIFIED) {
    return cudaMemcpyDefault;
  }
  const bool to_host = described.dstMemoryType == CU_MEMORYTYPE_HOST;
  if (described.srcMemoryType == CU_MEMORYTYPE_HOST) {
    return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  }
  return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

void* PlaceOf(CUmemorytype type, const void* host, CUdeviceptr device) {
  return type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host)
                                    : reinterpret_cast<void*>(device);
}

// Sets the place that a box is read from, and the bytes of its elements.
cudaError_t ReadSource(const Driver& driver, const CUDA_MEMCPY3D& described,
                       cudaMemcpy3DParms* box, size_t* unit) {
  if (described.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
    box->srcArray = reinterpret_cast<cudaArray_t>(described.srcArray);
    const cudaError_t error = ElementSize(driver, box->srcArray, unit);
    if (error != cudaSuccess) return error;
  } else {
    box->srcPtr = {PlaceOf(described.srcMemoryType, described.srcHost,
                           described.srcDevice),
                   described.srcPitch, described.srcPitch, described.srcHeight};
  }
  box->srcPos = {described.srcXInBytes / *unit, described.srcY, described.srcZ};
  return cudaSuccess;
}

// The same for the place that it is written to.
cudaError_t ReadDestination(const Driver& driver,
                            const CUDA_MEMCPY3D& described,
                            cudaMemcpy3DParms* box, size_t* unit) {
  if (described.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    box->dstArray = reinterpret_cast<cudaArray_t>(described.dstArray);
    const cudaError_t error = ElementSize(driver, box->dstArray, unit);
    if (error != cudaSuccess) return error;
  } else {
    box->dstPtr = {PlaceOf(described.dstMemoryType, described.dstHost,
                           described.dstDevice),
                   described.dstPitch, described.dstPitch, described.dstHeight};
  }
  box->dstPos = {described.dstXInBytes / *unit, described.dstY, described.dstZ};
  return cudaSuccess;
}

}  // namespace

bool IsDirection(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUDA_MEMCPY2D DescribeRows(void* to, size_t to_pitch, const void* from,
                           size_t from_pitch, size_t width, size_t height,
                           cudaMemcpyKind kind) {
  CUDA_MEMCPY2D rows{};
  SetSource(&rows, from, kind);
  rows.srcPitch = from_pitch;
  SetDestination(&rows, to, kind);
  rows.dstPitch = to_pitch;
  rows.WidthInBytes = width;
  rows.Height = height;
  return rows;
}

CUDA_MEMCPY3D DescribeBytes(void* to, const void* from, size_t size,
                            cudaMemcpyKind kind) {
  CUDA_MEMCPY3D bytes{};
  SetSource(&bytes, from, kind);
  SetDestination(&bytes, to, kind);
  bytes.srcPitch = bytes.dstPitch = bytes.WidthInBytes = size;
  bytes.srcHeight = bytes.dstHeight = bytes.Height = bytes.Depth = 1;
  return bytes;
}

cudaError_t DescribeBox(const Driver& driver, const cudaMemcpy3DParms& box,
                        CUDA_MEMCPY3D* described) {
  if (!IsDirection(box.kind)) return cudaErrorInvalidMemcpyDirection;
  if (!HasPlaces(box)) return cudaErrorInvalidValue;
  *described = {};
  SetPlaces(described, box, box.kind);
  return SetExtent(driver, described, box);
}

cudaError_t DescribePeerBox(const Driver& driver,
                            const cudaMemcpy3DPeerParms& box,
                            CUDA_MEMCPY3D_PEER* described) {
  if (!HasPlaces(box)) return cudaErrorInvalidValue;
  *described = {};
  SetPlaces(described, box, cudaMemcpyDeviceToDevice);
  cudaError_t error =
      PrimaryContext(driver, box.srcDevice, &described->srcContext);
  if (error != cudaSuccess) return error;
  error = PrimaryContext(driver, box.dstDevice, &described->dstContext);
  if (error != cudaSuccess) return error;
  return SetExtent(driver, described, box);
}

cudaError_t ReadBox(const Driver& driver, const CUDA_MEMCPY3D& described,
                    cudaMemcpy3DParms* box) {
  *box = {};
  box->kind = DirectionOf(described);
  size_t from_unit = 1;
  size_t to_unit = 1;
  cudaError_t error = ReadSource(driver, described, box, &from_unit);
  if (error != cudaSuccess) return error;
  error = ReadDestination(driver, described, box, &to_unit);
  if (error != cudaSuccess) return error;
  const size_t unit = box->srcArray != nullptr ? from_unit : to_unit;
  box->extent = {described.WidthInBytes / unit, described.Height,
                 described.Depth};
  return cudaSuccess;
}

cudaError_t ElementSize(const Driver& driver, cudaArray_const_t array,
                        size_t* size) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  const CUresult result = driver.Array3DGetDescriptor(
      &descriptor, reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)));
  if (result != CUDA_SUCCESS) return Translate(result);
  *size = BytesOf(descriptor.Format) * descriptor.NumChannels;
  return cudaSuccess;
}

}  // namespace holdfast::libcudart
