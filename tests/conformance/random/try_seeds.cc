// SPDX-License-Identifier: Apache-2.0
//
// Tries the programs of many seeds, on any driver:
//
//   try_seeds [--seed=N] [--count=N] [--driver=libcuda.so.1] [--print]
//             [--explain]
//
// A program whose results are not those of the interpreter is printed, as
// small as it can be made; with --explain also the statement and the register
// in which it shows first. The exit status tells whether there was one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/conformance/forms/program.h"
#include "tests/conformance/random/generator.h"
#include "tests/conformance/random/trial.h"

namespace holdfast::random_ptx {
namespace {

struct Flags {
  uint64_t seed = 0, count = 100;
  std::string driver;
  bool print = false;
  bool explain = false;
};

bool Parse(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.rfind("--seed=", 0) == 0) {
      flags->seed = strtoull(argv[i] + 7, nullptr, 10);
    } else if (flag.rfind("--count=", 0) == 0) {
      flags->count = strtoull(argv[i] + 8, nullptr, 10);
    } else if (flag.rfind("--driver=", 0) == 0) {
      flags->driver = flag.substr(9);
    } else if (flag == "--print") {
      flags->print = true;
    } else if (flag == "--explain") {
      flags->explain = true;
    } else {
      return false;
    }
  }
  return true;
}

// After a fault the process cannot go on: then only the program is printed.
void Report(const cuda::DriverApi& api, const Program& program,
            const std::string& difference) {
  auto fails = [&](const Program& one) {
    const std::string text = Try(api, one);
    return !text.empty() && text.rfind("no program", 0) != 0 &&
           text.rfind("running", 0) != 0;
  };
  const bool faulted = difference.rfind("running", 0) == 0;
  const Program small = faulted ? program : Shrink(program, fails);
  printf("seed %llu\n%s%s\n%s\n", static_cast<unsigned long long>(program.seed),
         difference.c_str(),
         faulted ? "" : ("then, smaller:\n" + Try(api, small)).c_str(),
         PtxOf(small).c_str());
  if (faulted) exit(1);
}

int Main(int argc, char** argv) {
  Flags flags;
  if (!Parse(argc, argv, &flags)) {
    fprintf(stderr,
            "usage: try_seeds [--seed=N] [--count=N] [--driver=LIBRARY] "
            "[--print] [--explain]\n");
    return 2;
  }
  if (flags.print) {
    printf("%s", PtxOf(Generate(flags.seed)).c_str());
    return 0;
  }
  const forms::Machine machine(flags.driver);
  uint64_t failures = 0;
  for (uint64_t i = 0; i < flags.count; ++i) {
    const Program program = Generate(flags.seed + i);
    const std::string difference = Try(machine.api(), program);
    if (difference.empty()) continue;
    ++failures;
    if (flags.explain && difference.rfind("running", 0) != 0) {
      const auto attempt = [&](const Program& one) {
        return Try(machine.api(), one);
      };
      printf("%s\n", Explain(program, attempt).c_str());
    }
    Report(machine.api(), program, difference);
    fflush(stdout);
  }
  printf("%llu programs, %llu of them with other results\n",
         static_cast<unsigned long long>(flags.count),
         static_cast<unsigned long long>(failures));
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::random_ptx

int main(int argc, char** argv) {
  return holdfast::random_ptx::Main(argc, argv);
}
