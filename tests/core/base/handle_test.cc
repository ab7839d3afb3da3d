// SPDX-License-Identifier: Apache-2.0
#include "core/base/handle.h"

#include "gtest/gtest.h"

namespace holdfast {
namespace {

TEST(HandleTest, FieldsLieWhereTheProtocolSays) {
  const Handle handle{HandleKind::kBuffer, 0x00abcdef, 0x00012345};
  EXPECT_EQ(handle.Pack(), 0x03abcdef00012345u);
  EXPECT_EQ(Handle::Unpack(0x03abcdef00012345u), handle);
}

TEST(HandleTest, ZeroIsNone) {
  EXPECT_EQ(Handle::Unpack(0).kind, HandleKind::kNone);
  EXPECT_EQ(Handle{}.Pack(), 0u);
}

TEST(HandleTest, TheLargestFieldsDoNotRunIntoEachOther) {
  const Handle handle{HandleKind::kTensorMap, Handle::kMaxGeneration,
                      0xffffffffu};
  EXPECT_EQ(Handle::Unpack(handle.Pack()), handle);
}

TEST(HandleTest, ForgedKindsHaveAName) {
  EXPECT_EQ(HandleKindName(Handle::Unpack(~uint64_t{0}).kind), "unknown");
  EXPECT_EQ(HandleKindName(HandleKind::kStream), "stream");
  EXPECT_EQ(HandleKindName(HandleKind::kTensorMap), "tensor map");
}

}  // namespace
}  // namespace holdfast
