// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_PROCESS_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_PROCESS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/native_figures.h"

namespace holdfast::bench {

// Runs MeasureNative (native_figures.h) for `group` in a new process, and
// returns its figures. Blocks until the process has ended. Its command line is
//
//   PROGRAM bench --native=GROUP --device=cuda|cpu --driver=PATH [--quick]
//
// where PROGRAM is this program. UNAVAILABLE: the process failed. It has
// printed the reason to stderr.
absl::StatusOr<NativeFigures> RunNativeProcess(const std::string& group,
                                               bool quick,
                                               const std::string& device,
                                               const std::string& driver_path);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_PROCESS_H_
