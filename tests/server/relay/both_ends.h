// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_RELAY_BOTH_ENDS_H_
#define HOLDFAST_TESTS_SERVER_RELAY_BOTH_ENDS_H_

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "server/relay/shared_blocks.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {

// The daemon's and the executor's end of the same memory, in one process.
class BothEndsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const UniqueFd memory, SharedBlocks::CreateMemory());
    ASSERT_OK_AND_ASSIGN(
        daemon_, SharedBlocks::Map(memory.get(), SharedBlocks::End::kDaemon));
    ASSERT_OK_AND_ASSIGN(
        executor_,
        SharedBlocks::Map(memory.get(), SharedBlocks::End::kExecutor));
  }

  // Takes all free blocks of an end.
  static std::vector<SharedBlocks::Block> TakeAll(SharedBlocks& blocks) {
    std::vector<SharedBlocks::Block> all;
    while (const auto block = blocks.Take(1)) all.push_back(*block);
    return all;
  }

  std::shared_ptr<SharedBlocks> daemon_;
  std::shared_ptr<SharedBlocks> executor_;
};

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_RELAY_BOTH_ENDS_H_
