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

// One launch, with its kernel, code and parameters. Keeps the code alive. Has a
// copy of the parameters, so that the caller may change its parameters at once.
struct KernelLaunch {
  std::shared_ptr<Kernel> kernel;
  std::shared_ptr<Executable> code;  // the copy for the launch's context
  LaunchGeometry geometry;
  std::string parameters;         // the bytes of all parameters
  Defect defect = Defect::kNone;  // the defect of the device (defects.h)
};

// Applies one attribute to *geometry. Returns CUDA_ERROR_NOT_SUPPORTED for an
// attribute that would change the result of the launch and cannot be served.
// Hints about caches and scheduling are accepted and ignored.
CUresult ApplyAttribute(const CUlaunchAttribute& attribute,
                        LaunchGeometry* geometry);

// Refuses the kernel: returns CUDA_ERROR_NOT_SUPPORTED, with a reason
// (refusal.h). REQUIRES: the kernel's KernelProperties::unsupported is not
// empty.
CUresult RefuseUnsupported(const Kernel& kernel);

// Checks that a device can run the kernel with this geometry. If *geometry has
// no cluster and the kernel requires a cluster, first sets this cluster. Each
// error except CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE has a reason
// (refusal.h).
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
// from `values` or `extra`, which mean the same as in cuLaunchKernel. Fails as
// CheckGeometry, and also with:
// CUDA_ERROR_INVALID_HANDLE: the kernel's module belongs to another context.
// CUDA_ERROR_INVALID_VALUE: `values` and `extra` are both set, both are null
//   for a kernel with parameters, or `extra` is malformed.
// CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: the buffer of `extra` is too long.
// CUDA_ERROR_OUT_OF_MEMORY: there is no memory for the module's variables.
CUresult PrepareLaunch(std::shared_ptr<Kernel> kernel, const Context& context,
                       LaunchGeometry geometry, void** values, void** extra,
                       KernelLaunch* launch);

// Reports the fault of a launch that failed as the fault of the process
// (fault.h). Does nothing for a launch that succeeded.
void ReportOutcome(const LaunchOutcome& outcome);

// Runs the launch on the calling thread and the worker threads, and reports a
// fault. Blocks until the kernel has ended. The kernel ends with a fault when
// it has run for the launch timeout of the settings.
// REQUIRES: StartWatchdog has returned true for the timeout (watchdog.h).
void Run(const KernelLaunch& launch);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_KERNEL_LAUNCH_H_
