// SPDX-License-Identifier: Apache-2.0
//
// A random C program: text that is CUDA C++ for a device and C++ for a host,
// with one kernel.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_PROGRAM_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace holdfast::random_c {

// A tree of text: `text`, the inner nodes, `end`. A node with a number can be
// left out, to make a program smaller.
struct Node {
  std::string text;
  std::deque<Node> inner;
  std::string end;
  int number = -1;
};

// A parameter of the kernel: a value, or the address of a buffer. A `result` is
// a buffer whose bytes are compared after the run.
struct Parameter {
  bool buffer = false;
  bool result = false;
};

struct Program {
  uint64_t seed = 0;
  unsigned blocks = 1, width = 32, height = 1;  // of a block, in threads
  std::vector<Parameter> parameters;
  Node device;  // types, variables, functions, the kernel
  // For the host: void Fill(parameter, bytes), which returns the size, and
  // void Run(parameters), over all threads.
  std::string host;
  int nodes = 0;  // the number of nodes that can be left out

  unsigned threads() const { return width * height; }
};

// The text in front of every program.
extern const char kPrelude[];

// Returns the device's text, without the nodes whose numbers are in `without`.
std::string DeviceTextOf(const Program& program, const std::set<int>& without);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_PROGRAM_H_
