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

// An ELF image of three sections: names, symbols, variables. The symbols are
// `copies` of the variable `name`, and one in the compiler's own bank.
std::string MakeCubin(const std::string& name = "x", size_t copies = 1) {
  std::string names = std::string("\0.nv.global\0.nv.constant0\0y\0", 28);
  names.append("[").append(name).push_back('\0');
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  const auto offset = [&](const char* text) {
    return static_cast<Elf64_Word>(names.find(text));
  };
  Elf64_Sym symbol = {};
  symbol.st_name = offset("[") + 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  symbol.st_shndx = 3;
  std::vector<Elf64_Sym> symbols(1);
  symbols.insert(symbols.end(), copies, symbol);
  symbol.st_name = offset("y");
  symbol.st_shndx = 4;
  symbols.push_back(symbol);
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
  sections[2].sh_size = symbols.size() * sizeof(Elf64_Sym);
  sections[3].sh_name = offset(".nv.global");
  sections[4].sh_name = offset(".nv.constant0");
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image.append(reinterpret_cast<const char*>(sections), sizeof sections);
  image.append(names);
  image.append(reinterpret_cast<const char*>(symbols.data()),
               symbols.size() * sizeof(Elf64_Sym));
  return image;
}

TEST(VariableNamesTest, ReadsTheSymbolsOfACubin) {
  EXPECT_EQ(VariableNames(MakeCubin()).value(), Names{"x"});
}

TEST(VariableNamesTest, NamesOfACubinMayBeLong) {
  const std::string name(100'000, 'n');
  EXPECT_EQ(VariableNames(MakeCubin(name)).value(), Names{name});
}

TEST(VariableNamesTest, ANameOfManySymbolsIsThereOnce) {
  const std::string name(4096, 'n');
  EXPECT_EQ(VariableNames(MakeCubin(name, 100)).value(), Names{name});
}

// All names are ends of one text.
TEST(VariableNamesTest, NamesOfACubinHaveNoMoreBytesThanTheImage) {
  const size_t copies = 4000;
  std::string image = MakeCubin(std::string(copies, 'n'), copies);
  const size_t first = image.size() - (copies + 1) * sizeof(Elf64_Sym);
  for (size_t i = 0; i < copies; ++i) {
    Elf64_Sym symbol;
    char* const at = image.data() + first + i * sizeof symbol;
    std::memcpy(&symbol, at, sizeof symbol);
    symbol.st_name += static_cast<Elf64_Word>(i);
    std::memcpy(at, &symbol, sizeof symbol);
  }
  size_t bytes = 0;
  const Names names = VariableNames(image).value();
  for (const std::string& name : names) bytes += name.size();
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, image.size());
}

TEST(VariableNamesTest, OneSymbolTableIsRead) {
  std::string image = MakeCubin();
  Elf64_Shdr table;
  const size_t sections = sizeof(Elf64_Ehdr);
  std::memcpy(&table, image.data() + sections + 2 * sizeof table, sizeof table);
  // The unused first section becomes an empty table.
  table.sh_size = 0;
  std::memcpy(image.data() + sections, &table, sizeof table);
  EXPECT_EQ(VariableNames(image).value(), Names());
}

TEST(VariableNamesTest, CommentsOfPtxEndWhereTheyEnd) {
  EXPECT_EQ(VariableNames(".version 8.0\n"
                          ".global .u32 a; // .global .u32 b;\n"
                          ".global .u32 c; /* ; */ .global .u32 d; /"
                          "\n.global .u32 e; /*")
                .value(),
            (Names{"a", "c", "d", "e"}));
}

TEST(VariableNamesTest, ADeclarationMayHaveSeveralVariables) {
  EXPECT_EQ(VariableNames(".version 8.0\n"
                          ".global .align 4 .b32 a, b[2] = {1, 2}, c = 7;\n"
                          ".global.v2.f32 d[4][2];\n"
                          ".global .attribute(.unified(19, 95)) .b8 e[8];\n"
                          ".const\v.u64 f[] = {generic(a), mask(0xff, b)};\n"
                          ".func (.reg .b32 r) g (.reg .b32 x, .reg .b32 y);\n")
                .value(),
            (Names{"a", "b", "c", "d", "e", "f"}));
}

// As "nvcc -G" and "clang++ -g" write it, with no function before the variable.
TEST(VariableNamesTest, TheHeadOfAModuleMayHaveCommas) {
  EXPECT_EQ(VariableNames(".version 9.0\n.target sm_75, debug\n"
                          ".address_size 64\n"
                          ".file 1 \"a.cu\", 1700000000, 123\n"
                          ".visible .global .align 4 .b8 x[16];\n"
                          ".global .align 4 .u32 y = 3, z;\n")
                .value(),
            (Names{"x", "y", "z"}));
  EXPECT_EQ(VariableNames(".version 9.0\n.target sm_75, debug\n"
                          ".extern .global .b8 x[];\n")
                .value(),
            Names{});
}

uint64_t Hidden(const std::string& body) {
  return HiddenVariableBytes(
             ".version 8.0\n.global .b8 outside[1000];\n"
             ".entry k(.param .u64 p) {\n" +
             body + "\nret;\n}\n.global .b8 behind[1000];\n")
      .value();
}

