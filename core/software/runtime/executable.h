// SPDX-License-Identifier: Apache-2.0
//
// The interface between the driver's API objects (core/software/driver) and the
// code that compiles PTX for this CPU and runs it (ptx, lower, jit, runtime).
//
// The driver loads an image once, and launches its kernels by index:
//
//   std::unique_ptr<Executable> code;
//   std::string log;
//   CUresult result = Executable::Load(ptx, &code, &log);
//   LaunchOutcome outcome =
//       code->Launch(0, geometry, parameters, &cancel);
//
// The code below this interface does not depend on CUDA's handles and contexts.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_EXECUTABLE_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_EXECUTABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::software {

// Byte offset and size of one parameter within the parameter block.
struct KernelParameter {
  size_t offset = 0;
  size_t size = 0;
};

// The properties for cuKernelGetAttribute, cuKernelGetParamInfo and the checks
// of launches. Fixed when the image is loaded.
struct KernelProperties {
  std::string name;
  // In the order of the declaration.
  std::vector<KernelParameter> parameters;
  size_t parameter_bytes = 0;
  size_t static_shared_bytes = 0;
  size_t constant_bytes = 0;
  size_t local_bytes = 0;  // per thread
  // Those that the PTX declares, at most what .maxnreg allows, and what is left
  // for each thread of a block of .maxntid, or of .minnctapersm such blocks.
  int registers = 0;
  // The value of .reqntid or .maxntid, else 1024.
  int max_threads_per_block = 1024;
  uint32_t required_block[3] = {0, 0, 0};  // .reqntid; zeros: free
  // .reqnctapercluster, in blocks; zeros: free.
  uint32_t required_cluster[3] = {0, 0, 0};
  uint32_t max_cluster_blocks = 0;   // .maxclusterrank; 0: the device's
  bool cluster_must_be_set = false;  // .explicitcluster
  int ptx_version = 0;               // 10 * major + minor of .target sm
  // The reason why the kernel cannot be launched on this device, as
  // "line:column: reason"; empty: it can.
  std::string unsupported;
};

// A .global or .const variable, with its address in this process. The bytes lie
// in the memory that kernels can access (window.h).
struct GlobalVariable {
  std::string name;
  void* address = nullptr;
  size_t size = 0;
};

// The shape of a launch, and the memory that it needs besides the code.
struct LaunchGeometry {
  uint32_t grid[3] = {1, 1, 1};   // in blocks
  uint32_t block[3] = {1, 1, 1};  // in threads
  size_t dynamic_shared_bytes = 0;
  // All blocks are resident at once, so that they can wait for each other.
  bool cooperative = false;
  // The size of a cluster, in blocks; it divides the grid. The blocks of a
  // cluster are resident at once, and reach each other's shared memory. Zeros:
  // there are no clusters.
  uint32_t cluster[3] = {0, 0, 0};
  // A larger cluster that the device may use instead; zeros: none.
  uint32_t preferred_cluster[3] = {0, 0, 0};
  // Bytes of the buffer for printf in kernels (CU_LIMIT_PRINTF_FIFO_SIZE).
  size_t print_bytes = size_t{8} << 20;
  // Bytes of each thread's stack, for nested calls (CU_LIMIT_STACK_SIZE).
  size_t stack_bytes = 1024;
};

// The outcome of a launch. `message` names kernel, block, thread and PTX line
// of a fault, and is empty on success. `result` is the error that the driver
// returns until the process ends.
struct LaunchOutcome {
  CUresult result = CUDA_SUCCESS;
  std::string message;
};

// A kernel with its code for one launch geometry. Repeated launches, such as
// those of a graph, need no lookup of the code. Thread-safe.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;

  // Runs the kernel with the prepared geometry, as Executable::Launch does.
  virtual LaunchOutcome Run(const void* parameters,
                            const std::atomic<bool>* cancel) const = 0;
};

// One PTX module translated for this CPU. Immutable after Load, apart from the
// values of its variables; thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;

  // Parses and checks `ptx` (without a terminating zero). Code for a kernel is
  // generated at the first launch with a block shape. On failure returns the
  // CUresult that cuModuleLoadData returns (CUDA_ERROR_INVALID_PTX,
  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ...) and puts "line:column: reason"
  // lines into *error_log.
  static CUresult Load(absl::string_view ptx,
                       std::unique_ptr<Executable>* executable,
                       std::string* error_log);

  // Does the same as Load, for the modules of a linker: a definition in one
  // module satisfies an extern declaration in another. Link errors name
  // symbols, without a line.
  static CUresult LoadLinked(const std::vector<std::string>& modules,
                             std::unique_ptr<Executable>* executable,
                             std::string* error_log);

  // Returns the indices of the archive members that a linker adds to `modules`:
  // each of them defines a symbol that would otherwise be undefined.
  static std::vector<size_t> MembersNeeded(
      const std::vector<std::string>& modules,
      const std::vector<std::string>& members);

  // Checks one module before linking, and returns the result that Load would.
  // Only parses: undefined symbols are no error.
  static CUresult Check(absl::string_view ptx, std::string* error_log);

  // Returns a copy with variables of its own, at their initial values; null if
  // there is no memory. Compiles nothing: each copy's code is generated at its
  // first launch.
  virtual std::unique_ptr<Executable> Clone() const = 0;

  // Returns the kernels in the order of the PTX text. Launch takes an index of
  // this list.
  virtual const std::vector<KernelProperties>& kernels() const = 0;
  // Returns 90 for .target sm_90. Returns the newest target of linked modules.
  virtual int target() const = 0;
  // Returns the variables with their addresses in this copy (see Clone).
  virtual const std::vector<GlobalVariable>& globals() const = 0;

  // Runs kernel `index` to completion on the calling thread and the shared
  // worker threads. Compiles the code for the block shape first if necessary.
  // `parameters` holds kernels()[index].parameter_bytes bytes. Setting *cancel
  // ends the launch early with CUDA_ERROR_LAUNCH_TIMEOUT. Several threads may
  // launch at once. CUDA_ERROR_LAUNCH_FAILED: the kernel cannot be compiled;
  // the message has the reason. REQUIRES: the geometry is within the device's
  // limits.
  virtual LaunchOutcome Launch(size_t index, const LaunchGeometry& geometry,
                               const void* parameters,
                               const std::atomic<bool>* cancel) = 0;

  // Finds or compiles the code for a launch in advance. Returns null, with the
  // reason in *error, on failure. REQUIRES: the executable outlives the result.
  virtual std::unique_ptr<PreparedLaunch> PrepareLaunch(
      size_t index, const LaunchGeometry& geometry, std::string* error) = 0;
};

// Sets the heap size of malloc in device code (CU_LIMIT_MALLOC_HEAP_SIZE). The
// default is 8 MiB. Returns false after the first allocation from the heap.
bool SetDeviceHeapBytes(size_t bytes);

// Ends that heap with all of its blocks. The next one has the default size.
// REQUIRES: no kernel runs.
void EndDeviceHeap();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_EXECUTABLE_H_
