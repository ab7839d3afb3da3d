// SPDX-License-Identifier: Apache-2.0
//
// A compiler worker alone, as the daemon would start it, with little memory
// and time: compiler_worker_program CPU_SECONDS MEMORY_MIB; behind them, what
// the spawner adds about namespaces.
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/unique_fd.h"
#include "server/channel/channel.h"
#include "server/compile/compiler_main.h"
#include "server/process/spawner.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  holdfast::CompilerLimits limits;
  limits.cpu_time = absl::Seconds(std::atoi(argv[1]));
  limits.memory_bytes = static_cast<uint64_t>(std::atoi(argv[2])) << 20;
  holdfast::SandboxStart sandbox;
  for (int i = 3; i < argc; ++i) {
    absl::string_view flag = argv[i];
    int value = 0;
    if (absl::ConsumePrefix(&flag, "--own-namespaces=") &&
        absl::SimpleAtoi(flag, &value)) {
      sandbox.own_namespaces = static_cast<holdfast::Namespaces>(value);
    }
  }
  return holdfast::CompilerMain(
      holdfast::Channel(holdfast::UniqueFd(holdfast::kChildChannelFd)), limits,
      sandbox);
}