TEST(HiddenVariablesTest, VariablesInFunctionsAreCountedByTheirDeclaration) {
  EXPECT_EQ(Hidden(""), 0u);
  EXPECT_EQ(Hidden("ld.global.u32 %r1, [outside]; .reg .b64 %r<2>;"), 0u);
  EXPECT_EQ(Hidden("@%p ld.const.v2.u32 {%r1, %r2}, [x+4];"), 0u);
  EXPECT_EQ(Hidden(".shared .align 4 .b8 s[64]; .local .b8 l[64];"), 0u);
  EXPECT_EQ(Hidden(".global .align 8 .b8 a[100];"), 100u);
  EXPECT_EQ(Hidden(".global.v4.f32 a[2][0x10], b;"), 33 * 16u);
  EXPECT_EQ(Hidden("{ { .const .u64 a[4] = {1, {2}, 3}, b[2]; } }"), 48u);
  EXPECT_EQ(Hidden("L1:.global .u16 a; L2: .visible .global .b64 a;"), 10u);
  EXPECT_EQ(Hidden(".global .b8 a[18446744073709551615][2];"), UINT64_MAX);
}

// No semicolon ends a line directive.
TEST(HiddenVariablesTest, LinesOfTheSourceAreNotDeclarations) {
  EXPECT_EQ(Hidden(".loc 1 5 28\nst.global.f64 [%rd2], %fd2;"), 0u);
  EXPECT_EQ(Hidden("$L__BB0_1:\n.loc\t1 5 28, function_name $L__info0, "
                   "inlined_at 1 12 3\n@%p1 ld.const.u32 %r1, [%rd2+4];"),
            0u);
  EXPECT_EQ(Hidden(".loc 1 5 28, function_name info0+16, inlined_at 1 2 3\n"
                   ".loc 1 6 1\nL: ld.global.v2.u32 {%r1, %r2}, [%rd2];"),
            0u);
  EXPECT_EQ(Hidden(".loc 1 5 28 .global .b8 a[100];"), 100u);
  EXPECT_EQ(Hidden("L1: .loc 1 5 28\nL2 : .loc 1 6 2\n.const .u64 a;"), 8u);
  EXPECT_EQ(Hidden(".local .b8 a[8]; .loc"), 0u);
}

TEST(HiddenVariablesTest, ASizeThatIsNotPlainIsRefused) {
  for (const char* size : {"[2*3]", "[]", "[N]", "[4"}) {
    EXPECT_FALSE(
        HiddenVariableBytes(std::string(".version 8.0\n.func f() { .global .b8 "
                                        "a") +
                            size + "; ret; }")
            .ok())
        << size;
  }
  EXPECT_EQ(HiddenVariableBytes("no PTX").value(), 0u);
}

TEST(HiddenVariablesTest, ACubinTellsTheSizesOfItsSections) {
  EXPECT_EQ(CubinVariableBytes(kPtx), 0u);
  const std::string cubin = MakeCubin();
  for (size_t size = 0; size < cubin.size(); ++size) {
    CubinVariableBytes(cubin.substr(0, size));
  }
}

TEST(VariableNamesTest, StringsOfPtxAreNoBraces) {
  EXPECT_EQ(VariableNames(".version 8.0\n"
                          ".file 1 \"{ // /* ;\"\n"
                          ".global .u32 a;\n"
                          ".file 2 \"unfinished {\n"
                          "; .global .u32 b;\n")
                .value(),
            (Names{"a", "b"}));
}

TEST(VariableNamesTest, PtxMayBeginWithALongComment) {
  EXPECT_EQ(
      VariableNames("//" + std::string(10000, 'x') +
                    "\n.version 8.0\n.global .u32 a;" + std::string(3, '\0'))
          .value(),
      Names{"a"});
}

// A part of a fat binary may have more behind its text.
TEST(VariableNamesTest, PtxEndsAtItsFirstZero) {
  using std::string_literals::operator""s;
  const std::string ptx =
      ".version 8.0\n.global .u32 a;\n.func f() { .global .u64 b; ret; }\n"
      "\0.global .u32 c; \1"s;
  EXPECT_EQ(VariableNames(ptx).value(), Names{"a"});
  EXPECT_EQ(HiddenVariableBytes(ptx).value(), 8u);
}

// A look at the whole declaration for each brace would take many minutes.
TEST(HiddenVariablesTest, PtxIsReadInTimeInProportionToItsLength) {
  std::string declaration = ".global .u32 x";
  declaration.append(size_t{4} << 20, ' ').append("= ");
  for (int i = 0; i < 1 << 21; ++i) declaration.append("{}");
  EXPECT_EQ(Hidden(declaration + ";"), 4u);
}

TEST(VariableNamesTest, PtxIsReadInTimeInProportionToItsLength) {
  const size_t length = size_t{4} << 20;
  std::string ptx = ".version 8.0\n.global .u32 x";
  ptx.append(length, ' ').append("= ").append(length, '}').append(";");
  EXPECT_EQ(VariableNames(ptx).value(), Names{"x"});
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
