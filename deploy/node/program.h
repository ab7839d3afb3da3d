// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_NODE_PROGRAM_H_
#define HOLDFAST_DEPLOY_NODE_PROGRAM_H_

#include <string>
#include <vector>

namespace holdfast::node {

struct Outcome {
  int exit_code = -1;  // -1: it was not started, was killed, or took too long
  std::string out;
  std::string err;
};

// Runs the program arguments[0] to its end, with an empty environment and no
// input. Kills it after `seconds`. A scheduler's processes run the client as a
// program, so that they need not load gRPC.
Outcome RunProgram(const std::vector<std::string>& arguments, int seconds);

}  // namespace holdfast::node

#endif  // HOLDFAST_DEPLOY_NODE_PROGRAM_H_
