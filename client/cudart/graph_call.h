// SPDX-License-Identifier: Apache-2.0
//
// The common beginning of entry points for nodes of graphs: converts their
// parameters to the driver's form.
#ifndef HOLDFAST_CLIENT_CUDART_GRAPH_CALL_H_
#define HOLDFAST_CLIENT_CUDART_GRAPH_CALL_H_

#include "client/cudart/call.h"
#include "client/cudart/copy_description.h"
#include "client/cudart/graph_description.h"

namespace holdfast::libcudart {

// Calls body(const Driver&, const CUDA_KERNEL_NODE_PARAMS*) with the converted
// parameters.
template <typename Body>
cudaError_t WithKernelNode(const cudaKernelNodeParams* node, Body body) {
  if (node == nullptr) return Record(cudaErrorInvalidValue);
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUDA_KERNEL_NODE_PARAMS described;
    const cudaError_t error = DescribeKernelNode(driver, *node, &described);
    return error != cudaSuccess ? error : Translate(body(driver, &described));
  });
}

// Calls describe(const Driver&, CUDA_MEMCPY3D*), which returns a cudaError_t,
// then body(const Driver&, const CUDA_MEMCPY3D*, CUcontext).
template <typename Describe, typename Body>
cudaError_t WithCopyNode(Describe describe, Body body) {
  return WithContext([&](const Driver& driver,
                         CUcontext context) -> cudaError_t {
    CUDA_MEMCPY3D described;
    const cudaError_t error = describe(driver, &described);
    return error != cudaSuccess ? error
                                : Translate(body(driver, &described, context));
  });
}

// Box, Bytes, ToVariable and FromVariable return a `describe` function for
// WithCopyNode: for a copy of a box, of bytes, and to and from a variable.
inline auto Box(const cudaMemcpy3DParms* box) {
  return [=](const Driver& driver, CUDA_MEMCPY3D* described) {
    return box == nullptr ? cudaErrorInvalidValue
                          : DescribeBox(driver, *box, described);
  };
}
inline auto Bytes(void* to, const void* from, size_t size,
                  cudaMemcpyKind kind) {
  return [=](const Driver&, CUDA_MEMCPY3D* described) {
    if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
    *described = DescribeBytes(to, from, size, kind);
    return cudaSuccess;
  };
}
// Sets *address to the byte at `offset` of a variable. cudaErrorInvalidValue:
// the variable does not have `size` bytes from there on.
inline cudaError_t FindInVariable(const Driver& driver, const void* symbol,
                                  size_t offset, size_t size, char** address) {
  CUdeviceptr first = 0;
  size_t limit = 0;
  const cudaError_t error = FindVariable(driver, symbol, &first, &limit);
  if (error != cudaSuccess) return error;
  if (offset > limit || size > limit - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<char*>(first) + offset;
  return cudaSuccess;
}
inline auto ToVariable(const void* symbol, const void* from, size_t size,
                       size_t offset, cudaMemcpyKind kind) {
  return [=](const Driver& driver, CUDA_MEMCPY3D* described) {
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) {
      return cudaErrorInvalidMemcpyDirection;
    }
    char* to = nullptr;
    const cudaError_t error = FindInVariable(driver, symbol, offset, size, &to);
    return error != cudaSuccess
               ? error
               : Bytes(to, from, size, kind)(driver, described);
  };
}
inline auto FromVariable(void* to, const void* symbol, size_t size,
                         size_t offset, cudaMemcpyKind kind) {
  return [=](const Driver& driver, CUDA_MEMCPY3D* described) {
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) {
      return cudaErrorInvalidMemcpyDirection;
    }
    char* from = nullptr;
    const cudaError_t error =
        FindInVariable(driver, symbol, offset, size, &from);
    return error != cudaSuccess
               ? error
               : Bytes(to, from, size, kind)(driver, described);
  };
}

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_GRAPH_CALL_H_
