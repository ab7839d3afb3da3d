// SPDX-License-Identifier: Apache-2.0
//
// Compiles and runs a case on a driver.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TRIAL_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TRIAL_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"
#include "core/cuda/driver_loader.h"
#include "tests/conformance/random_c/reference.h"

namespace holdfast::random_c {

// A driver and NVRTC.
class Device {
 public:
  // Loads a driver: the software driver of this build if `library` is empty,
  // else a library such as libcuda.so.1. Ends the process with a message if the
  // driver or NVRTC cannot be loaded.
  explicit Device(const std::string& library);

  // Runs the case. Returns an empty text if the results are the expected ones,
  // else the differences or the error. After a fault the text begins with
  // kFaulted, and this process can run no other case.
  std::string Try(const Case& one) const;
  // Returns the PTX that Try runs. On an error returns an empty text and sets
  // *error.
  std::string Compile(const Case& one, std::string* error) const;

  static constexpr char kFaulted[] = "running: ";

 private:
  std::string Run(const Case& one, CUmodule module) const;

  const cuda::DriverApi* api_;
  std::unique_ptr<compile::NvrtcCompiler> compiler_;
};

// Returns a set of nodes, out of `nodes`, without which the program still
// fails. The set is as large as the search finds.
std::set<int> Shrink(
    int nodes, const std::function<bool(const std::set<int>& without)>& fails);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TRIAL_H_
