// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <vector>

#include "tests/fuzz/engine/random.h"

namespace holdfast::fuzz {

// Changes protobuf messages field by field, so that the results can be parsed
// and are not all refused early. Numbers are replaced by boundary values or
// neighbours, fields are dropped or set, and elements of repeated fields are
// dropped, doubled and reordered. Fields of type fixed64 hold handles in this
// protocol: they are replaced by other handles of the message, or one of their
// parts is damaged.
class MessageMutator {
 public:
  // Changes `message` in `edits` places, also in nested messages.
  static void Mutate(google::protobuf::Message* message, uint64_t edits,
                     Random& random);

 private:
  MessageMutator(google::protobuf::Message* message, Random& random);

  using Field = google::protobuf::FieldDescriptor;

  void Collect(google::protobuf::Message* message);
  void Edit(google::protobuf::Message* message);
  void EditRepeated(google::protobuf::Message* message, const Field* field);
  void EditValue(google::protobuf::Message* message, const Field* field);
  uint64_t NewHandle(uint64_t old);
  uint64_t NewNumber(uint64_t old);

  Random& random_;
  std::vector<google::protobuf::Message*> messages_;  // with nested messages
  std::vector<uint64_t> handles_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_
