// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/executor/traces.h"

#include <google/protobuf/descriptor.h>

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace holdfast::fuzz {
namespace {

// A command that no trace has is hardly ever fuzzed.
TEST(TracesTest, EveryCommandIsInATrace) {
  std::set<int> seen;
  for (const Trace& trace : ReadTraces()) {
    for (const v1::CommandBatch& batch : trace) {
      for (const v1::Command& command : batch.commands()) {
        seen.insert(command.operation_case());
      }
    }
  }
  const auto& type = *v1::Command::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    EXPECT_EQ(seen.count(type.field(i)->number()), 1u)
        << "add a " << type.field(i)->name() << " to every_command.textproto";
  }
}

}  // namespace
}  // namespace holdfast::fuzz
