// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_DRIVER_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_DRIVER_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/driver_loader.h"
#include "core/cuda/kernel.h"
#include "core/cuda/result.h"
#include "core/cuda/stream.h"
#include "cuda.h"

namespace holdfast::bench {

// Device 0 as a program without Holdfast uses it: a driver, one stream, and a
// context that is current in the calling thread. All calls must come from the
// thread that called Open, and the object lives until the process ends.
class NativeDriver {
 public:
  static absl::StatusOr<std::unique_ptr<NativeDriver>> Open(
      const cuda::DriverOptions& options);

  const cuda::DriverApi& api() const { return driver_->api; }
  const std::shared_ptr<const cuda::Context>& context() const {
    return context_;
  }
  CUstream stream() const { return stream_->handle(); }

  // Loads a PTX or cubin image, and returns its kernel of this name.
  absl::StatusOr<std::shared_ptr<const cuda::Kernel>> Load(
      const std::string& image, const std::string& kernel) const;

  // Launches a kernel as a native program does, without any checks.
  absl::Status Launch(const cuda::Kernel& kernel, uint32_t grid, uint32_t block,
                      void** arguments) const {
    CUlaunchConfig config{};
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = block;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream();
    HOLDFAST_CUDA_RETURN_IF_ERROR(
        api(),
        cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel.handle()),
                         arguments, nullptr));
    return absl::OkStatus();
  }

  absl::Status Synchronize() const {
    HOLDFAST_CUDA_RETURN_IF_ERROR(api(), cuStreamSynchronize(stream()));
    return absl::OkStatus();
  }

 private:
  NativeDriver() = default;

  std::unique_ptr<const cuda::Driver> driver_;
  std::shared_ptr<const cuda::Context> context_;
  std::unique_ptr<cuda::Stream> stream_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_DRIVER_H_
