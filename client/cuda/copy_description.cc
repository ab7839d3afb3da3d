// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/copy_description.h"

namespace holdfast::libcuda {
namespace {

// One end of a copy of two or three dimensions, as its struct says it.
struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t pitch;
  size_t rows;  // of a slice
  size_t x, y, z;
};

CUresult FindStart(const End& end, CopyEnd* start) {
  switch (end.type) {
    case CU_MEMORYTYPE_HOST:
      *start = {reinterpret_cast<uint64_t>(end.host), Side::kHost};
      break;
    case CU_MEMORYTYPE_DEVICE:
      *start = {end.device, Side::kDevice};
      break;
    case CU_MEMORYTYPE_UNIFIED:
      *start = {end.device, Side::kAny};
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return start->address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Adds the distance of the box to *address.
bool AddOffset(const End& end, uint64_t row, uint64_t rows, uint64_t* address) {
  uint64_t offset = 0;
  return !__builtin_mul_overflow(end.z, rows, &offset) &&
         !__builtin_add_overflow(offset, end.y, &offset) &&
         !__builtin_mul_overflow(offset, row, &offset) &&
         !__builtin_add_overflow(offset, end.x, &offset) &&
         !__builtin_add_overflow(*address, offset, address);
}

// The end's first byte and its distances.
CUresult Locate(const End& end, const BoxCopy& box, CopyEnd* start,
                Pitches* pitches) {
  const CUresult result = FindStart(end, start);
  if (result != CUDA_SUCCESS) return result;
  const uint64_t row = end.pitch != 0 ? end.pitch : box.width + end.x;
  const uint64_t rows = end.rows != 0 ? end.rows : box.height + end.y;
  if (row < box.width || row - box.width < end.x ||
      (box.depth > 1 && (rows < box.height || rows - box.height < end.y))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  pitches->row = row;
  return !__builtin_mul_overflow(row, rows, &pitches->slice) &&
                 AddOffset(end, row, rows, &start->address)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult DescribeEnds(const End& to, const End& from, const BoxCopy& box,
                      CopyDescription* copy) {
  copy->box = box;
  if (copy->is_empty()) return CUDA_SUCCESS;
  const CUresult result =
      Locate(to, box, &copy->destination, &copy->box.destination);
  return result != CUDA_SUCCESS
             ? result
             : Locate(from, box, &copy->source, &copy->box.source);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
template <typename Parameters>
CUresult DescribeVolume(const Parameters& p, CopyDescription* copy) {
  if (p.srcLOD != 0 || p.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  return DescribeEnds(
      {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, p.dstHeight,
       p.dstXInBytes, p.dstY, p.dstZ},
      {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, p.srcHeight,
       p.srcXInBytes, p.srcY, p.srcZ},
      {.width = p.WidthInBytes, .height = p.Height, .depth = p.Depth}, copy);
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

// The rows of a slice, as CUDA's structs count them.
uint64_t RowsOf(const Pitches& pitches) {
  return pitches.row == 0 ? 0 : pitches.slice / pitches.row;
}

}  // namespace

absl::StatusOr<Operand> Resolve(const MemoryMap& memory, const CopyEnd& end) {
  if (end.side == Side::kDevice) return Operand::OnDevice(memory, end.address);
  return Operand::At(memory, end.address);
}

CUresult Describe(const CUDA_MEMCPY2D& p, CopyDescription* copy) {
  return DescribeEnds({p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch, 0,
                       p.dstXInBytes, p.dstY, 0},
                      {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch, 0,
                       p.srcXInBytes, p.srcY, 0},
                      {.width = p.WidthInBytes, .height = p.Height}, copy);
}

CUresult Describe(const CUDA_MEMCPY3D& p, CopyDescription* copy) {
  return DescribeVolume(p, copy);
}

CUresult Describe(const CUDA_MEMCPY3D_PEER& p, CopyDescription* copy) {
  return DescribeVolume(p, copy);
}

CUDA_MEMCPY3D ParametersOf(const CopyDescription& copy) {
  CUDA_MEMCPY3D p{};
  p.dstMemoryType = TypeOf(copy.destination.side);
  p.srcMemoryType = TypeOf(copy.source.side);
  if (copy.destination.side == Side::kHost) {
    p.dstHost = reinterpret_cast<void*>(copy.destination.address);
  } else {
    p.dstDevice = copy.destination.address;
  }
  if (copy.source.side == Side::kHost) {
    p.srcHost = reinterpret_cast<const void*>(copy.source.address);
  } else {
    p.srcDevice = copy.source.address;
  }
  p.dstPitch = copy.box.destination.row;
  p.dstHeight = RowsOf(copy.box.destination);
  p.srcPitch = copy.box.source.row;
  p.srcHeight = RowsOf(copy.box.source);
  p.WidthInBytes = copy.box.width;
  p.Height = copy.box.height;
  p.Depth = copy.box.depth;
  return p;
}

}  // namespace holdfast::libcuda
