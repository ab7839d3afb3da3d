// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/variable_names.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast::cuda {
namespace {

using Names = std::vector<std::string>;

constexpr char kPtx[] = R"(
// .global .u32 in_a_comment;
.version 8.0
.target sm_75
.address_size 64
/* .global .u32 in_another; */
.extern .global .align 4 .u32 elsewhere;
.visible .global .align 4 .u32 counter;
.global .align 8 .u64 pointers[2] = {counter, 0};
.visible .const .align 4 .b8 table[16];
.global .texref image;
.func helper() { ret; }
.visible .entry kernel(.param .u64 x)
{
  .shared .align 4 .b8 shared[16];
  .reg .u32 %r<2>;
  ld.global.u32 %r1, [counter];
  { .local .u32 nested; }
  ret;
}
.weak .global .align 4 .u32 last;
)";

TEST(VariableNamesTest, ReadsDeclarationsOfPtx) {
  EXPECT_EQ(VariableNames(kPtx).value(),
            (Names{"counter", "pointers", "table", "last"}));
}

// An ELF image of three sections: names, symbols, variables.
std::string MakeCubin() {
  const std::string names =
      std::string("\0.nv.global\0.nv.constant0\0x\0y\0", 32);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  Elf64_Sym symbols[3] = {};
  const auto offset = [&](const char* text) {
    return static_cast<Elf64_Word>(names.find(text));
  };
  symbols[1].st_name = offset("x");
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbols[1].st_shndx = 3;
  symbols[2] = symbols[1];  // in the compiler's own bank
  symbols[2].st_name = offset("y");
  symbols[2].st_shndx = 4;
  Elf64_Shdr sections[5] = {};
  header.e_shoff = sizeof header;
  header.e_shnum = 5;
  header.e_shstrndx = 1;
  const size_t data = sizeof header + sizeof sections;
  sections[1].sh_offset = data;
  sections[1].sh_size = names.size();
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_link = 1;
  sections[2].sh_offset = data + names.size();
  sections[2].sh_size = sizeof symbols;
  sections[3].sh_name = offset(".nv.global");
  sections[4].sh_name = offset(".nv.constant0");
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image.append(reinterpret_cast<const char*>(sections), sizeof sections);
  image.append(names);
  image.append(reinterpret_cast<const char*>(symbols), sizeof symbols);
  return image;
}

TEST(VariableNamesTest, ReadsTheSymbolsOfACubin) {
  EXPECT_EQ(VariableNames(MakeCubin()).value(), Names{"x"});
}

TEST(VariableNamesTest, BelievesNoByteOfAnImage) {
  const std::string whole = MakeCubin();
  for (size_t size = SELFMAG; size < whole.size(); ++size) {
    EXPECT_LE(VariableNames(whole.substr(0, size)).value().size(), 1u);
  }
  for (size_t at = SELFMAG; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = '\xff';
    VariableNames(damaged).value();
  }
  EXPECT_FALSE(VariableNames("").ok());
  EXPECT_FALSE(VariableNames("\x50\xed\x55\xba a fatbin").ok());
}

}  // namespace
}  // namespace holdfast::cuda
