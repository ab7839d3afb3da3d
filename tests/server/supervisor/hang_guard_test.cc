// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/hang_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "server/journal/journal_writer.h"
#include "server/journal/layout.h"

namespace holdfast::supervisor {
namespace {

class HangGuardTest : public testing::Test {
 protected:
  // The executor has looked so long ago.
  void Look(absl::Duration ago) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    writer_->SetLooked(static_cast<uint64_t>(
        absl::ToInt64Nanoseconds(absl::FromChrono(now) - ago)));
  }
  void Start() {
    guard_.emplace(HangGuard::Options{
        .journal = UniqueFd(fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0)),
        .patience = absl::Hours(1),
        .period = absl::Milliseconds(1),
        .alarm = [this](absl::Duration since) {
          EXPECT_GE(since, absl::Hours(2));
          found_.Notify();
        }});
  }

  UniqueFd memory_ =
      CreateFixedMemfd("journal", journal::kJournalBytes).value();
  std::unique_ptr<journal::JournalWriter> writer_ =
      journal::JournalWriter::Map(memory_.get()).value();
  absl::Notification found_;
  std::optional<HangGuard> guard_;
};

TEST_F(HangGuardTest, AnExecutorThatDoesNotLookIsFound) {
  Look(absl::Minutes(1));
  Start();
  Look(absl::Hours(2));
  found_.WaitForNotification();
}

TEST_F(HangGuardTest, OneThatLooksOrHasNothingToLookForIsLeftAlone) {
  for (const bool looks : {true, false}) {
    looks ? Look(absl::Minutes(1)) : writer_->SetLooked(0);
    Start();
    absl::SleepFor(absl::Milliseconds(20));
    guard_.reset();
    EXPECT_FALSE(found_.HasBeenNotified());
  }
}

// As one that has only been started, and one that was taken over.
TEST_F(HangGuardTest, AJournalThatIsNoneIsNoReason) {
  Look(absl::Hours(2));
  FileMapping mapping =
      FileMapping::Map(memory_.get(), FileMapping::Access::kReadWrite).value();
  static_cast<journal::Header*>(mapping.data())->magic = 0;
  Start();
  absl::SleepFor(absl::Milliseconds(20));
  guard_.reset();
  EXPECT_FALSE(found_.HasBeenNotified());
}

}  // namespace
}  // namespace holdfast::supervisor
