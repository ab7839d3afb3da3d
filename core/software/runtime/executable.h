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

// The offset and the size, in bytes, of one parameter in the parameter block.
// The parameter block has the bytes of all parameters of a launch.
struct KernelParameter {
  size_t offset = 0;
  size_t size = 0;
};

// The properties of a kernel, for cuKernelGetAttribute, cuKernelGetParamInfo
// and the checks of launches. They are fixed when the image is loaded.
struct KernelProperties {
  std::string name;
  // The parameters in the order of their declaration.
  std::vector<KernelParameter> parameters;
  size_t parameter_bytes = 0;
  size_t static_shared_bytes = 0;
  size_t constant_bytes = 0;
  size_t local_bytes = 0;  // per thread
  // The number of registers that the PTX declares, but at most .maxnreg. It is
  // also at most the share of one thread if .minnctapersm blocks of .maxntid
  // threads share the registers of a multiprocessor.
  int registers = 0;
  // The number of threads of .reqntid or .maxntid, otherwise 1024.
  int max_threads_per_block = 1024;
  uint32_t required_block[3] = {0, 0, 0};  // .reqntid; zeros: free
  // .reqnctapercluster, in blocks; zeros: free.
  uint32_t required_cluster[3] = {0, 0, 0};
  uint32_t max_cluster_blocks = 0;   // .maxclusterrank; 0: the device's
  bool cluster_must_be_set = false;  // .explicitcluster
  int ptx_version = 0;               // 10 * major + minor of .target sm
  // The reason why the kernel cannot be launched on this device, as
  // "line:column: reason"; empty: the kernel can be launched.
  std::string unsupported;
};

// A .global or .const variable, with its address in this process. The variable
// lies in the window, the memory that kernels can access (abi/window.h).
struct GlobalVariable {
  std::string name;
  void* address = nullptr;
  size_t size = 0;
};

// The shape of a launch, and the sizes of memory for the launch.
struct LaunchGeometry {
  uint32_t grid[3] = {1, 1, 1};   // in blocks
  uint32_t block[3] = {1, 1, 1};  // in threads
  size_t dynamic_shared_bytes = 0;
  // True: all blocks are resident at once, so that they can wait for each
  // other.
  bool cooperative = false;
  // The size of a cluster, in blocks. The size divides the grid. The blocks of
  // a cluster are resident at once, and can access each other's shared memory.
  // Zeros: there are no clusters.
  uint32_t cluster[3] = {0, 0, 0};
  // The size of a larger cluster that the device may use instead; zeros: none.
  uint32_t preferred_cluster[3] = {0, 0, 0};
  // The bytes of the buffer for printf in kernels (CU_LIMIT_PRINTF_FIFO_SIZE).
  size_t print_bytes = size_t{8} << 20;
  // The bytes of each thread's stack, for nested calls (CU_LIMIT_STACK_SIZE).
  size_t stack_bytes = 1024;
};

// The outcome of a launch. `result` is the error of a fault, which the driver
// returns until the process ends. `message` names the kernel, block, thread and
// PTX line of the fault, and is empty on success.
struct LaunchOutcome {
  CUresult result = CUDA_SUCCESS;
  std::string message;
};

// A kernel with its code for one launch geometry. Repeated launches, such as
// the launches of a graph, then need no lookup of the code. Thread-safe.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;

  // Runs the kernel with the prepared geometry, as Executable::Launch does.
  virtual LaunchOutcome Run(const void* parameters,
                            const std::atomic<bool>* cancel) const = 0;
};

// One PTX module translated for this CPU. Immutable after Load, except the
// values of its variables. Thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;

  // Parses and checks `ptx`, which needs no terminating zero. The code of a
  // kernel is generated at the first launch with a block shape. On failure
  // returns the CUresult that cuModuleLoadData returns (CUDA_ERROR_INVALID_PTX,
  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ...), and sets *error_log to lines of
  // the form "line:column: reason".
  static CUresult Load(absl::string_view ptx,
                       std::unique_ptr<Executable>* executable,
                       std::string* error_log);

  // Does the same as Load, for several modules that are linked. A definition in
  // one module satisfies an extern declaration in another module. Errors of
  // linking name symbols, without a line.
  static CUresult LoadLinked(const std::vector<std::string>& modules,
                             std::unique_ptr<Executable>* executable,
                             std::string* error_log);

  // Returns the indices of the archive members that a linker must add to
  // `modules`. Each of these members defines a symbol that would otherwise be
  // undefined.
  static std::vector<size_t> MembersNeeded(
      const std::vector<std::string>& modules,
      const std::vector<std::string>& members);

  // Checks one module before linking. Fails as Load does, except that undefined
  // symbols are no error.
  static CUresult Check(absl::string_view ptx, std::string* error_log);

  // Returns a copy with variables of its own, which have their initial values;
  // null if there is no memory. Compiles nothing: the code of each copy is
  // generated at the first launch of a kernel of the copy.
  virtual std::unique_ptr<Executable> Clone() const = 0;

  // Returns the kernels in the order of the PTX text. Launch takes an index of
  // this list.
  virtual const std::vector<KernelProperties>& kernels() const = 0;
  // Returns the number of the .target, such as 90 for sm_90. For linked
  // modules, returns the highest number.
  virtual int target() const = 0;
  // Returns the variables with their addresses in this copy (see Clone).
  virtual const std::vector<GlobalVariable>& globals() const = 0;

  // Runs kernel `index` on the calling thread and the shared worker threads,
  // and blocks until it is done. First compiles the code for the block shape if
  // necessary. `parameters` has kernels()[index].parameter_bytes bytes. If
  // another thread sets *cancel, the launch ends early with
  // CUDA_ERROR_LAUNCH_TIMEOUT. Several threads may launch at once.
  // CUDA_ERROR_LAUNCH_FAILED: the kernel cannot be compiled; the message has
  // the reason. REQUIRES: the geometry is within the device's limits.
  virtual LaunchOutcome Launch(size_t index, const LaunchGeometry& geometry,
                               const void* parameters,
                               const std::atomic<bool>* cancel) = 0;

  // Finds or compiles the code for later launches. Returns null, with the
  // reason in *error, on failure. REQUIRES: the executable outlives the result.
  virtual std::unique_ptr<PreparedLaunch> PrepareLaunch(
      size_t index, const LaunchGeometry& geometry, std::string* error) = 0;
};

// Sets the size of the heap of malloc in device code
// (CU_LIMIT_MALLOC_HEAP_SIZE). The default is 8 MiB. Returns false, and changes
// nothing, after the first allocation from the heap.
bool SetDeviceHeapBytes(size_t bytes);

// Frees the heap with all of its blocks, and resets its size to the default.
// REQUIRES: no kernel runs.
void EndDeviceHeap();

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_EXECUTABLE_H_
