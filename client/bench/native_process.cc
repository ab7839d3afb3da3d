// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_process.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/bench_process.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {

absl::StatusOr<NativeFigures> RunNativeProcess(const std::string& group,
                                               bool quick,
                                               const std::string& device,
                                               const std::string& driver_path) {
  std::vector<std::string> arguments = {absl::StrCat("--native=", group),
                                        absl::StrCat("--device=", device),
                                        absl::StrCat("--driver=", driver_path)};
  if (quick) arguments.push_back("--quick");
  HOLDFAST_ASSIGN_OR_RETURN(const auto process,
                            BenchProcess::Start(std::move(arguments)));
  const std::string text = process->ReadAll();
  if (process->Wait()) return ParseNativeFigures(text);
  return absl::UnavailableError(
      absl::StrCat("no native figures of \"", group, "\""));
}

}  // namespace holdfast::bench
