// SPDX-License-Identifier: Apache-2.0
//
// Values of lanes made of constants: LLVM's builder folds what is emitted, so
// that each lane's number can be read off.
#include "core/software/jit/lane_values.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/lane_arrays.h"
#include "core/software/jit/lane_transpose.h"
#include "gtest/gtest.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"

namespace holdfast::software::jit {
namespace {

using analysis::LaneShape;
using ptx::Type;

constexpr LaneShape kAffine{false, true, 3};        // of the warp
constexpr LaneShape kChunkAffine{false, false, 3};  // of each chunk

// By the lanes of a chunk.
class LaneValuesTest : public testing::TestWithParam<int> {
 protected:
  LaneValuesTest()
      : module_("test", context_), b_(&module_, GetParam()), v_(b_) {
    function_ = b_.NewFunction("f", b_.getVoidTy(), {b_.getInt32Ty()});
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  }

  Value Warp(Type type, const LaneShape& shape, uint64_t base) {
    Value value{shape, type, {}};
    for (int c = 0; c < v_.PartsOf(shape); ++c) {
      value.parts.push_back(b_.getInt32(static_cast<uint32_t>(base) + 100 * c));
    }
    return value;
  }
  // The numbers of all 32 lanes of a value whose parts are vectors.
  std::vector<uint64_t> Lanes(const Value& value) {
    std::vector<uint64_t> lanes;
    for (llvm::Value* part : value.parts) {
      for (int i = 0; i < GetParam(); ++i) {
        llvm::Constant* constant = Folded(part);
        lanes.push_back(
            llvm::cast<llvm::ConstantInt>(constant->getAggregateElement(i))
                ->getZExtValue());
      }
    }
    return lanes;
  }
  // The builder leaves some operations of constants as they are.
  llvm::Constant* Folded(llvm::Value* value) {
    const llvm::DataLayout& layout = module_.getDataLayout();
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
      return llvm::ConstantFoldConstant(constant, layout);
    }
    auto* instruction = llvm::cast<llvm::Instruction>(value);
    for (llvm::Use& operand : instruction->operands()) {
      operand.set(Folded(operand.get()));
    }
    return llvm::ConstantFoldInstruction(instruction, layout);
  }
  size_t Count(unsigned opcode) {
    size_t count = 0;
    for (const llvm::Instruction& instruction : llvm::instructions(function_)) {
      if (instruction.getOpcode() == opcode) ++count;
    }
    return count;
  }

  llvm::LLVMContext context_;
  llvm::Module module_;
  Builder b_;
  const LaneValues v_;
  llvm::Function* function_;
};

TEST_P(LaneValuesTest, AnAffineValueCountsOverTheWholeWarp) {
  const Value value =
      v_.Reshape(Warp(Type::kU32, kAffine, 7), LaneShape::Varying());
  const std::vector<uint64_t> lanes = Lanes(value);
  ASSERT_EQ(lanes.size(), 32u);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(lanes[i], 7 + 3 * i);
}

TEST_P(LaneValuesTest, AChunksValueBeginsAgainInEachChunk) {
  const Value value =
      v_.Reshape(Warp(Type::kU32, kChunkAffine, 7), LaneShape::Varying());
  const std::vector<uint64_t> lanes = Lanes(value);
  const auto chunk = static_cast<uint64_t>(GetParam());
  for (uint64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(lanes[i], 7 + 100 * (i / chunk) + 3 * (i % chunk));
  }
}

TEST_P(LaneValuesTest, WideningAnAffineValueWrapsLaneByLane) {
  // The last lanes are beyond 2^32: each has to be widened by itself.
  const Value narrow = Warp(Type::kU32, kAffine, 0xFFFFFFF0);
  const std::vector<uint64_t> lanes = Lanes(v_.As(narrow, Type::kU64));
  for (uint64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(lanes[i], static_cast<uint32_t>(0xFFFFFFF0 + 3 * i));
  }
}

TEST_P(LaneValuesTest, SignedValuesAreWidenedBySign) {
  const Value narrow = v_.Uniform(Type::kS32, b_.I32(0xFFFFFFFE));
  const Value wide = v_.As(narrow, Type::kS64);
  EXPECT_TRUE(wide.shape.uniform());
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(wide.parts[0])->getSExtValue(), -2);
}

TEST_P(LaneValuesTest, BitsOfLanesBecomeMasksAndBitsAgain) {
  const Value predicate = v_.PredicateOf(b_.I32(0x80010203));
  const std::vector<uint64_t> lanes = Lanes(predicate);
  for (uint64_t i = 0; i < 32; ++i) {
    EXPECT_EQ(lanes[i], 0x80010203 >> i & 1) << i;
  }
  Value masks = predicate;
  masks.bits = nullptr;
  auto* bits = llvm::cast<llvm::ConstantInt>(Folded(v_.BitsOfPredicate(masks)));
  EXPECT_EQ(bits->getZExtValue(), 0x80010203u);
}

