// SPDX-License-Identifier: Apache-2.0
//
// A matrix of eight rows and columns of halves is one register: lane 4 * r + c
// has columns 2 * c and 2 * c + 1 of row r. To move it, each lane takes the
// address of its row from the lane that names the row, tests it, and goes to
// its own columns there; a transposed one takes two rows. The runtime
// multiplies (core/software/semantics/matrix_product.h).
#include "core/software/jit/matrix_emitter.h"

#include <vector>

#include "core/software/jit/spaces.h"
#include "core/software/ptx/matrix.h"
#include "core/software/semantics/matrix_product.h"

namespace holdfast::software::jit {

using analysis::kWarpLanes;
using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Operand;
using ptx::Type;

namespace {

MatrixProduct ProductOf(const ptx::Modifiers& words) {
  const ptx::ProductShape shape = ptx::ProductShapeOf(words);
  const ptx::ProductTypes types = ptx::ProductTypesOf(words);
  MatrixProduct product;
  product.rows = shape.rows;
  product.depth = shape.depth;
  product.a = types.a;
  product.b = types.b;
  product.c = types.c;
  product.d = types.d;
  product.saturate = words.Has(Modifier::kSatfinite);
  return product;
}

bool IsTransposed(const Step& step) {
  return step.instruction.modifiers.Has(Modifier::kTrans);
}

}  // namespace

llvm::Value* MatrixEmitter::Constants(llvm::Type* element, int chunk,
                                      const OfLane& number) const {
  llvm::SmallVector<llvm::Constant*, 16> constants;
  for (int i = 0; i < c_.lanes(); ++i) {
    constants.push_back(llvm::ConstantInt::get(
        element, static_cast<uint64_t>(number(chunk * c_.lanes() + i))));
  }
  return llvm::ConstantVector::get(constants);
}

// By way of one vector of all lanes, of which LLVM makes what the CPU has.
Value MatrixEmitter::Permuted(const Value& value, const OfLane& from) const {
  std::vector<llvm::Value*> wide;
  wide.reserve(static_cast<size_t>(c_.chunks()));
  for (int c = 0; c < c_.chunks(); ++c) wide.push_back(v_.Vector(value, c));
  for (int lanes = c_.lanes(); wide.size() > 1; lanes *= 2) {
    std::vector<int> both(static_cast<size_t>(2 * lanes));
    for (int i = 0; i < 2 * lanes; ++i) both[static_cast<size_t>(i)] = i;
    for (size_t i = 0; i < wide.size() / 2; ++i) {
      wide[i] = b_.CreateShuffleVector(wide[2 * i], wide[2 * i + 1], both);
    }
    wide.resize(wide.size() / 2);
  }
  Value result{LaneShape::Varying(), value.type, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    std::vector<int> sources;
    sources.reserve(static_cast<size_t>(c_.lanes()));
    for (int i = 0; i < c_.lanes(); ++i) {
      sources.push_back(from(c * c_.lanes() + i));
    }
    result.parts.push_back(b_.CreateShuffleVector(wide[0], sources));
  }
  return result;
}

// The address of a lane's part of a matrix; of its lower or upper half, if the
// matrix is transposed. The row's address, which has been brought from another
// lane, is tested here, for the lane that goes there.
Value MatrixEmitter::Place(const Step& step, const Value& rows, int matrix,
                           int half) const {
  const bool transposed = IsTransposed(step);
  const Value row = Permuted(rows, [&](int lane) {
    return 8 * matrix + (transposed ? lane % 4 * 2 + half : lane / 4);
  });
  // No operand: what is known of the register is known of other lanes.
  addresses_.Check(step, Operand{}, SpaceOf(step.instruction), row);
  Value place = row;
  for (int c = 0; c < c_.chunks(); ++c) {
    place.parts[c] =
        b_.CreateAdd(row.parts[c], Constants(b_.getInt64Ty(), c, [&](int lane) {
                       return transposed ? lane / 4 * 2 : lane % 4 * 4;
                     }));
  }
  return place;
}

Value MatrixEmitter::LoadOne(const Step& step, const Value& rows,
                             int matrix) const {
  if (!IsTransposed(step)) {
    return access_.Load(step, Place(step, rows, matrix, 0), Type::kB32);
  }
  const Value low =
      access_.Load(step, Place(step, rows, matrix, 0), Type::kB16);
  const Value high =
      access_.Load(step, Place(step, rows, matrix, 1), Type::kB16);
  llvm::Type* word = b_.VectorOf(b_.getInt32Ty());
  Value result{LaneShape::Varying(), Type::kB32, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* upper = b_.CreateZExt(v_.Vector(high, c), word);
    result.parts.push_back(
        b_.CreateOr(b_.CreateZExt(v_.Vector(low, c), word),
                    b_.CreateShl(upper, b_.Splat(b_.I32(16)))));
  }
  return result;
}

void MatrixEmitter::EmitLoad(const Step& step) const {
  const auto& operands = step.instruction.operands;
  const Value rows =
      addresses_.Of(step, operands[1], SpaceOf(step.instruction));
  const auto registers = RegistersOf(operands[0]);
  std::vector<Value> matrices;
  for (size_t i = 0; i < registers.size(); ++i) {
    matrices.push_back(LoadOne(step, rows, static_cast<int>(i)));
  }
  for (size_t i = 0; i < registers.size(); ++i) {
    operands_.Write(step.lanes, registers[i], matrices[i]);
  }
}

void MatrixEmitter::EmitStore(const Step& step) const {
  const auto& operands = step.instruction.operands;
  const Value rows =
      addresses_.Of(step, operands[0], SpaceOf(step.instruction));
  const auto registers = RegistersOf(operands[1]);
  for (size_t i = 0; i < registers.size(); ++i) {
    const Value word =
        v_.Reshape(operands_.Read(step.lanes, registers[i], Type::kB32),
                   LaneShape::Varying());
    const int matrix = static_cast<int>(i);
    if (!IsTransposed(step)) {
      access_.Store(step, Place(step, rows, matrix, 0), word);
      continue;
    }
    for (const int half : {0, 1}) {
      Value part{LaneShape::Varying(), Type::kB16, {}};
      for (llvm::Value* bits : word.parts) {
        bits = b_.CreateLShr(
            bits, b_.Splat(b_.I32(static_cast<uint32_t>(16 * half))));
        part.parts.push_back(
            b_.CreateTrunc(bits, b_.VectorOf(b_.getInt16Ty())));
      }
      access_.Store(step, Place(step, rows, matrix, half), part);
    }
  }
}

// Lane 4 * r + c gets column r of rows 2 * c and 2 * c + 1.
void MatrixEmitter::EmitTranspose(const Step& step) const {
  const auto& operands = step.instruction.operands;
  const Value matrix = operands_.Read(step.lanes, operands[1], Type::kB32);
  const auto half_of = [&](int half) {
    return Permuted(
        matrix, [&](int lane) { return 4 * (lane % 4 * 2 + half) + lane / 8; });
  };
  const Value low = half_of(0), high = half_of(1);
  Value result{LaneShape::Varying(), Type::kB32, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* shift = Constants(b_.getInt32Ty(), c,
                                   [](int lane) { return lane / 4 % 2 * 16; });
    llvm::Value* mask = b_.Splat(b_.I32(0xFFFF));
    llvm::Value* lower = b_.CreateAnd(b_.CreateLShr(low.parts[c], shift), mask);
    llvm::Value* upper =
        b_.CreateAnd(b_.CreateLShr(high.parts[c], shift), mask);
    result.parts.push_back(
        b_.CreateOr(lower, b_.CreateShl(upper, b_.Splat(b_.I32(16)))));
  }
  operands_.Write(step.lanes, operands[0], result);
}

void MatrixEmitter::EmitProduct(const Step& step) {
  const auto& operands = step.instruction.operands;
  const ptx::Modifiers& words = step.instruction.modifiers;
  const MatrixProduct product = ProductOf(words);
  const Type type = registers_.WordOf(product.d);
  llvm::AllocaInst* const sources[] = {
      registers_.Spill(step, RegistersOf(operands[1]), type),
      registers_.Spill(step, RegistersOf(operands[2]), type),
      registers_.Spill(step, RegistersOf(operands[3]), type)};
  llvm::AllocaInst* results = registers_.Make();
  runtime_.Call("holdfast_multiply_matrices", b_.getVoidTy(),
                {b_.getInt64(PackMatrixProduct(product)), sources[0],
                 sources[1], sources[2], results});
  for (llvm::AllocaInst* const source : sources) registers_.End(source);
  registers_.Take(step, RegistersOf(operands[0]), type, results,
                  RegistersOf(operands[0]).size());
}

}  // namespace holdfast::software::jit
