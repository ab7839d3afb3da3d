// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/copy_description.h"

namespace holdfast::software {
namespace {

uintptr_t Address(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

CUmemorytype TypeOf(Side side) {
  switch (side) {
    case Side::kHost:
      return CU_MEMORYTYPE_HOST;
    case Side::kDevice:
      return CU_MEMORYTYPE_DEVICE;
    default:
      return CU_MEMORYTYPE_UNIFIED;
  }
}

}  // namespace

CUresult ResolveEnd(const EndDescription& d, const Copy& copy, CopyEnd* end) {
  switch (d.type) {
    case CU_MEMORYTYPE_HOST:
      *end = {Address(d.host), Side::kHost, 0, 0};
      break;
    case CU_MEMORYTYPE_DEVICE:
      *end = {d.device, Side::kDevice, 0, 0};
      break;
    case CU_MEMORYTYPE_UNIFIED:
      *end = {d.device, Side::kAny, 0, 0};
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  end->pitch = d.pitch != 0 ? d.pitch : copy.width + d.x;
  end->rows = d.rows != 0 ? d.rows : copy.height + d.y;
  if (end->pitch < copy.width || end->pitch - copy.width < d.x ||
      (copy.depth > 1 &&
       (end->rows < copy.height || end->rows - copy.height < d.y))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t offset;
  if (end->address == 0 || __builtin_mul_overflow(d.z, end->rows, &offset) ||
      __builtin_add_overflow(offset, d.y, &offset) ||
      __builtin_mul_overflow(offset, end->pitch, &offset) ||
      __builtin_add_overflow(offset, d.x, &offset) ||
      __builtin_add_overflow(end->address, offset, &end->address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult DescribeCopy(const CUDA_MEMCPY3D& p, Copy* copy) {
  if (p.srcLOD != 0 || p.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  copy->width = p.WidthInBytes;
  copy->height = p.Height;
  copy->depth = p.Depth;
  const CUresult result =
      ResolveEnd({p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch,
                  p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ},
                 *copy, &copy->destination);
  if (result != CUDA_SUCCESS) return result;
  return ResolveEnd({p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch,
                     p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ},
                    *copy, &copy->source);
}

CUDA_MEMCPY3D ParametersOf(const Copy& copy) {
  const CopyEnd& to = copy.destination;
  const CopyEnd& from = copy.source;
  CUDA_MEMCPY3D p{};
  p.dstMemoryType = TypeOf(to.side);
  p.dstHost =
      to.side == Side::kHost ? reinterpret_cast<void*>(to.address) : nullptr;
  p.dstDevice = to.side == Side::kHost ? 0 : to.address;
  p.dstPitch = to.pitch;
  p.dstHeight = to.rows;
  p.srcMemoryType = TypeOf(from.side);
  p.srcHost = from.side == Side::kHost
                  ? reinterpret_cast<const void*>(from.address)
                  : nullptr;
  p.srcDevice = from.side == Side::kHost ? 0 : from.address;
  p.srcPitch = from.pitch;
  p.srcHeight = from.rows;
  p.WidthInBytes = copy.width;
  p.Height = copy.height;
  p.Depth = copy.depth;
  return p;
}

}  // namespace holdfast::software
