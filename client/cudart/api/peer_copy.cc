// SPDX-License-Identifier: Apache-2.0
//
// Entry points: copies between devices, which have no form for per-thread
// default streams.
#include "client/cudart/call.h"

using namespace holdfast::libcudart;

namespace {

// body(const Driver&, CUcontext to, CUcontext from).
template <typename Body>
cudaError_t BetweenDevices(int to, int from, Body body) {
  return WithContext([&](const Driver& driver) -> cudaError_t {
    CUcontext to_context = nullptr;
    CUcontext from_context = nullptr;
    cudaError_t error = PrimaryContext(driver, to, &to_context);
    if (error != cudaSuccess) return error;
    error = PrimaryContext(driver, from, &from_context);
    if (error != cudaSuccess) return error;
    return Translate(body(driver, to_context, from_context));
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from,
                           int from_device, size_t size) {
  return BetweenDevices(
      to_device, from_device,
      [&](const Driver& driver, CUcontext to_context, CUcontext from_context) {
        return size == 0 ? CUDA_SUCCESS
                         : driver.MemcpyPeer(Address(to), to_context,
                                             Address(from), from_context, size);
      });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                int from_device, size_t size,
                                cudaStream_t stream) {
  return BetweenDevices(
      to_device, from_device,
      [&](const Driver& driver, CUcontext to_context, CUcontext from_context) {
        return size == 0 ? CUDA_SUCCESS
                         : driver.MemcpyPeerAsync(Address(to), to_context,
                                                  Address(from), from_context,
                                                  size, stream);
      });
}

}  // extern "C"
