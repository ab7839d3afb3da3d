// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/program.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {

absl::Status MeasureCompiling(Bench& bench) {
  const Program program(kSaxpySource);
  HOLDFAST_RETURN_IF_ERROR(program.Compile(*bench.daemon()).status());
  Figure hit{.group = "compile",
             .name = "compiled before",
             .unit = "µs",
             .baseline = bench.NativeBaseline("compile", "nvrtc_us")};
  HOLDFAST_ASSIGN_OR_RETURN(hit.value, TimeEach(2, bench.quick() ? 5 : 50, [&] {
                              return program.Compile(*bench.daemon()).status();
                            }));
  bench.Add(std::move(hit));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
