// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies of rows of arrays. Offsets and widths count bytes.
#include "client/cudart/call.h"
#include "client/cudart/copy_description.h"

using namespace holdfast::libcudart;

namespace {

CUarray ArrayOf(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

CUDA_MEMCPY2D ToArray(cudaArray_t to, size_t x, size_t y, const void* from,
                      size_t pitch, size_t width, size_t height,
                      cudaMemcpyKind kind) {
  CUDA_MEMCPY2D rows =
      DescribeRows(nullptr, 0, from, pitch, width, height, kind);
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.dstArray = ArrayOf(to);
  rows.dstXInBytes = x;
  rows.dstY = y;
  return rows;
}

CUDA_MEMCPY2D FromArray(void* to, size_t pitch, cudaArray_const_t from,
                        size_t x, size_t y, size_t width, size_t height,
                        cudaMemcpyKind kind) {
  CUDA_MEMCPY2D rows = DescribeRows(to, pitch, nullptr, 0, width, height, kind);
  rows.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.srcArray = ArrayOf(from);
  rows.srcXInBytes = x;
  rows.srcY = y;
  return rows;
}

cudaError_t Copy(const CUDA_MEMCPY2D& rows, cudaMemcpyKind kind) {
  if (!IsDirection(kind)) return Record(cudaErrorInvalidMemcpyDirection);
  return CallInContext(&Driver::Memcpy2DUnaligned, &rows);
}

cudaError_t CopyAsync(const CUDA_MEMCPY2D& rows, cudaMemcpyKind kind,
                      cudaStream_t stream) {
  if (!IsDirection(kind)) return Record(cudaErrorInvalidMemcpyDirection);
  return CallInContext(&Driver::Memcpy2DAsync, &rows, stream);
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y,
                                const void* from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return Copy(ToArray(to, x, y, from, pitch, width, height, kind), kind);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y,
                                     const void* from, size_t pitch,
                                     size_t width, size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return CopyAsync(ToArray(to, x, y, from, pitch, width, height, kind), kind,
                   stream);
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch,
                                  cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height,
                                  cudaMemcpyKind kind) {
  return Copy(FromArray(to, pitch, from, x, y, width, height, kind), kind);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch,
                                       cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height,
                                       cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return CopyAsync(FromArray(to, pitch, from, x, y, width, height, kind), kind,
                   stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  CUDA_MEMCPY2D rows =
      FromArray(nullptr, 0, from, from_x, from_y, width, height, kind);
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.dstArray = ArrayOf(to);
  rows.dstXInBytes = to_x;
  rows.dstY = to_y;
  return Copy(rows, kind);
}

}  // extern "C"
