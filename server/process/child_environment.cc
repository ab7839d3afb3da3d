// SPDX-License-Identifier: Apache-2.0
#include "server/process/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace holdfast {
namespace {

// A name that ends with '_' stands for all that begin with it.
constexpr absl::string_view kPassed[] = {
    // Where drivers and compilers are.
    "LD_LIBRARY_PATH", "CUDA_HOME", "HOLDFAST_SOFTWARE_",
    // Which devices there are, and how libcuda treats them.
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING",
    "CUDA_MPS_", "CUDA_LOG_FILE", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    // Read by gRPC and libc.
    "GRPC_POLL_STRATEGY", "GRPC_VERBOSITY", "GRPC_TRACE", "TZ", "ASAN_OPTIONS",
    "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"};

// Where generated code is kept: the supervisor does that for executors.
constexpr absl::string_view kKept[] = {"HOLDFAST_SOFTWARE_CACHE"};

// Code goes to the device when a module is loaded. By default that happens at a
// kernel's first launch, which then waits for the whole device: for ever, if a
// stream there waits for what the same client signals later.
constexpr char kLoading[] = "CUDA_MODULE_LOADING=EAGER";

bool Names(absl::string_view entry, absl::string_view name) {
  if (!absl::StartsWith(entry, name)) return false;
  return absl::EndsWith(name, "_") || entry.substr(name.size(), 1) == "=";
}

bool IsPassed(absl::string_view entry) {
  const auto names = [entry](absl::string_view name) {
    return Names(entry, name);
  };
  return std::any_of(std::begin(kPassed), std::end(kPassed), names) &&
         std::none_of(std::begin(kKept), std::end(kKept), names);
}

}  // namespace

std::vector<std::string> ChildEnvironment(const std::vector<std::string>& own) {
  std::vector<std::string> passed = own;
  bool has_loading = false;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view name(*entry, strcspn(*entry, "="));
    const bool replaced =
        std::any_of(own.begin(), own.end(),
                    [name](absl::string_view one) { return Names(one, name); });
    if (replaced || !IsPassed(*entry)) continue;
    passed.emplace_back(*entry);
    has_loading = has_loading || Names(*entry, "CUDA_MODULE_LOADING");
  }
  if (!has_loading) passed.emplace_back(kLoading);
  return passed;
}

}  // namespace holdfast
