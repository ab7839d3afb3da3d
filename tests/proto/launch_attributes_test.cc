// SPDX-License-Identifier: Apache-2.0
//
// The table of launch attributes against the message that it describes.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "google/protobuf/descriptor.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

TEST(LaunchAttributesTest, TheTableHasEveryFieldOfTheMessage) {
  std::map<std::string, int> rows;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  rows[#name] = v1::LaunchAttribute::k##Name;
#include "proto/launch_attributes.inc"
  std::map<std::string, int> fields;
  const auto* message = v1::LaunchAttribute::descriptor();
  for (int i = 0; i < message->field_count(); ++i) {
    fields[message->field(i)->name()] = message->field(i)->number();
  }
  EXPECT_EQ(rows, fields);
}

}  // namespace
}  // namespace holdfast
