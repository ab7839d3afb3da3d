// SPDX-License-Identifier: Apache-2.0
//
// wmma. PTX does not say which lane has which element, so that each form is
// tried as a part of a whole product: a, b and c go through memory, are loaded,
// multiplied and stored, and each lane reads a part of the result. The form on
// trial is one of the five instructions.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/forms/fragment.h"
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

constexpr int kMatrixBytes = 1024;  // at most
constexpr int kWarps = kBlockThreads / kLanes;
constexpr int kMostWarps = 2048;  // of a grid

// Memory of each warp for a, b, c, d in shared memory, and for one of them in
// global memory.
std::string Declarations() {
  return absl::StrCat(".shared .align 32 .b8 tiles[", kWarps * 4 * kMatrixBytes,
                      "];\n.global .align 32 .b8 global_tiles[",
                      kMostWarps * kMatrixBytes, "];\n");
}

constexpr char kPlaces[] =
    ".reg .b64 %w0, %wa, %wb, %wc, %wd;\n.reg .b32 %wn;\n"
    "shr.u32 %wn, %thread, 5;\nmov.u64 %w0, tiles;\n"
    "mad.wide.u32 %wa, %wn, 4096, %w0;\nadd.s64 %wb, %wa, 1024;\n"
    "add.s64 %wc, %wa, 2048;\nadd.s64 %wd, %wa, 3072;\n";

// The place of the warp in global memory.
std::string GlobalPlace(const std::string& place) {
  return absl::StrCat(
      "mad.lo.u32 %wn, %block, %size, %thread;\nshr.u32 %wn, %wn, 5;\n"
      "mov.u64 %w0, global_tiles;\nmad.wide.u32 ",
      place, ", %wn, ", kMatrixBytes, ", %w0;\n");
}

constexpr char kMeet[] = "bar.warp.sync 0xFFFFFFFF;\n";

// The product that a form is tried in.
class TileProduct {
 public:
  explicit TileProduct(const Words& words)
      : words_(words),
        shape_(words.OneOf({"m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8",
                            "m8n8k4", "m8n8k32", "m8n8k128"})),
        rows_(NumberBehind(shape_, 'm')),
        columns_(NumberBehind(shape_, 'n')),
        depth_(NumberBehind(shape_, 'k')),
        part_(PartOf(words)),
        a_(FactorKind(), rows_ * depth_, 0),
        b_(FactorKind(), depth_ * columns_, 1),
        c_(part_ == 'm' ? words.Type(words.types() - 1) : SumKind(),
           rows_ * columns_, 2),
        d_(part_ == 'm' ? words.Type(0) : SumKind()) {}

  Operation Describe() const {
    Operation operation;
    operation.group = kLanes;
    operation.sources = {"b32", "b32", "b32"};
    operation.results.assign(static_cast<size_t>(ResultWords()), "b64");
    operation.declarations = Declarations();
    operation.code = Code();
    operation.together = [product = *this](const std::vector<Sources>& lanes) {
      return product.Compute(lanes);
    };
    return operation;
  }

 private:
  // Which instruction the form is: a, b, c or d moves this matrix, and m
  // multiplies.
  static char PartOf(const Words& words) {
    if (words.Has("mma")) return 'm';
    return words.Has("store") ? 'd' : words.OneOf({"a", "b", "c"})[0];
  }

  // The kind of a and b: the form's, or one that goes with the sums of the
  // form.
  Kind FactorKind() const {
    if (part_ == 'm') return words_.types() == 2 ? "f16" : words_.Type(1);
    const Kind kind = words_.Type();
    if (part_ == 'a' || part_ == 'b') return kind;
    if (kind == "f64") return "f64";
    if (shape_ == "m16n16k8") return "tf32";
    if (shape_ == "m8n8k32") return "s4";
    if (shape_ == "m8n8k128") return "b1";
    return kind == "s32" ? "s8" : "f16";
  }

  Kind SumKind() const {
    if (part_ == 'c' || part_ == 'd') return words_.Type();
    const Kind kind = words_.Type();
    return kind == "f64" ? "f64" : IsFloat(kind) ? "f32" : "s32";
  }

  std::string LayoutOf(char part) const {
    const std::vector<std::string> layouts = words_.AllOf({"row", "col"});
    if (part_ == 'm' && part == 'a') return layouts[0];
    if (part_ == 'm' && part == 'b') return layouts[1];
    if (part == part_) return layouts[0];
    return part == 'b' ? "col" : "row";
  }
  bool ByColumns(char part) const { return LayoutOf(part) == "col"; }

