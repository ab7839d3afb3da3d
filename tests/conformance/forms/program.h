// SPDX-License-Identifier: Apache-2.0
//
// PTX that tries operations, and a driver that runs it.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_PROGRAM_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_PROGRAM_H_

#include <string>
#include <vector>

#include "core/cuda/driver_api.h"
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {

struct Case {
  std::string name;  // the spelling, with "#n" if it has several operations
  std::string spelling;
  Operation operation;
};

// Operations with the same kinds of sources, which one module tries. The module
// has two kernels: in `lanes` each thread has an input of its own, in `uniform`
// all threads of a block have the same input.
struct Batch {
  std::vector<Case> cases;
};

// In the order of the names.
std::vector<Batch> MakeBatches(const std::vector<std::string>& spellings);
std::string PtxOf(const Batch& batch);

// By case, result and input; each result has 64 bits.
using Outputs = std::vector<std::vector<std::vector<uint64_t>>>;

class Machine {
 public:
  // "": the software driver of this build; else a library like libcuda.so.1.
  explicit Machine(const std::string& library);

  // Returns an error's text, or "" and the results.
  std::string Run(const Batch& batch, bool uniform,
                  const std::vector<Sources>& inputs, Outputs* outputs) const;
  // False after a fault, which ends CUDA for the process.
  bool Works() const;
  const cuda::DriverApi& api() const { return *api_; }

 private:
  const cuda::DriverApi* api_;
};

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_PROGRAM_H_
