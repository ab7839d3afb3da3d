// SPDX-License-Identifier: Apache-2.0
//
// Runs every form on a driver and writes what it computed:
//
//   record libcuda.so.1 goldens.txt [notes.txt]
//
// The notes list where the driver and the oracle differ, what it gives where
// PTX leaves the result open, and what it cannot load.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "tests/conformance/forms/inputs.h"
#include "tests/conformance/forms/judge.h"
#include "tests/conformance/forms/spellings.h"

namespace holdfast::forms {
namespace {

// A few of the inputs whose result is open.
void NoteOpen(const Case& one, const std::vector<Sources>& inputs,
              const CaseOutput& output, std::ostream& notes) {
  const std::vector<bool> open = OpenInputs(one, inputs);
  std::set<uint64_t> seen;
  for (size_t i = 0; i < inputs.size() && seen.size() < 4; ++i) {
    if (open[i] && seen.insert(output[0][i]).second) {
      notes << "open: " << Describe(one, inputs, output, i) << "\n";
    }
  }
}

// Returns false, and has recorded nothing, if one of several cases has faulted.
// Returns false if the only case has faulted, which the notes say.
bool RecordCases(const Machine& machine, const Batch& batch,
                 std::ostream& goldens, std::ostream& notes) {
  const auto inputs = InputsFor(batch.cases[0].operation.sources);
  Outputs outputs;
  const std::string error = machine.Run(batch, false, inputs, &outputs);
  if (!error.empty()) {
    const bool works = machine.Works();
    if (batch.cases.size() == 1) {
      notes << "failed: " << batch.cases[0].name << "\n"
            << error << "\n"
            << std::flush;
      return works;
    }
    // One that does not load must not hide the others.
    for (size_t i = 0; works && i < batch.cases.size(); ++i) {
      RecordCases(machine, {{batch.cases[i]}}, goldens, notes);
    }
    return works;
  }
  for (size_t i = 0; i < batch.cases.size(); ++i) {
    const Case& one = batch.cases[i];
    goldens << LineOf(one.name, GoldenOf(one, inputs, outputs[i]));
    notes << AgainstOracle(one, inputs, outputs[i]);
    NoteOpen(one, inputs, outputs[i], notes);
  }
  return true;
}

constexpr int kFaulted = 3;  // the exit status of a process

// From batch `*next` on; `*next` is the one at hand. Returns the exit status of
// the process: 0 if all are done.
int RecordFrom(const char* library, const std::vector<Batch>& batches,
               size_t* next, std::ostream& goldens, std::ostream& notes) {
  const Machine machine(library);
  for (; *next < batches.size(); ++*next) {
    const bool works = RecordCases(machine, batches[*next], goldens, notes);
    goldens.flush();
    notes.flush();
    if (!works) return kFaulted;
    fprintf(stderr, "\r%zu of %zu", *next + 1, batches.size());
  }
  return goldens && notes ? 0 : 1;
}

// Puts the batch's cases, each as a batch, in its place.
void Split(std::vector<Batch>* batches, size_t at) {
  const std::vector<Case> cases = std::move((*batches)[at].cases);
  batches->erase(batches->begin() + static_cast<ptrdiff_t>(at));
  for (size_t i = cases.size(); i-- > 0;) {
    batches->insert(batches->begin() + static_cast<ptrdiff_t>(at),
                    {{cases[i]}});
  }
}

// A fault ends CUDA for its process. The next process tries the cases of the
// batch that faulted one by one, and goes on behind a case that faulted alone
// and behind a batch that its process has not survived.
int Main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: record LIBRARY GOLDENS [NOTES]\n";
    return 2;
  }
  std::ofstream goldens(argv[2]);
  std::ofstream file;
  if (argc > 3) file.open(argv[3]);
  std::ostream& notes = argc > 3 ? file : std::cout;
  auto batches = MakeBatches(TriedSpellings());
  void* shared = mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* next = new (shared) size_t(0);
  bool good = true;
  while (*next < batches.size()) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      _exit(RecordFrom(argv[1], batches, next, goldens, notes));
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 1;
    if (*next == batches.size()) break;
    good = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kFaulted) {
      if (batches[*next].cases.size() > 1) {
        Split(&batches, *next);
      } else {
        ++*next;
      }
      continue;
    }
    notes << "given up: " << batches[*next].cases.size() << " cases from "
          << batches[*next].cases[0].name << "\n"
          << std::flush;
    ++*next;
  }
  fprintf(stderr, "\n");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::forms

int main(int argc, char** argv) { return holdfast::forms::Main(argc, argv); }