  int ResultBytes() const {
    return rows_ * columns_ * BitsOf(d_) / 8 / static_cast<int>(kLanes);
  }
  int ResultWords() const { return ResultBytes() / 8; }

  // Instructions. The one on trial is "$".
  std::string Spelling(char part, const std::string& other) const {
    return part == part_ ? "$" : other;
  }
  std::string Load(char part, const Fragment& fragment,
                   const std::string& registers) const {
    const std::string name(1, part);
    return absl::StrCat(
        Spelling(part, absl::StrCat("wmma.load.", name, ".sync.aligned.",
                                    LayoutOf(part), ".", shape_, ".shared.",
                                    fragment.kind())),
        " ", registers, ", [%w", name, "];\n");
  }
  std::string Multiply() const {
    if (a_.kind() == "b1") {
      return "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32";
    }
    return absl::StrCat(
        "wmma.mma.sync.aligned.", LayoutOf('a'), ".", LayoutOf('b'), ".",
        shape_, ".", d_, a_.kind() == "f16" ? "" : absl::StrCat(".", a_.kind()),
        a_.kind() == "f16" ? "" : absl::StrCat(".", b_.kind()), ".", c_.kind());
  }

  // wmma of f16 has eight registers for a and for b, whatever they hold.
  static int FactorRegisters(const Fragment& factor) {
    return factor.kind() == "f16" ? 8 : factor.registers();
  }
  int SumRegisters(const Kind& kind) const {
    return rows_ * columns_ / static_cast<int>(kLanes) /
           (kind == "f16" ? 2 : 1);
  }
  static std::string Declared(const std::string& prefix, int count,
                              const Kind& kind) {
    return absl::StrCat(".reg .b", kind == "f64" ? 64 : 32, " ", prefix, "<",
                        count, ">;\n");
  }

  // The registers of `fragment` as a part of a matrix, one lane after the
  // other.
  static std::string Put(char part, const Fragment& fragment) {
    const int bytes = std::max(32, BitsOf(fragment.kind())) / 8;
    std::string code = absl::StrCat(
        fragment.Code(), "mad.wide.u32 %w0, %lane, ",
        bytes * fragment.registers(), ", %w", std::string(1, part), ";\n");
    for (int r = 0; r < fragment.registers(); ++r) {
      absl::StrAppend(&code, "st.b", 8 * bytes, " [%w0+", r * bytes, "], ",
                      fragment.Name(r), ";\n");
    }
    return code;
  }

  // Addresses are generic but for the form's, where it names a space.
  std::string Code() const {
    const bool is_global = words_.Has("global");
    std::string code = absl::StrCat(Registers(), kPlaces);
    if (is_global) code += GlobalPlace(absl::StrCat("%w", Part()));
    for (const char part : {'a', 'b', 'c', 'd'}) {
      absl::StrAppend(
          &code, "cvta.", is_global && part == part_ ? "global" : "shared",
          ".u64 %w", std::string(1, part), ", %w", std::string(1, part), ";\n");
    }
    absl::StrAppend(&code, kMeet, Put('a', a_), Put('b', b_), Put('c', c_),
                    kMeet);
    for (const char part : {'a', 'b', 'c', 'd'}) {
      if (part == part_ && SpaceOfForm().empty()) continue;
      absl::StrAppend(
          &code, "cvta.to.", part == part_ && is_global ? "global" : "shared",
          ".u64 %w", std::string(1, part), ", %w", std::string(1, part), ";\n");
    }
    return code + Product() + Read();
  }

  std::string Part() const { return std::string(1, part_); }
  std::string SpaceOfForm() const {
    return words_.OneOf({"global", "shared", "shared::cta"});
  }

  std::string Registers() const {
    return absl::StrCat(Declared("%xa", FactorRegisters(a_), a_.kind()),
                        Declared("%xb", FactorRegisters(b_), b_.kind()),
                        Declared("%xc", SumRegisters(c_.kind()), c_.kind()),
                        Declared("%xd", SumRegisters(d_), d_));
  }

