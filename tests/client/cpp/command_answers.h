// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CLIENT_CPP_COMMAND_ANSWERS_H_
#define HOLDFAST_TESTS_CLIENT_CPP_COMMAND_ANSWERS_H_

#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Answers a command as an executor does that has carried it out, with made-up
// values. Returns false if its success has no result.
bool AnswerCommand(const v1::Command& command, v1::Result* result);

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_CLIENT_CPP_COMMAND_ANSWERS_H_
