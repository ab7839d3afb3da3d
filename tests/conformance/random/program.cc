// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/program.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace holdfast::random_ptx {

thread_local bool undefined = false;

namespace {

// Registers without a meaning of their own: addresses and what is on the way
// to a result.
constexpr char kScratch[] =
    ".reg .pred %q<4>;\n.reg .b16 %u<4>;\n.reg .b32 %t<4>, %lane, %index;\n"
    ".reg .b64 %a<4>, %in, %own;\n";

std::string TextOf(const Function& function, const Instruction& instruction) {
  if (!instruction.guard.has_value()) return instruction.text;
  const std::string guard =
      absl::StrCat("@", instruction.unless ? "!" : "",
                   function.registers[*instruction.guard].name, " ");
  std::string text;
  for (const auto& line :
       absl::StrSplit(instruction.text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, guard, line, "\n");
  }
  return text;
}

std::string Bytes(const std::vector<uint8_t>& bytes) {
  std::string list;
  for (const uint8_t byte : bytes) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", byte);
  }
  return list;
}

std::string Signature(const Function& function) {
  return absl::StrCat(
      ".func (.param .b32 result) ", function.name,
      "(.param .b32 p_mask, .param .b32 p_depth, .param .b32 p_x, .param .b64 "
      "p_y, .param .f32 p_z, .param .b64 p_in, .param .b64 p_own)");
}

std::string Body(const Function& function) {
  std::string text = absl::StrCat("{\n", kScratch, ".local .align 16 .b8 loc[",
                                  kLocalBytes, "];\n");
  for (const Register& one : function.registers) {
    absl::StrAppend(&text, ".reg .", one.type, " ", one.name, ";\n");
  }
  for (const Instruction& one : function.code) {
    absl::StrAppend(&text, TextOf(function, one));
  }
  return text + "}\n";
}

}  // namespace

std::string PtxOf(const Program& program) {
  std::string text = absl::StrCat(
      "// seed ", program.seed, ": ", program.blocks, " blocks of ",
      program.threads, " threads\n.version 8.5\n.target sm_90\n",
      ".address_size 64\n.const .align 16 .b8 table[", kTableBytes, "] = {",
      Bytes(program.initial.table), "};\n");
  absl::StrAppend(&text, ".shared .align 16 .b8 slots[",
                  program.threads * kSlotBytes,
                  "];\n.shared .align 4 .b32 shared_sums[", kSums, "];\n");
  for (size_t i = 1; i < program.functions.size(); ++i) {
    absl::StrAppend(&text, Signature(program.functions[i]), ";\n");
  }
  for (size_t i = 1; i < program.functions.size(); ++i) {
    absl::StrAppend(&text, Signature(program.functions[i]), "\n",
                    Body(program.functions[i]));
  }
  return absl::StrCat(
      text,
      ".visible .entry kernel(.param .u64 p_in, .param .u64 p_own, .param .u64 "
      "p_sums, .param .u64 p_dump, .param .align 16 .b8 p_blob[",
      kBlobBytes, "])\n", Body(program.functions[0]));
}

}  // namespace holdfast::random_ptx
