// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/pci_bus_id.h"

#include <gtest/gtest.h>

namespace holdfast::cuda {
namespace {

TEST(PciBusIdTest, EachFormIsRead) {
  EXPECT_EQ(ParsePciBusId("0001:0a:1F.3"), (PciBusId{1, 10, 31, 3}));
  EXPECT_EQ(ParsePciBusId("00000000:0a:1f.0"), (PciBusId{0, 10, 31, 0}));
  EXPECT_EQ(ParsePciBusId("1:a:1f"), (PciBusId{1, 10, 31, 0}));
  EXPECT_EQ(ParsePciBusId("a:1f.3"), (PciBusId{0, 10, 31, 3}));
  EXPECT_EQ(ParsePciBusId(" 0001:0a:1f.3\n"), (PciBusId{1, 10, 31, 3}));
}

TEST(PciBusIdTest, OtherTextNamesNoDevice) {
  for (const char* const text :
       {"", " ", "nowhere", "1", "a:1f", "1:a:1f.", "1:a:1f.3x", "1:a:1f.3 x",
        "1:a:1f x", "a:1f.3:1", "1:a:1f.3.0", "1:a.1f:3", "-1:a:1f.3",
        "+1:a:1f.3", "0x1:a:1f.3", "1: a:1f.3", "1::1f.3", ":a:1f.3",
        "100000000:a:1f.3"}) {
    EXPECT_EQ(ParsePciBusId(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace holdfast::cuda