TEST_P(LaneValuesTest, AllAreLooksAtEveryLane) {
  const auto holds = [&](uint32_t bits, bool value) {
    return !Folded(v_.AllAre(v_.PredicateOf(b_.I32(bits)), value))
                ->isNullValue();
  };
  EXPECT_TRUE(holds(kAllLanes, true));
  EXPECT_FALSE(holds(kAllLanes - 1, true));
  EXPECT_FALSE(holds(kAllLanes >> 1, true));
  EXPECT_TRUE(holds(0, false));
  EXPECT_FALSE(holds(1u << 31, false));
}

TEST_P(LaneValuesTest, TransposingFoursIsUndoneByJoining) {
  const LaneTranspose transpose(b_);
  LaneTranspose::Parts groups;
  for (int lane = 0; lane < GetParam(); ++lane) {
    std::vector<llvm::Constant*> elements;
    for (int e = 0; e < 4; ++e) elements.push_back(b_.getInt32(10 * lane + e));
    groups.push_back(llvm::ConstantVector::get(elements));
  }
  const auto parts = transpose.SplitFours(groups);
  ASSERT_EQ(parts.size(), 4u);
  for (size_t e = 0; e < 4; ++e) {
    Value element{LaneShape::Varying(), Type::kU32, {parts[e]}};
    const std::vector<uint64_t> lanes = Lanes(element);
    for (size_t i = 0; i < lanes.size(); ++i) EXPECT_EQ(lanes[i], 10 * i + e);
  }
  const auto joined = transpose.JoinFours(parts);
  EXPECT_TRUE(
      std::equal(joined.begin(), joined.end(), groups.begin(), groups.end()));
}

TEST_P(LaneValuesTest, TransposingPairsIsUndoneByJoining) {
  const LaneTranspose transpose(b_);
  LaneTranspose::Parts halves;
  for (int half = 0; half < 2; ++half) {
    std::vector<llvm::Constant*> elements;
    for (int i = 0; i < GetParam(); ++i) {
      elements.push_back(b_.getInt32(half * GetParam() + i));
    }
    halves.push_back(llvm::ConstantVector::get(elements));
  }
  const auto parts = transpose.SplitPairs(halves);
  const std::vector<uint64_t> second =
      Lanes({LaneShape::Varying(), Type::kU32, {parts[1]}});
  for (size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second[i], 2 * i + 1);
  const auto joined = transpose.JoinPairs(parts);
  EXPECT_TRUE(
      std::equal(joined.begin(), joined.end(), halves.begin(), halves.end()));
}

TEST_P(LaneValuesTest, OneLaneOfAnAffineValueNeedsNoMemory) {
  const LaneArrays arrays(b_);
  const Value lane = arrays.AtLane(Warp(Type::kU32, kAffine, 7), b_.I32(5));
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(lane.parts[0])->getZExtValue(), 22u);
  EXPECT_EQ(Count(llvm::Instruction::Alloca), 0u);
}

TEST_P(LaneValuesTest, TheLoopOverLanesIsWellFormed) {
  const LaneArrays arrays(b_);
  arrays.ForEachLane(function_->getArg(0), [&](llvm::Value* lane) {
    // A body with blocks of its own.
    auto* inside = b_.NewBlock("inside");
    b_.CreateBr(inside);
    b_.SetInsertPoint(inside);
    b_.CreateStore(lane, b_.AllocaAtEntry(b_.getInt32Ty()));
  });
  b_.CreateRetVoid();
  EXPECT_FALSE(llvm::verifyFunction(*function_, &llvm::errs()));
}

TEST_P(LaneValuesTest, LanesThatAllRunHaveNoMask) {
  EXPECT_EQ(ActiveLanes{}.Mask(b_), nullptr);
  EXPECT_EQ(ActiveLanes{}.MaskOrAll(b_), b_.I32(kAllLanes));
  // A guard narrows them, and so does a second one.
  const ActiveLanes guarded = ActiveLanes{}.Guarded(b_, b_.I32(0xF0));
  EXPECT_EQ(guarded.Mask(b_), b_.I32(0xF0));
  EXPECT_EQ(guarded.Guarded(b_, b_.I32(0x3C)).Mask(b_), b_.I32(0x30));
}

TEST_P(LaneValuesTest, ARegionsLanesAreNarrowedByAGuard) {
  ActiveLanes lanes;
  lanes.region = b_.I32(0xFF);
  lanes.guard = b_.I32(0x0F0F);
  EXPECT_EQ(lanes.Exec(b_), b_.I32(0xFF));
  EXPECT_EQ(lanes.Mask(b_), b_.I32(0x0F));
}

TEST_P(LaneValuesTest, ALaneThatRunsAloneHasNoMaskWhateverElseRuns) {
  ActiveLanes lanes;
  lanes.exec = b_.AllocaAtEntry(b_.getInt32Ty());
  lanes.guard = b_.I32(1);
  lanes.lane = b_.I32(3);
  EXPECT_EQ(lanes.Mask(b_), nullptr);
  EXPECT_EQ(lanes.LaneBit(b_), b_.I32(8));
}

INSTANTIATE_TEST_SUITE_P(Widths, LaneValuesTest, testing::Values(8, 16));

}  // namespace
}  // namespace holdfast::software::jit
