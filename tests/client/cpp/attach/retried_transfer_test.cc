// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/retried_transfer.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "core/base/error_detail.h"

namespace holdfast {
namespace {

const absl::Status kBroken = absl::UnavailableError("connection reset by peer");

// Transfers 10 bytes from offset 100, in parts of 4 once they are tried again.
class RetriedTransferTest : public testing::Test {
 protected:
  absl::Status Transfer() {
    v1::TransferRange range;
    range.set_offset(100);
    range.set_size(10);
    return RetriedTransfer(
        range, 4,
        [&](const v1::TransferRange& part, uint64_t begin,
            const TransferTry& which) {
          EXPECT_EQ(part.offset(), 100 + begin);
          sizes_.push_back(part.size());
          tries_.push_back(which.number);
          ids_.push_back(which.id);
          if (outcomes_.empty()) return absl::OkStatus();
          const absl::Status outcome = outcomes_.front();
          outcomes_.pop_front();
          return outcome;
        },
        [&] {
          ++waits_;
          return session_;
        });
  }

  std::deque<absl::Status> outcomes_;  // of the first calls; then all succeed
  absl::Status session_;
  int waits_ = 0;
  std::vector<uint64_t> sizes_;
  std::vector<uint32_t> tries_;
  std::vector<std::string> ids_;
};

TEST_F(RetriedTransferTest, OneThatSucceedsIsOneCall) {
  EXPECT_TRUE(Transfer().ok());
  EXPECT_EQ(sizes_, (std::vector<uint64_t>{10}));
  EXPECT_EQ(waits_, 0);
}

TEST_F(RetriedTransferTest, BrokenOneIsMadeAgainInPartsThatGrowInNumber) {
  outcomes_ = {kBroken, absl::OkStatus(), kBroken, kBroken};
  EXPECT_TRUE(Transfer().ok());
  EXPECT_EQ(sizes_, (std::vector<uint64_t>{10, 4, 4, 4, 4, 2}));
  EXPECT_EQ(tries_, (std::vector<uint32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ids_, std::vector<std::string>(6, ids_[0]));
  EXPECT_EQ(waits_, 5);
}

TEST_F(RetriedTransferTest, TwoTransfersHaveTwoNames) {
  ASSERT_TRUE(Transfer().ok());
  ASSERT_TRUE(Transfer().ok());
  EXPECT_NE(ids_[0], ids_[1]);
}

TEST_F(RetriedTransferTest, FailureOfAnotherKindIsFinal) {
  outcomes_ = {absl::OutOfRangeError("too large")};
  EXPECT_TRUE(absl::IsOutOfRange(Transfer()));
  absl::Status lost = kBroken;
  ErrorDetail detail;
  detail.session_lost = true;
  SetErrorDetail(detail, &lost);
  outcomes_ = {lost};
  EXPECT_TRUE(absl::IsUnavailable(Transfer()));
  EXPECT_EQ(sizes_.size(), 2u);
}

TEST_F(RetriedTransferTest, LostSessionIsNotWaitedForTwice) {
  outcomes_ = {kBroken};
  session_ = absl::UnavailableError("the session is lost");
  EXPECT_EQ(Transfer(), session_);
  EXPECT_EQ(waits_, 1);
}

TEST_F(RetriedTransferTest, NetworkThatCarriesNothingIsGivenUp) {
  outcomes_.assign(2000, kBroken);
  EXPECT_TRUE(absl::IsUnavailable(Transfer()));
}

}  // namespace
}  // namespace holdfast
