// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/piece_progress.h"

#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::StatusIs;

std::vector<Piece> Pieces(uint32_t first, uint32_t count) {
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < count; ++i) pieces.push_back({.slot = first + i});
  return pieces;
}

class PieceProgressTest : public ::testing::Test {
 protected:
  std::string events_;
  absl::Status told_;  // what `copied` returns
  PieceProgress progress_{{
      .copied =
          [this](const Piece& piece) {
            events_ += std::to_string(piece.slot);
            return told_;
          },
      .failed = [this] { events_ += "x"; },
      .unfinished = [this](bool some) { events_ += some ? "(" : ")"; },
  }};
};

TEST_F(PieceProgressTest, PiecesAreReportedInTheirOrderHoweverTheyEnd) {
  EXPECT_EQ(progress_.Start(Pieces(0, 3)), 0u);
  EXPECT_EQ(progress_.Start(Pieces(3, 1)), 3u);
  progress_.End(2, absl::OkStatus());
  progress_.End(1, absl::OkStatus());
  EXPECT_EQ(events_, "(");
  progress_.End(0, absl::OkStatus());
  EXPECT_EQ(events_, "(012");
  progress_.End(3, absl::OkStatus());
  EXPECT_EQ(events_, "(0123)");
  EXPECT_EQ(progress_.Start(Pieces(4, 1)), 4u);
  progress_.End(4, absl::OkStatus());
  EXPECT_EQ(events_, "(0123)(4)");
  EXPECT_OK(progress_.Finish());
}

// A step that is dropped ends pieces that have ended before.
TEST_F(PieceProgressTest, OnlyTheFirstEndOfAPieceCounts) {
  progress_.Start(Pieces(0, 2));
  progress_.End(1, absl::OkStatus());
  progress_.End(0, absl::OkStatus());
  for (const uint64_t number : {0, 1}) {
    progress_.End(number, absl::UnavailableError("dropped"));
  }
  EXPECT_EQ(events_, "(01)");
  EXPECT_OK(progress_.Finish());
}

TEST_F(PieceProgressTest, BehindAPieceThatHasFailedNoneIsReported) {
  progress_.Start(Pieces(0, 4));
  progress_.End(2, absl::DataLossError("a later one"));
  progress_.End(3, absl::OkStatus());
  EXPECT_OK(progress_.status());
  progress_.End(0, absl::OkStatus());
  progress_.End(1, absl::NotFoundError("the first"));
  EXPECT_EQ(events_, "(0x)");
  EXPECT_THAT(progress_.Finish(),
              StatusIs(absl::StatusCode::kNotFound, "the first"));
}

TEST_F(PieceProgressTest, APieceThatCannotBeToldHasFailed) {
  progress_.Start(Pieces(0, 2));
  told_ = absl::CancelledError("no one reads");
  progress_.End(0, absl::OkStatus());
  progress_.End(1, absl::OkStatus());
  EXPECT_EQ(events_, "(0x)");
  EXPECT_THAT(progress_.status(),
              StatusIs(absl::StatusCode::kCancelled, "no one reads"));
}

TEST_F(PieceProgressTest, FinishWaitsForPiecesThatOtherThreadsEnd) {
  progress_.Start(Pieces(0, 2));
  std::thread device([this] {
    progress_.End(1, absl::OkStatus());
    progress_.End(0, absl::OkStatus());
  });
  EXPECT_OK(progress_.Finish());
  EXPECT_EQ(events_, "(01)");
  device.join();
}

}  // namespace
}  // namespace holdfast::executor
