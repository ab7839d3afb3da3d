// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/fragment.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace holdfast::forms {
namespace {

// Where the bits of element i's number begin in the source.
int ShiftOf(int i) { return i * 5 % 29; }

// What the source is multiplied by for register r.
int FactorOf(int r) { return 2 * r * 0x9E3779 + 1; }

}  // namespace

std::string Names(const std::string& prefix, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(absl::StrCat(prefix, i));
  }
  return absl::StrCat("{", absl::StrJoin(names, ", "), "}");
}

int NumberBehind(const std::string& word, char letter) {
  return std::stoi(word.substr(word.find(letter) + 1));
}

int Fragment::parts() const { return std::max(1, 32 / BitsOf(kind_)); }

bool Fragment::whole() const {
  return !IsFloat(kind_) && kind_[0] != 'e' && kind_ != "tf32";
}

int64_t Fragment::NumberOf(const Sources& in, int i) const {
  const uint64_t word = in[static_cast<size_t>(source_)];
  if (!whole()) return static_cast<int64_t>(word >> ShiftOf(i) & 7) - 4;
  const uint64_t bits =
      Truncate("u32", static_cast<__int128>(word) * FactorOf(i / parts()));
  return static_cast<int64_t>(
      ToInteger(kind_, bits >> (i % parts() * BitsOf(kind_))));
}

std::string Fragment::Name(int r) const {
  return absl::StrCat("%m", source_, "_", r);
}

std::string Fragment::List() const {
  return Names(absl::StrCat("%m", source_, "_"),
               static_cast<size_t>(registers()));
}

std::string Fragment::Code() const {
  std::string code = absl::StrCat(
      ".reg .b", std::max(32, BitsOf(kind_)), " %m", source_, "_<", registers(),
      ">;\n.reg .b16 %p", source_, "_<2>;\n.reg .f32 %f", source_, "_<2>;\n");
  for (int r = 0; r < registers(); ++r) code += RegisterCode(r);
  return code;
}

std::string Fragment::NumberCode(int i) const {
  return absl::StrCat("shr.u32 %t0, S", source_, ", ", ShiftOf(i),
                      ";\nand.b32 %t0, %t0, 7;\nsub.s32 %t0, %t0, 4;\n");
}

std::string Fragment::RegisterCode(int r) const {
  const std::string name = Name(r);
  if (whole()) {
    return absl::StrCat("mul.lo.u32 ", name, ", S", source_, ", ", FactorOf(r),
                        ";\n");
  }
  if (parts() == 1) {
    const std::string kind = kind_ == "f64" ? "f64" : "f32";
    return absl::StrCat(NumberCode(r), "cvt.rn.", kind, ".s32 ", name,
                        ", %t0;\n");
  }
  std::string code;
  const std::string half = absl::StrCat("%p", source_, "_");
  const std::string wide = absl::StrCat("%f", source_, "_");
  for (int i = 0; i < parts(); ++i) {
    code += NumberCode(r * parts() + i);
    if (parts() == 2) {
      absl::StrAppend(&code, "cvt.rn.", kind_, ".s32 ", half, i, ", %t0;\n");
      continue;
    }
    absl::StrAppend(&code, "cvt.rn.f32.s32 ", wide, i % 2, ", %t0;\n");
    if (i % 2 == 1) {
      absl::StrAppend(&code, "cvt.rn.satfinite.", kind_, "x2.f32 ", half, i / 2,
                      ", ", wide, "1, ", wide, "0;\n");
    }
  }
  return absl::StrCat(code, "mov.b32 ", name, ", {", half, "0, ", half,
                      "1};\n");
}

}  // namespace holdfast::forms