  std::string Product() const {
    const auto list = [](const std::string& prefix, int count) {
      return Names(prefix, static_cast<size_t>(count));
    };
    const std::string a = list("%xa", FactorRegisters(a_));
    const std::string b = list("%xb", FactorRegisters(b_));
    const std::string c = list("%xc", SumRegisters(c_.kind()));
    const std::string d = list("%xd", SumRegisters(d_));
    return absl::StrCat(
        Load('a', a_, a), Load('b', b_, b), Load('c', c_, c),
        Spelling('m', Multiply()), " ", d, ", ", a, ", ", b, ", ", c, ";\n",
        Spelling('d', absl::StrCat("wmma.store.d.sync.aligned.", LayoutOf('d'),
                                   ".", shape_, ".shared.", d_)),
        " [%wd], ", d, ";\n", kMeet);
  }

  std::string Read() const {
    const std::string space = part_ != 'd'            ? ".shared"
                              : words_.Has("global")  ? ".global"
                              : SpaceOfForm().empty() ? ""
                                                      : ".shared";
    std::string code =
        absl::StrCat("mad.wide.u32 %w0, %lane, ", ResultBytes(), ", %wd;\n");
    for (int i = 0; i < ResultWords(); ++i) {
      absl::StrAppend(&code, "ld", space, ".b64 D", i, ", [%w0+", 8 * i,
                      "];\n");
    }
    return code;
  }

  using Matrix = std::vector<std::vector<int64_t>>;

  // The numbers that lie in memory one lane after the other.
  Matrix MatrixOf(const std::vector<Sources>& lanes, const Fragment& fragment,
                  char part) const {
    const auto rows = static_cast<size_t>(part == 'b' ? depth_ : rows_);
    const auto columns = static_cast<size_t>(part == 'a' ? depth_ : columns_);
    const auto count = static_cast<size_t>(fragment.count());
    const bool by_columns = ByColumns(part);
    Matrix matrix(rows, std::vector<int64_t>(columns));
    for (size_t at = 0; at < rows * columns; ++at) {
      const size_t row = by_columns ? at % rows : at / columns;
      const size_t column = by_columns ? at / rows : at % columns;
      matrix[row][column] =
          fragment.NumberOf(lanes[at / count], static_cast<int>(at % count));
    }
    return matrix;
  }

  // c, with the products added.
  Matrix Sums(const std::vector<Sources>& lanes) const {
    const Matrix a = MatrixOf(lanes, a_, 'a'), b = MatrixOf(lanes, b_, 'b');
    const bool bits = a_.kind() == "b1", both = words_.Has("and");
    Matrix sums = MatrixOf(lanes, c_, 'c');
    for (size_t row = 0; row < a.size(); ++row) {
      for (size_t k = 0; k < b.size(); ++k) {
        for (size_t column = 0; column < b[k].size(); ++column) {
          const int64_t x = a[row][k], y = b[k][column];
          sums[row][column] += !bits ? x * y : both ? x & y : x ^ y;
        }
      }
    }
    return sums;
  }

  uint64_t BitsOfSum(int64_t sum, bool saturates) const {
    if (d_ != "s32") return Encode(d_, static_cast<long double>(sum));
    return Truncate("s32", saturates
                               ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                               : sum);
  }

  // Rounding down, a sum of zero has the sign that the order of its terms makes
  // of it, which PTX leaves open.
  Outcomes Compute(const std::vector<Sources>& lanes) const {
    const Matrix sums = Sums(lanes);
    const bool saturates = words_.Has("satfinite"), down = words_.Has("rm");
    const bool by_columns = ByColumns('d');
    const size_t rows = sums.size(), columns = sums[0].size();
    const size_t in_lane = rows * columns / kLanes;
    const auto bits = static_cast<size_t>(BitsOf(d_));
    Outcomes outcomes(kLanes, Results{});
    for (size_t at = 0; at < rows * columns; ++at) {
      const int64_t sum = by_columns ? sums[at % rows][at / rows]
                                     : sums[at / columns][at % columns];
      std::optional<Results>& results = outcomes[at / in_lane];
      if (down && sum == 0) results = std::nullopt;
      if (!results) continue;
      const size_t bit = at % in_lane * bits;
      (*results)[bit / 64] |= BitsOfSum(sum, saturates) << (bit % 64);
    }
    return outcomes;
  }

  Words words_;
  std::string shape_;
  int rows_;
  int columns_;
  int depth_;
  char part_;
  Fragment a_, b_, c_;
  Kind d_;
};

}  // namespace

std::vector<Operation> DescribeTile(const Words& words) {
  return {TileProduct(words).Describe()};
}

}  // namespace holdfast::forms
