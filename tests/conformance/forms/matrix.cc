// SPDX-License-Identifier: Apache-2.0
//
// Matrices that a warp's lanes hold together, in registers of a known layout.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/conformance/forms/fragment.h"
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

constexpr uint64_t kHalf = 0xFFFF;

// A matrix of 8 rows and 8 columns of 16 bits.
using Square = std::array<std::array<uint64_t, 8>, 8>;

// Where lanes hold the halves of a square: two of one row, side by side.
uint64_t FragmentOf(const Square& square, unsigned lane) {
  const auto& row = square[lane / 4];
  return row[lane % 4 * 2] | row[lane % 4 * 2 + 1] << 16;
}

Square Transposed(const Square& square) {
  Square result;
  for (size_t row = 0; row < 8; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      result[column][row] = square[row][column];
    }
  }
  return result;
}

size_t CountOf(const Words& words) {
  return words.Has("x4") ? 4 : words.Has("x2") ? 2 : 1;
}

// Lane l names the row that lane l ^ 5 has: %u0, in shared memory or generic.
unsigned NamedBy(unsigned lane) { return lane ^ 5; }

std::string NameRow(const Words& words) {
  const bool shared = words.Has("shared") || words.Has("shared::cta");
  return absl::StrCat(
      "xor.b32 %t0, %lane, 5;\nsub.s32 %t0, %t0, %lane;\n"
      "mul.wide.s32 %u0, %t0, 16;\nadd.s64 %u0, %u0, %",
      shared ? "" : "g", "shared;\n");
}

constexpr char kMeet[] = "bar.warp.sync 0xFFFFFFFF;\n";

// Each lane has stored the 16 bytes of its two sources.
Square SquareIn(const std::vector<Sources>& lanes, size_t matrix) {
  Square square;
  for (unsigned row = 0; row < 8; ++row) {
    const Sources& in = lanes[NamedBy(static_cast<unsigned>(8 * matrix) + row)];
    for (size_t column = 0; column < 8; ++column) {
      square[row][column] = in[column / 4] >> (column % 4 * 16) & kHalf;
    }
  }
  return square;
}

Operation Load(const Words& words) {
  const size_t count = CountOf(words);
  const bool transposed = words.Has("trans");
  Operation operation;
  operation.group = kLanes;
  operation.sources = {"b64", "b64"};
  operation.results.assign(count, "b32");
  operation.code =
      absl::StrCat(kMeet, "st.shared.v2.b64 [%shared], {S0, S1};\n", kMeet,
                   NameRow(words), "$ ", Names("D", count), ", [%u0];\n");
  operation.together = [=](const std::vector<Sources>& lanes) {
    Outcomes outcomes(kLanes, Results{});
    for (size_t i = 0; i < count; ++i) {
      const Square stored = SquareIn(lanes, i);
      const Square square = transposed ? Transposed(stored) : stored;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        (*outcomes[lane])[i] = FragmentOf(square, lane);
      }
    }
    return outcomes;
  };
  return operation;
}

Square SquareOf(const std::vector<Sources>& lanes, size_t source) {
  Square square;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t word = lanes[lane][source];
    square[lane / 4][lane % 4 * 2] = word & kHalf;
    square[lane / 4][lane % 4 * 2 + 1] = word >> 16 & kHalf;
  }
  return square;
}

// Each lane reads back its own 16 bytes, of zeros where no row was stored.
Operation Store(const Words& words) {
  const size_t count = CountOf(words);
  const bool transposed = words.Has("trans");
  Operation operation;
  operation.group = kLanes;
  operation.sources = {"b32", "b32", "b32", "b32"};
  operation.results.assign(4, "b32");
  operation.code =
      absl::StrCat(kMeet,
                   "mov.b32 %t0, 0;\nst.shared.v4.b32 [%shared], "
                   "{%t0, %t0, %t0, %t0};\n",
                   kMeet, NameRow(words), "$ [%u0], ", Names("S", count), ";\n",
                   kMeet, "ld.shared.v4.b32 {D0, D1, D2, D3}, [%shared];\n");
  operation.together = [=](const std::vector<Sources>& lanes) {
    Outcomes outcomes(kLanes, Results{});
    for (unsigned i = 0; i < count; ++i) {
      const Square held = SquareOf(lanes, i);
      const Square square = transposed ? Transposed(held) : held;
      for (unsigned row = 0; row < 8; ++row) {
        Results& results = *outcomes[NamedBy(8 * i + row)];
        for (size_t column = 0; column < 8; ++column) {
          results[column / 2] |= square[row][column] << (column % 2 * 16);
        }
      }
    }
    return outcomes;
  };
  return operation;
}

