// SPDX-License-Identifier: Apache-2.0
#include "core/memory/address_range.h"

#include <memory>
#include <utility>

#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::memory {
namespace {

using holdfast::testing::SoftwareContext;
using holdfast::testing::SoftwareDriver;
using holdfast::testing::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::shared_ptr<AddressRange> Reserve(uint64_t size) {
  auto range = AddressRange::Reserve(SoftwareContext(SoftwareDriver().api),
                                     size, /*hint=*/0);
  EXPECT_OK(range);
  return *std::move(range);
}

TEST(AddressRangeTest, APartIsTakenOutOfTheWholeWhileItLives) {
  const auto whole = Reserve(8 * kMiB);
  ASSERT_OK_AND_ASSIGN(auto part, AddressRange::In(whole, 6 * kMiB, 0));
  EXPECT_GE(part->base(), whole->base());
  EXPECT_LE(part->base() + part->size(), whole->base() + whole->size());
  EXPECT_THAT(whole->Take(4 * kMiB),
              StatusIs(absl::StatusCode::kResourceExhausted, "no room"));
  ASSERT_OK(part->TakeAt(part->base(), 6 * kMiB));
  part->GiveBack(part->base(), 6 * kMiB);
  part.reset();
  EXPECT_OK(whole->Take(8 * kMiB));
}

TEST(AddressRangeTest, APartLiesWhereItIsWanted) {
  const auto whole = Reserve(8 * kMiB);
  const CUdeviceptr wanted = whole->base() + 4 * kMiB;
  ASSERT_OK_AND_ASSIGN(auto part, AddressRange::In(whole, 2 * kMiB, wanted));
  EXPECT_EQ(part->base(), wanted);
  for (const CUdeviceptr taken :
       {wanted, wanted - 2 * kMiB, whole->base() - 2 * kMiB,
        whole->base() + 6 * kMiB}) {
    EXPECT_THAT(AddressRange::In(whole, 4 * kMiB, taken).status(),
                StatusIs(absl::StatusCode::kAlreadyExists, "out of range"));
  }
  part.reset();
  EXPECT_OK(AddressRange::In(whole, 4 * kMiB, wanted));
}

TEST(AddressRangeTest, APartKeepsTheWhole) {
  auto whole = Reserve(4 * kMiB);
  ASSERT_OK_AND_ASSIGN(auto part, AddressRange::In(whole, 4 * kMiB, 0));
  whole.reset();
  EXPECT_OK(part->Take(2 * kMiB));
  part->GiveBack(part->base(), 2 * kMiB);
}

}  // namespace
}  // namespace holdfast::memory
