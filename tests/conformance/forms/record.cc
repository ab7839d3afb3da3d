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

void RecordCases(const Machine& machine, const Batch& batch,
                 std::ostream& goldens, std::ostream& notes) {
  const auto inputs = InputsFor(batch.cases[0].operation.sources);
  Outputs outputs;
  const std::string error = machine.Run(batch, false, inputs, &outputs);
  if (!error.empty()) {
    // One that does not load must not hide the others.
    if (batch.cases.size() == 1) {
      notes << "failed: " << batch.cases[0].name << "\n"
            << error << "\n"
            << std::flush;
      return;
    }
    for (const Case& one : batch.cases) {
      RecordCases(machine, {{one}}, goldens, notes);
    }
    return;
  }
  for (size_t i = 0; i < batch.cases.size(); ++i) {
    const Case& one = batch.cases[i];
    goldens << LineOf(one.name, GoldenOf(one, inputs, outputs[i]));
    notes << AgainstOracle(one, inputs, outputs[i]);
    NoteOpen(one, inputs, outputs[i], notes);
  }
}

// From batch `*next` on; `*next` is the one at hand. True: all are done.
bool RecordFrom(const char* library, const std::vector<Batch>& batches,
                size_t* next, std::ostream& goldens, std::ostream& notes) {
  const Machine machine(library);
  for (; *next < batches.size(); ++*next) {
    RecordCases(machine, batches[*next], goldens, notes);
    goldens.flush();
    notes.flush();
    fprintf(stderr, "\r%zu of %zu", *next + 1, batches.size());
  }
  return goldens && notes;
}

// A fault ends CUDA for its process: each process goes on behind the batch
// that the one before has not survived.
int Main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: record LIBRARY GOLDENS [NOTES]\n";
    return 2;
  }
  std::ofstream goldens(argv[2]);
  std::ofstream file;
  if (argc > 3) file.open(argv[3]);
  std::ostream& notes = argc > 3 ? file : std::cout;
  const auto batches = MakeBatches(TriedSpellings());
  void* shared = mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* next = new (shared) size_t(0);
  bool good = true;
  while (*next < batches.size()) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      const bool all = RecordFrom(argv[1], batches, next, goldens, notes);
      _exit(all ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 1;
    if (*next == batches.size()) break;
    good = false;
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
