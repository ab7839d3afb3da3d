// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_suspension.h"

#include <memory>
#include <string>

#include "server/account/chunk_limit.h"
#include "server/account/quota.h"
#include "server/holdings/session_descriptors.h"
#include "server/kept/descriptor_store.h"
#include "server/memory/memory_ledger.h"
#include "tests/server/holdings/session_memory_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

// s-1, whose tenant has a quota of one chunk, and its suspension.
class HeldSuspensionTest : public SessionMemoryTest {
 protected:
  HeldSuspensionTest() {
    v1::Quota quota;
    quota.set_device_bytes(kSize);
    maker_->payer->SetQuota(quota);
    maker_->Make(1, Memory(kSize));
    descriptors_.Open(1);
  }

  Quota& suspended() { return *maker_->payer->suspended_bytes(); }

  DescriptorStore store_;
  SessionDescriptors descriptors_{store_};
  MemoryLedger ledger_{3 * kSize, /*shares=*/nullptr, /*divide_host=*/true};
  const std::shared_ptr<Quota> host_ = ledger_.host();
  HeldSuspension suspension_{descriptors_, maker_->held, ledger_};
};

TEST_F(HeldSuspensionTest,
       BytesInHostMemoryCountForTheTenantUntilTheyAreDropped) {
  EXPECT_EQ(suspended().limit(), ChunkLimit(kSize, /*devices=*/1));
  ASSERT_OK(suspension_.Prepare(""));
  EXPECT_EQ(suspended().used(), kSize);
  suspension_.Suspend();
  EXPECT_EQ(suspended().used(), kSize);
  EXPECT_EQ(host_->used(), kSize);
  suspension_.Drop();
  EXPECT_EQ(suspended().used(), 0u);
  EXPECT_EQ(host_->used(), 0u);
}

TEST_F(HeldSuspensionTest,
       ATenantThatHasItsPartOfHostMemoryIsNotSuspendedThere) {
  ASSERT_OK_AND_ASSIGN(const Charge others,
                       suspended().Take(suspended().limit()));
  EXPECT_THAT(suspension_.Prepare("").status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "memory of suspended sessions of tenant uid 1000"));
  EXPECT_EQ(host_->used(), 0u);
  EXPECT_FALSE(suspension_.suspended());
  const std::string path = ::testing::TempDir() + "/suspended";
  ASSERT_OK(suspension_.Prepare(path));
  EXPECT_EQ(suspended().used(), others.amount());
}

TEST_F(HeldSuspensionTest, ATenantWithoutAQuotaLeavesHostMemoryToOthers) {
  maker_->payer->SetQuota({});
  EXPECT_OK(suspension_.Prepare(""));
  suspension_.Drop();
  // Another session of the tenant has half of it.
  const auto own = ledger_.HostOf("uid 1000", maker_->payer->suspended_bytes());
  ASSERT_OK_AND_ASSIGN(const Charge others, host_->Take(3 * kSize / 2));
  ASSERT_OK_AND_ASSIGN(const Charge share, own->Take(3 * kSize / 2));
  EXPECT_THAT(suspension_.Prepare("").status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "host memory of tenant uid 1000, which has no quota"));
  EXPECT_EQ(host_->used(), others.amount());
}

}  // namespace
}  // namespace holdfast::testing