Operation Transpose() {
  Operation operation;
  operation.group = kLanes;
  operation.sources = {"b32"};
  operation.results = {"b32"};
  operation.together = [](const std::vector<Sources>& lanes) {
    const Square square = Transposed(SquareOf(lanes, 0));
    Outcomes outcomes;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      outcomes.emplace_back(Results{FragmentOf(square, lane)});
    }
    return outcomes;
  };
  return operation;
}

// mma: a of `rows` by `depth`, b of `depth` by 8, c and d of `rows` by 8.
class Product {
 public:
  explicit Product(const Words& words)
      : shape_(words.OneOf({"m8n8k4", "m8n8k16", "m8n8k32", "m16n8k4",
                            "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64"})),
        rows_(NumberBehind(shape_, 'm')),
        depth_(NumberBehind(shape_, 'k')),
        saturates_(words.Has("satfinite")),
        a_(words.Type(1), rows_ * depth_, 0),
        b_(words.Type(2), depth_ * 8, 1),
        c_(words.Type(3), rows_ * 8, 2) {}

  Operation Describe() const {
    Operation operation;
    operation.group = kLanes;
    operation.sources = {"b32", "b32", "b32"};
    operation.results.assign(static_cast<size_t>(c_.registers()),
                             c_.parts() == 2 ? "f16x2" : c_.kind());
    operation.code =
        absl::StrCat(a_.Code(), b_.Code(), c_.Code(), "$ ",
                     Names("D", static_cast<size_t>(c_.registers())), ", ",
                     a_.List(), ", ", b_.List(), ", ", c_.List(), ";\n");
    operation.together = [product = *this](const std::vector<Sources>& lanes) {
      return product.Compute(lanes);
    };
    return operation;
  }

 private:
  using Matrix = std::vector<std::vector<int64_t>>;

  static Matrix Zeros(int rows, int columns) {
    return Matrix(static_cast<size_t>(rows),
                  std::vector<int64_t>(static_cast<size_t>(columns)));
  }

  // Rows of a, or columns of b, and places along the depth.
  static Matrix Along(const Fragment& fragment, int outer, int depth,
                      const std::vector<Sources>& lanes) {
    Matrix matrix = Zeros(outer, depth);
    const int parts = fragment.parts();
    for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
      for (int i = 0; i < fragment.count(); ++i) {
        const int group = i / parts;
        const int line = lane / 4 + (outer == 16 && group % 2 == 1 ? 8 : 0);
        const int step = outer == 16 ? group / 2 : group;
        const int place = lane % 4 * parts + i % parts + step * 4 * parts;
        matrix[static_cast<size_t>(line)][static_cast<size_t>(place)] =
            fragment.NumberOf(lanes[static_cast<size_t>(lane)], i);
      }
    }
    return matrix;
  }

  uint64_t Bits(int64_t sum) const {
    if (c_.kind() != "s32") {
      return Encode(c_.kind(), static_cast<long double>(sum));
    }
    if (saturates_) {
      sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
    }
    return Truncate("s32", sum);
  }

  Outcomes Compute(const std::vector<Sources>& lanes) const {
    const Matrix a = Along(a_, rows_, depth_, lanes);
    const Matrix b = Along(b_, 8, depth_, lanes);
    Outcomes outcomes;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      Results results = {};
      for (int i = 0; i < c_.count(); ++i) {
        const size_t row = lane / 4 + (i < 2 ? 0 : 8);
        const size_t column = lane % 4 * 2 + static_cast<size_t>(i % 2);
        int64_t sum = c_.NumberOf(lanes[lane], i);
        for (size_t k = 0; k < a[row].size(); ++k) {
          sum += a[row][k] * b[column][k];
        }
        const int part = i % c_.parts();
        results[static_cast<size_t>(i / c_.parts())] |= Bits(sum)
                                                        << (16 * part);
      }
      outcomes.emplace_back(results);
    }
    return outcomes;
  }

  std::string shape_;
  int rows_;
  int depth_;
  bool saturates_;
  Fragment a_, b_, c_;
};

}  // namespace

std::vector<Operation> DescribeMatrix(const Words& words) {
  if (words.opcode() == "ldmatrix") return {Load(words)};
  if (words.opcode() == "stmatrix") return {Store(words)};
  if (words.opcode() == "movmatrix") return {Transpose()};
  if (words.opcode() == "mma") return {Product(words).Describe()};
  if (words.opcode() == "wmma") return DescribeTile(words);
  return {};
}

}  // namespace holdfast::forms
