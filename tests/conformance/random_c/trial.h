// SPDX-License-Identifier: Apache-2.0
//
// A case on a driver.
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
  // "": the software driver of this build; else a library like libcuda.so.1.
  // Ends the process with a message if there is none.
  explicit Device(const std::string& library);

  // "" if the device leaves what it must, else where it does not, in words;
  // after a fault they begin with kFaulted, and the process cannot go on.
  std::string Try(const Case& one) const;
  // The PTX that Try runs, or "" and why.
  std::string Compile(const Case& one, std::string* error) const;

  static constexpr char kFaulted[] = "running: ";

 private:
  std::string Run(const Case& one, CUmodule module) const;

  const cuda::DriverApi* api_;
  std::unique_ptr<compile::NvrtcCompiler> compiler_;
};

// Nodes without which `fails` still holds for the program, as many as it finds.
std::set<int> Shrink(
    int nodes, const std::function<bool(const std::set<int>& without)>& fails);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TRIAL_H_
