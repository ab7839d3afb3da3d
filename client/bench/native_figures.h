// SPDX-License-Identifier: Apache-2.0
//
// The baselines that come from the driver itself. They are measured in a
// process of their own (native_process.h), as a program without Holdfast would
// run, so that its context and the executor's do not share one.
#ifndef HOLDFAST_CLIENT_BENCH_NATIVE_FIGURES_H_
#define HOLDFAST_CLIENT_BENCH_NATIVE_FIGURES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/bench/summary.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::bench {

// The figures by name: "launch_rate", "pinned_in/65536".
using NativeFigures = std::map<std::string, Summary>;

// Measures one group: "session", "launch", "copy", "memory", "event",
// "compile", "application", "devices", "graph", "sharing". NOT_FOUND: there is
// no such group.
absl::StatusOr<NativeFigures> MeasureNative(absl::string_view group, bool quick,
                                            const cuda::DriverOptions& driver);

// Converts figures to text, one line per figure, and back.
std::string Serialize(const NativeFigures& figures);
absl::StatusOr<NativeFigures> ParseNativeFigures(absl::string_view text);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NATIVE_FIGURES_H_
