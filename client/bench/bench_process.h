// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_BENCH_PROCESS_H_
#define HOLDFAST_CLIENT_BENCH_BENCH_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"

namespace holdfast::bench {

// This program, run again as `PROGRAM bench ARGUMENTS`, with pipes for its
// stdin and stdout. Baselines are measured in such processes, which run as a
// program without Holdfast does.
class BenchProcess {
 public:
  static absl::StatusOr<std::unique_ptr<BenchProcess>> Start(
      std::vector<std::string> arguments);
  // Closes its stdin and waits for its end.
  ~BenchProcess();
  BenchProcess(const BenchProcess&) = delete;
  BenchProcess& operator=(const BenchProcess&) = delete;

  // Writes to the stdin of the process. Returns false if the process has gone.
  bool Write(absl::string_view text);

  // Read the stdout of the process: ReadLine up to the end of a line, ReadAll
  // up to the end of the file. Block meanwhile.
  std::string ReadLine();
  std::string ReadAll();

  // Closes the stdin of the process and waits for its end. Returns true if its
  // exit status is 0.
  bool Wait();

 private:
  BenchProcess(pid_t pid, UniqueFd input, UniqueFd output)
      : pid_(pid), input_(std::move(input)), output_(std::move(output)) {}

  pid_t pid_;  // -1 once it has been waited for
  UniqueFd input_;
  const UniqueFd output_;
};

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_BENCH_PROCESS_H_
