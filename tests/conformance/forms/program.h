// SPDX-License-Identifier: Apache-2.0
//
// Generates PTX that tests operations, and runs it on a driver.
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

// Operations with the same kinds of sources, tested by one module. The module
// has two kernels: in `lanes` each thread has an input of its own, in `uniform`
// all threads of a block have the same input.
struct Batch {
  std::vector<Case> cases;
};

// Returns the batches of all operations of the spellings.
std::vector<Batch> MakeBatches(const std::vector<std::string>& spellings);
std::string PtxOf(const Batch& batch);

// The results, 64 bits each, by case, result and input.
using Outputs = std::vector<std::vector<std::vector<uint64_t>>>;

// A driver, loaded and with a context. A failure to load it ends the process.
class Machine {
 public:
  // `library` is a driver such as libcuda.so.1; "": this build's software
  // driver.
  explicit Machine(const std::string& library);

  // Runs the batch, and sets `outputs`. Returns the text of an error; empty on
  // success.
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
