// SPDX-License-Identifier: Apache-2.0
//
// The parts that all examples share: the command line, the session, the
// compilation and the check of results.
#ifndef HOLDFAST_CLIENT_EXAMPLES_EXAMPLE_H_
#define HOLDFAST_CLIENT_EXAMPLES_EXAMPLE_H_

#include <cstddef>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/holdfast.h"
#include "core/base/status_macros.h"

namespace holdfast {

// Compiles CUDA C++ in the session's daemon, and loads the result. `names` are
// the required instantiations of templates.
inline absl::StatusOr<Module> CompileAndLoad(
    const Session& session, std::string source, ProgramOptions options = {},
    std::vector<std::string> names = {}) {
  const Program program(std::move(source), std::move(options));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compiled,
      program.Compile(session.daemon(), std::move(names)));
  return session.Load(compiled.object);
}

// Calls is_right(i) for each index below `count`, and prints how many are
// right. DATA_LOSS: an index is not right.
template <typename IsRight>
absl::Status CheckAll(const char* what, size_t count, IsRight is_right) {
  size_t right = 0;
  for (size_t i = 0; i < count; ++i) right += is_right(i) ? 1 : 0;
  std::printf("%s: %zu of %zu right\n", what, right, count);
  if (right == count) return absl::OkStatus();
  return absl::DataLossError("wrong elements");
}

// The command line of an example. Every example takes --address.
class Example {
 public:
  explicit Example(const std::string& about) : options_(about) {
    options_.add_option("--address", address_, "Where the daemon is");
  }

  // The parser, for the options of one example.
  CLI::App& options() { return options_; }

  // Calls `run` with a session or with the daemon's address, whichever it
  // accepts, and prints its error. Returns the exit status.
  template <typename Run>
  int Main(int argc, char** argv, Run run) {
    CLI11_PARSE(options_, argc, argv);
    absl::Status status;
    if constexpr (std::is_invocable_v<Run, const Session&>) {
      status = OpenAndRun(argv[0], run);
    } else {
      status = run(address_);
    }
    if (status.ok()) return 0;
    std::fprintf(
        stderr, "%s: %s\n", argv[0],
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
    return 1;
  }

 private:
  template <typename Run>
  absl::Status OpenAndRun(const std::string& program, Run run) {
    const std::string name = program.substr(program.rfind('/') + 1);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto session, Session::Open({.address = address_, .name = name}));
    return run(*session);
  }

  CLI::App options_;
  std::string address_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_EXAMPLES_EXAMPLE_H_
