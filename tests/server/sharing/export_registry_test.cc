// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/export_registry.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/memfd.h"
#include "gtest/gtest.h"
#include "server/account/quota.h"
#include "server/memory/device_memory.h"
#include "server/sharing/shared_chunk.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

constexpr uint64_t kSize = 4096;
constexpr char kSession[] = "s-1";

// A token holds the only reference to a chunk. The end of the chunk's charge
// calls the registry, which hangs if the registry's lock is held.
class ExportRegistryTest : public ::testing::Test {
 protected:
  std::string Export(absl::Duration lifetime = absl::Hours(1)) {
    SharedResource resource;
    resource.kind = v1::HANDLE_KIND_BUFFER;
    memory_.NoteTaken(0, kSize);
    resource.chunk = std::make_shared<SharedChunk>(SharedChunk::Options{
        .descriptor = CreateMemfd("chunk", kSize).value(),
        .size = kSize,
        .charge = {.of_session = {},
                   .of_all = quota_->Take(kSize).value(),
                   .of_tenant = {}},
        .owner_ended = std::make_shared<std::atomic<bool>>(false),
        .memory = &memory_});
    v1::ExportResource terms;
    terms.set_rights(v1::RIGHTS_READ);
    terms.mutable_lifetime()->set_nanos(static_cast<int32_t>(
        lifetime % absl::Seconds(1) / absl::Nanoseconds(1)));
    terms.mutable_lifetime()->set_seconds(absl::ToInt64Seconds(lifetime));
    return registry_.Export(kSession, std::move(resource), terms).value();
  }

  DeviceMemory memory_;
  absl::Notification freed_;
  ExportRegistry registry_;
  const std::shared_ptr<Quota> quota_ =
      Quota::Create({.name = "memory",
                     .unit = "bytes",
                     .reserve = [](uint64_t) { return absl::OkStatus(); },
                     .release =
                         [this](uint64_t) {
                           EXPECT_EQ(registry_.CountOf(kSession), 0u);
                           freed_.Notify();
                         }});
};

TEST_F(ExportRegistryTest, RevokeFreesMemoryWithoutTheLock) {
  ASSERT_OK(registry_.Revoke(Export(), kSession));
  EXPECT_TRUE(freed_.HasBeenNotified());
}

TEST_F(ExportRegistryTest, TheEndOfASessionFreesMemoryWithoutTheLock) {
  Export();
  registry_.EndSession(kSession);
  EXPECT_TRUE(freed_.HasBeenNotified());
}

TEST_F(ExportRegistryTest, TheTimeOfATokenFreesMemoryWithoutTheLock) {
  Export(absl::Milliseconds(1));
  freed_.WaitForNotification();
}

}  // namespace
}  // namespace holdfast
