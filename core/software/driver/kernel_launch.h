// SPDX-License-Identifier: Apache-2.0
//
// Launches of kernels, checked before they are enqueued or put into a graph.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_KERNEL_LAUNCH_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_KERNEL_LAUNCH_H_

#include <memory>
#include <string>

#include "core/software/driver/defects.h"
#include "core/software/driver/device.h"
#include "core/software/driver/library.h"
#include "core/software/driver/stream.h"
#include "core/software/runtime/executable.h"
#include "cuda.h"

namespace holdfast::software {

// One launch with all that it needs. Keeps the code alive. The parameters are
// copied, so that the caller may change its own at once.
struct KernelLaunch {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Executable> code;  // for the context of the launch
  LaunchGeometry geometry;
  std::string parameters;         // the parameter block
  Defect defect = Defect::kNone;  // the defect of the device (defects.h)
};

// Applies one attribute to *geometry. Returns CUDA_ERROR_NOT_SUPPORTED for an
// attribute that would change the result of the launch and cannot be served.
// Hints about caches and scheduling are accepted and ignored.
CUresult ApplyAttribute(const CUlaunchAttribute& attribute,
                        LaunchGeometry* geometry);

// Returns CUDA_ERROR_NOT_SUPPORTED, with the reason. REQUIRES: the kernel's
// KernelProperties::unsupported is not empty.
CUresult RefuseUnsupported(const Kernel& kernel);

// Checks that a device can run the kernel with this geometry, and gives it the
// cluster that the kernel requires. A refusal has a reason (refusal.h).
// CUDA_ERROR_NOT_SUPPORTED: the kernel needs a feature that the device lacks.
// CUDA_ERROR_INVALID_VALUE: a dimension, the threads or the shared memory are
//   over a limit, or not what the kernel requires.
// CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: not all blocks fit at a time.
// CUDA_ERROR_INVALID_CLUSTER_SIZE: see cluster.h.
CUresult CheckGeometry(const Kernel& kernel, const Device& device,
                       LaunchGeometry* geometry);

// Sets *geometry from `config` and its attributes. Fails as ApplyAttribute.
// CUDA_ERROR_INVALID_VALUE: `config` is null, or its list of attributes is null
// and their number is not 0.
CUresult ReadConfig(const CUlaunchConfig* config, LaunchGeometry* geometry);

// Checks a launch in `context` and fills *launch. The parameters are copied
// from `values` or `extra`, which mean the same as in cuLaunchKernel.
// CUDA_ERROR_INVALID_HANDLE: the kernel's module is another context's;
// CUDA_ERROR_OUT_OF_MEMORY: no room for the module's variables.
CUresult PrepareLaunch(std::shared_ptr<Kernel> kernel, const Context& context,
                       LaunchGeometry geometry, void** values, void** extra,
                       KernelLaunch* launch);

// Records the fault of a launch that failed as the process's. The first fault
// of the process stays.
void ReportOutcome(const LaunchOutcome& outcome);

// Runs the launch on the calling thread and the workers, and reports a fault.
// Blocks for the whole kernel, which ends with a fault at the launch timeout of
// the settings.
void Run(const KernelLaunch& launch);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_KERNEL_LAUNCH_H_
