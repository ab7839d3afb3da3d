// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <vector>

#include "tests/fuzz/engine/random.h"

namespace holdfast::fuzz {

// Changes protobuf messages field by field, so that what comes out can be
// parsed and gets past the door: numbers become boundaries or grow by one,
// fields are dropped or set, elements of repeated fields are dropped, doubled
// and reordered. Fields of type fixed64 hold handles in this protocol: they are
// exchanged for other handles of the message or damaged in one of their parts.
class MessageMutator {
 public:
  // Changes `message` in `edits` places, however deep.
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
  std::vector<google::protobuf::Message*> messages_;  // all that is in it
  std::vector<uint64_t> handles_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_MESSAGE_MUTATOR_H_
