// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_MEMORY_RUNS_H_
#define HOLDFAST_CLIENT_CUDA_MEMORY_RUNS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cpp/buffer.h"
#include "client/cuda/memory_map.h"
#include "cuda.h"

namespace holdfast::libcuda {

// Memory of one device that is mapped at reserved addresses without gaps.
struct MemoryRun {
  CUdeviceptr address = 0;
  uint64_t size = 0;
  int ordinal = 0;
};

// A reservation's allocations in the program's memory map: one for each run, so
// that a copy may reach over the seams of mappings. Thread-compatible.
class MemoryRuns {
 public:
  // Makes an allocation for each of `runs`, which are sorted by address, and
  // removes the reservation's other allocations from `map`. `part` makes a
  // run's buffer. Memory that is in a run before and after has an allocation
  // at every moment, because other threads may use it.
  // Returns the first error of `part`. After an error, a run without a buffer
  // has no allocation until a later Update; everything else is done.
  absl::Status Update(
      MemoryMap& map, absl::Span<const MemoryRun> runs,
      absl::FunctionRef<absl::StatusOr<Buffer>(const MemoryRun&)> part);

 private:
  std::vector<CUdeviceptr> addresses_;  // of its allocations
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_MEMORY_RUNS_H_
