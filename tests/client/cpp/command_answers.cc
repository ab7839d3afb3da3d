// SPDX-License-Identifier: Apache-2.0
#include "tests/client/cpp/command_answers.h"

#include <string>

namespace holdfast {
namespace {

// One answer for each outcome in proto/commands.inc. Each returns false if the
// command has no result.
struct Answers {
  using Command = v1::Command;
  using Result = v1::Result;

  static bool none(const Command&, Result*) { return false; }
  static bool done(const Command&, Result* result) {
    return result->mutable_done() != nullptr;
  }
  static bool readiness(const Command&, Result* result) {
    result->mutable_readiness()->set_finished(true);
    return true;
  }
  static bool elapsed_ms(const Command&, Result* result) {
    result->set_elapsed_ms(1.5f);
    return true;
  }
  static bool data(const Command& command, Result* result) {
    result->set_data(std::string(command.read_buffer().size(), 'r'));
    return true;
  }
  static bool buffer(const Command&, Result* result) {
    result->mutable_buffer()->set_size(256);
    return true;
  }
  static bool module(const Command&, Result* result) {
    result->mutable_module()->add_kernels("saxpy");
    return true;
  }
  static bool kernel(const Command&, Result* result) {
    return result->mutable_kernel() != nullptr;
  }
  static bool occupancy(const Command&, Result* result) {
    return result->mutable_occupancy() != nullptr;
  }
  static bool peer_access(const Command&, Result* result) {
    return result->mutable_peer_access() != nullptr;
  }
  static bool device_limit(const Command&, Result* result) {
    return result->mutable_device_limit() != nullptr;
  }
  static bool drawing(const Command&, Result* result) {
    return result->mutable_drawing() != nullptr;
  }
  static bool semaphore(const Command&, Result* result) {
    return result->mutable_semaphore() != nullptr;
  }
  static bool exported(const Command&, Result* result) {
    result->mutable_exported()->set_token(std::string(16, 't'));
    return true;
  }
  static bool imported(const Command&, Result* result) {
    result->mutable_imported()->set_size(256);
    return true;
  }
  static bool buffers(const Command&, Result* result) {
    return result->mutable_buffers() != nullptr;
  }
  static bool collection(const Command&, Result* result) {
    result->mutable_collection()->set_version(1);
    return true;
  }
  static bool fence(const Command&, Result* result) {
    return result->mutable_fence() != nullptr;
  }
};

}  // namespace

bool AnswerCommand(const v1::Command& command, v1::Result* result) {
  switch (command.operation_case()) {
#define HOLDFAST_COMMAND(field, Message, outcome, ...) \
  case v1::Command::k##Message:                        \
    return Answers::outcome(command, result);
#include "proto/commands.inc"
    default:
      return false;
  }
}

}  // namespace holdfast
