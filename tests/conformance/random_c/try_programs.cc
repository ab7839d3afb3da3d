// SPDX-License-Identifier: Apache-2.0
//
// Tries the programs of many seeds, on any driver:
//
//   try_programs [--seed=N] [--count=N] [--driver=libcuda.so.1] [--shrink]
//   try_programs [--seed=N] [--count=N] --write=FILE    only makes the cases
//   try_programs --read=FILE [--driver=libcuda.so.1]    only tries them
//   try_programs --seed=N --print
//
// --write needs a C++ compiler, --read a driver and NVRTC, the others all of
// them. Programs are tried in processes of their own, since a fault ends what
// a process can do. Prints the seeds that fail, and with --shrink their
// programs, as small as they can be made; the last line counts. The exit
// status tells whether there was one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tests/conformance/random_c/generator.h"
#include "tests/conformance/random_c/reference.h"
#include "tests/conformance/random_c/trial.h"

namespace holdfast::random_c {
namespace {

constexpr uint64_t kBatch = 25;  // programs that are compiled together
constexpr int kFaultStatus = 3;  // of a process whose device has faulted

struct Flags {
  uint64_t seed = 0, count = 100;
  std::string driver, write, read;
  bool shrink = false, print = false;
};

bool Parse(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--seed=")) {
      if (!absl::SimpleAtoi(flag, &flags->seed)) return false;
    } else if (absl::ConsumePrefix(&flag, "--count=")) {
      if (!absl::SimpleAtoi(flag, &flags->count)) return false;
    } else if (absl::ConsumePrefix(&flag, "--driver=")) {
      flags->driver = std::string(flag);
    } else if (absl::ConsumePrefix(&flag, "--write=")) {
      flags->write = std::string(flag);
    } else if (absl::ConsumePrefix(&flag, "--read=")) {
      flags->read = std::string(flag);
    } else if (flag == "--shrink") {
      flags->shrink = true;
    } else if (flag == "--print") {
      flags->print = true;
    } else {
      return false;
    }
  }
  return true;
}

// The cases in batches, from the file or made from their seeds. Empty: no more.
class Source {
 public:
  explicit Source(const Flags& flags)
      : next_(flags.seed), end_(flags.seed + flags.count) {
    if (!flags.read.empty()) file_.open(flags.read, std::ios::binary);
    reads_ = !flags.read.empty();
  }

  std::vector<Case> Next() { return reads_ ? ReadNext() : MakeNext(); }

 private:
  std::vector<Case> ReadNext() {
    std::vector<Case> cases;
    Case one;
    while (cases.size() < kBatch && Read(file_, &one)) cases.push_back(one);
    return cases;
  }

  std::vector<Case> MakeNext() {
    std::vector<Program> programs;
    for (; programs.size() < kBatch && next_ < end_; ++next_) {
      programs.push_back(Generate(next_));
    }
    std::vector<Case> cases;
    if (programs.empty()) return cases;
    const std::string error = MakeCases(programs, {}, &cases);
    if (!error.empty()) {
      fprintf(stderr, "%s\n", error.c_str());
      exit(2);
    }
    return cases;
  }

  std::ifstream file_;
  bool reads_ = false;
  uint64_t next_;
  const uint64_t end_;
};

// What a process of its own has come to.
struct Outcome {
  size_t tried = 0;
  uint64_t failures = 0;
};

void Report(const Case& one, const std::string& difference) {
  printf("seed %llu: %s\n", static_cast<unsigned long long>(one.seed),
         difference.c_str());
  fflush(stdout);
}

// Tries cases from `first` on, until one faults.
[[noreturn]] void TryInChild(const Flags& flags, const std::vector<Case>& cases,
                             size_t first, int to) {
  const Device device(flags.driver);
  for (size_t i = first; i < cases.size(); ++i) {
    const std::string difference = device.Try(cases[i]);
    if (!difference.empty()) Report(cases[i], difference);
    const char result = difference.empty() ? '.' : 'x';
    if (write(to, &result, 1) != 1) _exit(2);
    if (absl::StartsWith(difference, Device::kFaulted)) _exit(kFaultStatus);
  }
  _exit(0);
}

// One character for each case that the child has tried.
Outcome TryFrom(const Flags& flags, const std::vector<Case>& cases,
                size_t first) {
  int ends[2];
  if (pipe(ends) != 0) exit(2);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    TryInChild(flags, cases, first, ends[1]);
  }
  close(ends[1]);
  Outcome outcome;
  char result;
  while (read(ends[0], &result, 1) == 1) {
    ++outcome.tried;
    outcome.failures += result == 'x';
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (first + outcome.tried < cases.size() &&
      !(WIFEXITED(status) && WEXITSTATUS(status) == kFaultStatus)) {
    Report(cases[first + outcome.tried],
           "ended the process, with status " + std::to_string(status));
    ++outcome.tried;
    ++outcome.failures;
  }
  return outcome;
}

// In a process for each attempt.
bool Fails(const Flags& flags, const Program& program,
           const std::set<int>& without) {
  std::vector<Case> cases;
  if (!MakeCases({program}, without, &cases).empty()) return false;
  const pid_t child = fork();
  if (child == 0) {
    const Device device(flags.driver);
    const std::string difference = device.Try(cases[0]);
    _exit(difference.empty() || absl::StartsWith(difference, "compiling") ? 0
                                                                          : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

int ShrinkAndPrint(const Flags& flags) {
  const Program program = Generate(flags.seed);
  const auto fails = [&](const std::set<int>& without) {
    return Fails(flags, program, without);
  };
  if (!fails({})) {
    printf("seed %llu does not fail\n",
           static_cast<unsigned long long>(flags.seed));
    return 0;
  }
  const std::set<int> without = Shrink(program.nodes, fails);
  printf("%s\n// %u blocks of %u x %u threads\n",
         DeviceTextOf(program, without).c_str(), program.blocks, program.width,
         program.height);
  return 1;
}

int WriteCases(const Flags& flags) {
  Source source(flags);
  std::ofstream file(flags.write, std::ios::binary);
  for (auto cases = source.Next(); !cases.empty(); cases = source.Next()) {
    for (const Case& one : cases) Write(one, file);
  }
  return file ? 0 : 2;
}

int Main(int argc, char** argv) {
  Flags flags;
  if (!Parse(argc, argv, &flags)) {
    fprintf(stderr,
            "usage: try_programs [--seed=N] [--count=N] [--driver=LIBRARY] "
            "[--write=FILE | --read=FILE | --shrink | --print]\n");
    return 2;
  }
  if (flags.print) {
    const Program program = Generate(flags.seed);
    printf("%s%s", kPrelude, DeviceTextOf(program, {}).c_str());
    return 0;
  }
  if (!flags.write.empty()) return WriteCases(flags);
  if (flags.shrink) return ShrinkAndPrint(flags);
  Source source(flags);
  uint64_t programs = 0, failures = 0;
  for (auto cases = source.Next(); !cases.empty(); cases = source.Next()) {
    for (size_t at = 0; at < cases.size();) {
      const Outcome outcome = TryFrom(flags, cases, at);
      at += outcome.tried;
      programs += outcome.tried;
      failures += outcome.failures;
    }
  }
  printf("%llu programs, %llu of them with other results\n",
         static_cast<unsigned long long>(programs),
         static_cast<unsigned long long>(failures));
  return failures == 0 && programs != 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::random_c

int main(int argc, char** argv) { return holdfast::random_c::Main(argc, argv); }
