// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_c/generator.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/conformance/random_c/types.h"
#include "tests/conformance/random_c/writer.h"

namespace holdfast::random_c {
namespace {

constexpr double kMostOfAKernel = 2500;  // statements of one thread
constexpr size_t kResults = 8;           // words of each thread

// Loops over all elements of an array around `inner`, which gets the element.
std::string ForElements(const Type& type, const std::string& name,
                        const std::string& letter,
                        const std::string& statement) {
  std::string loops, element = name;
  for (size_t i = 0; i < type.extents.size(); ++i) {
    const std::string index = absl::StrCat(letter, i);
    absl::StrAppend(&loops, "for (u32 ", index, " = 0; ", index, " < ",
                    type.extents[i], "; ++", index, ") ");
    absl::StrAppend(&element, "[", index, "]");
  }
  std::string text = statement;
  text.replace(text.find('@'), 1, element);
  // Unrolled, such loops would be most of the program.
  return absl::StrCat(loops.empty() ? "" : "#pragma unroll 1\n", loops, "{ ",
                      text, " }\n");
}

// The numbers of a declaration, without inner braces.
void Literals(Random& random, const Type& type, int bits,
              std::vector<std::string>* numbers) {
  if (!type.extents.empty()) {
    for (size_t i = 0; i < type.extents[0]; ++i) {
      Literals(random, type.Element(), 0, numbers);
    }
    return;
  }
  if (type.record != nullptr) {
    const auto& members = type.record->members;
    for (size_t i = 0; i < (type.record->is_union ? 1 : members.size()); ++i) {
      Literals(random, members[i].type, members[i].bits, numbers);
    }
    return;
  }
  const bool narrow = bits != 0 || type.scalar == Scalar::kBool;
  numbers->push_back(absl::StrCat(random.Below(narrow ? 1 : 100)));
}

}  // namespace

Writer::Writer(uint64_t seed, Program* program)
    : random_(seed), program_(*program) {
  program_.seed = seed;
}

// A value of the record that depends on x alone.
void Writer::WriteFill(const Record& record) {
  std::string text = absl::StrCat(random_.Chance(50) ? "INLINE " : "NOINLINE ",
                                  record.name, " fill_", record.name,
                                  "(u64 x) {\n  ", record.name, " s;\n");
  for (const Member& member : record.members) {
    const Type& type = member.type;
    std::string value = absl::StrCat("(", type.Name(), ")x");
    if (type.record != nullptr) {
      value = absl::StrCat("fill_", type.Name(), "(x)");
    } else if (type.scalar == Scalar::kBool) {
      value = "(x & 1) != 0";
    } else if (IsFloat(type.scalar)) {
      value = absl::StrCat("(", type.Name(), ")(i32)(x >> 40) / 16");
    } else if (random_.Chance(30)) {
      value = absl::StrCat("(", type.Name(), ")(x & 15)");
    }
    absl::StrAppend(&text,
                    ForElements(type, "s." + member.name, "i",
                                absl::StrCat("x = mix(x, ", random_.Below(99),
                                             "); @ = ", value, ";")));
    if (record.is_union) break;  // the first member has all bytes
  }
  program_.device.inner.push_back({text + "  return s;\n}\n"});
}

void Writer::WriteHash(const Record& record) {
  std::string text =
      absl::StrCat("INLINE u64 hash(u64 h, const ", record.name, "& s) {\n");
  for (const Member& member : record.members) {
    absl::StrAppend(&text, ForElements(member.type, "s." + member.name, "i",
                                       "h = hash(h, @);"));
    if (record.is_union) break;
  }
  program_.device.inner.push_back({text + "  return h;\n}\n"});
}

void Writer::WriteRecords() {
  const auto add = [&](Record record) {
    records_.push_back(std::move(record));
    const Record& added = records_.back();
    program_.device.inner.push_back({added.Definition()});
    WriteFill(added);
    WriteHash(added);
  };
  if (random_.Chance(60)) add(MakeUnion(random_, records_.size()));
  if (random_.Chance(50)) add(MakeBits(random_, records_.size()));
  const size_t count = random_.Between(1, 3);
  for (size_t i = 0; i < count; ++i) {
    add(MakeStruct(random_, records_.size(), records_, 0));
  }
  // The compiler copies an array of more than 32 elements by a loop.
  if (random_.Chance(50)) {
    add(MakeStruct(random_, records_.size(), {}, random_.Between(33, 64)));
  }
}

void Writer::WriteConstants() {
  const size_t count = random_.Between(1, 3);
  for (size_t i = 0; i < count; ++i) {
    Type type = AnyValueType(/*small=*/true);
    if (type.IsScalar() || random_.Chance(50)) {
      type.extents = {random_.Between(2, 9)};
    }
    std::vector<std::string> numbers;
    Literals(random_, type, 0, &numbers);
    const std::string name = NewName("g");
    program_.device.inner.push_back({absl::StrCat(
        random_.Chance(60) ? "CONSTANT " : "DEVICE ", type.Declare(name),
        " = {", absl::StrJoin(numbers, ", "), "};\n")});
    globals_.push_back({name, type, /*writable=*/false});
  }
}

std::string Writer::KernelFormals(bool names) const {
  std::vector<std::string> formals;
  for (size_t i = 0; i < passed_.size(); ++i) {
    const Passed& passed = passed_[i];
    std::string type =
        passed.element != nullptr ? passed.element : passed.type.Name();
    if (passed.buffer) type += passed.result ? "*" : " const*";
    if (!names) {
      formals.push_back(absl::StrCat(passed.buffer ? "(" : "*(", type,
                                     passed.buffer ? ")" : "*)", "p[", i, "]"));
      continue;
    }
    const char* last[] = {"in", "words", "totals", "out"};
    const size_t first = passed_.size() - 4;
    formals.push_back(absl::StrCat(
        type, " ", i < first ? absl::StrCat("p", i) : last[i - first]));
  }
  return absl::StrJoin(formals, ", ");
}

void Writer::WriteKernel() {
  const size_t threads = program_.threads() * program_.blocks;
  const size_t values = random_.Between(1, 3);
  for (size_t i = 0; i < values; ++i) {
    passed_.push_back({AnyValueType(/*small=*/false)});
    if (i == 0 && !records_.empty()) passed_[0].type.record = &records_.back();
  }
  if (!records_.empty()) {
    Type type;
    type.record = &random_.Pick(records_);
    passed_.push_back({type, true, random_.Between(1, 5)});
  }
  const size_t buffers = passed_.size() - values;
  passed_.push_back({{}, true, 4 * threads, false, "u64"});
  passed_.push_back({{}, true, 4 * threads, true, "u32"});
  passed_.push_back({{}, true, 4, true, "u32"});
  passed_.push_back({{}, true, kResults * threads, true, "u64"});
  for (const Passed& passed : passed_) {
    program_.parameters.push_back({passed.buffer, passed.result});
  }

  program_.device.inner.push_back(
      {absl::StrCat(
           "KERNEL kernel(", KernelFormals(true), ") {\n",
           "const u32 tid = threadIdx.y * blockDim.x + threadIdx.x;\n",
           "const u32 gid = blockIdx.x * blockDim.x * blockDim.y + tid;\n",
           "const u32 block = blockIdx.x;\nSHARED u32 slots[",
           2 * program_.threads(), "];\n",
           "slots[2 * tid] = (u32)in[4 * gid]; slots[2 * tid + 1] = tid;\n"),
       {},
       "}\n"});
  nodes_ = &program_.device.inner.back().inner;
  scope_.clear();
  in_kernel_ = true;
  own_group_ = nullptr;
  cost_ = 0;
  rounds_ = 1;
  most_ = kMostOfAKernel;
  const Type number{Scalar::kU32, nullptr, {}};
  for (const char* name : {"tid", "gid", "block"}) {
    scope_.push_back({name, number, false, false});
  }
  for (int i = 0; i < 4; ++i) {
    scope_.push_back({absl::StrCat("in[4 * gid + ", i, "]"),
                      Type{Scalar::kU64, nullptr, {}}, false});
  }
  scope_.push_back(
      {absl::StrCat("slots[2 * tid + ", random_.Below(2), "]"), number});
  scope_.push_back(
      {absl::StrCat("words[4 * gid + ", random_.Below(4), "]"), number});
  for (size_t i = 0; i < values; ++i) {
    scope_.push_back({absl::StrCat("p", i), passed_[i].type,
                      /*writable=*/random_.Chance(50)});
  }
  for (size_t i = values; i < values + buffers; ++i) {
    scope_.push_back({absl::StrCat("p", i, "[", Index(passed_[i].count), "]"),
                      passed_[i].type, false});
  }
  const size_t names = scope_.size();
  const bool together = random_.Chance(30);
  if (!together && random_.Chance(20)) {
    Emit(absl::StrCat("if (", Condition(1), ") return;\n"));
  }
  const size_t locals = random_.Between(1, 2);
  for (size_t i = 0; i < locals; ++i) Declare();
  if (random_.Chance(60)) {
    AddLocal(Type{AnyScalar(random_), nullptr, {random_.Between(2, 12)}});
  }
  const size_t statements = random_.Between(3, 8);
  for (size_t i = 0; i < statements; ++i) {
    Statement(3);
    if (together && random_.Chance(20)) Emit("SYNC();\n");
    if (together && random_.Chance(10)) Emit("SYNC_WARP();\n");
  }
  // Every local variable, and what the parameters have become.
  std::string end = absl::StrCat("u64 h[", kResults, "] = {};\n");
  size_t at = 0;
  for (size_t i = names - values - buffers; i < scope_.size(); ++i) {
    const Variable& variable = scope_[i];
    const std::string h = absl::StrCat("h[", at++ % kResults, "]");
    if (i >= names - buffers && i < names) continue;
    absl::StrAppend(&end, ForElements(variable.type, variable.text, "j",
                                      absl::StrCat(h, " = hash(", h, ", @);")));
  }
  absl::StrAppend(&end, "for (u32 j = 0; j < ", kResults, "; ++j) out[gid * ",
                  kResults, " + j] = h[j];\n");
  Emit(end, false);
}

void Writer::WriteHost() {
  std::string fill =
      "extern \"C\" u64 Fill(u32 parameter, u8* to) {\n"
      "  switch (parameter) {\n";
  for (size_t i = 0; i < passed_.size(); ++i) {
    const Passed& passed = passed_[i];
    const std::string name =
        passed.element != nullptr ? passed.element : passed.type.Name();
    std::string value = "0";
    if (passed.type.record != nullptr && passed.element == nullptr) {
      value = absl::StrCat("fill_", name, "(x)");
    } else if (!passed.result) {
      value = passed.type.scalar == Scalar::kBool && passed.element == nullptr
                  ? "(x & 1) != 0"
                  : absl::StrCat("(", name, ")((i64)x >> (x & 63))");
    }
    absl::StrAppend(&fill, "    case ", i,
                    ":\n      for (u64 i = 0, x = ", random_.Next(),
                    "ull; to != nullptr && i < ", passed.count,
                    "; ++i) {\n        x = mix(x, i);\n        ((", name,
                    "*)to)[i] = ", value, ";\n      }\n      return sizeof(",
                    name, ") * ", passed.count, ";\n");
  }
  program_.host = absl::StrCat(fill,
                               "  }\n  return 0;\n}\n"
                               "extern \"C\" void Run(u8** p) {\n"
                               "  blockDim = {",
                               program_.width, ", ", program_.height,
                               ", 1};\n"
                               "  gridDim = {",
                               program_.blocks,
                               ", 1, 1};\n"
                               "  for (u32 block = 0; block < ",
                               program_.blocks,
                               "; ++block)\n"
                               "    for (u32 y = 0; y < ",
                               program_.height,
                               "; ++y)\n"
                               "      for (u32 x = 0; x < ",
                               program_.width,
                               "; ++x) {\n"
                               "        blockIdx = {block, 0, 0};\n"
                               "        threadIdx = {x, y, 0};\n"
                               "        kernel(",
                               KernelFormals(false), ");\n      }\n}\n");
}

void Writer::Write() {
  struct Block {
    unsigned width, height;
  };
  static constexpr Block kBlocks[] = {{32, 1}, {64, 1}, {7, 5},  {33, 1},
                                      {5, 1},  {48, 1}, {16, 4}, {1, 1},
                                      {31, 1}, {8, 8},  {32, 2}, {96, 1}};
  const Block& block = random_.Pick(kBlocks);
  program_.width = block.width;
  program_.height = block.height;
  program_.blocks = static_cast<unsigned>(random_.Between(1, 3));
  WriteRecords();
  WriteConstants();
  const size_t groups = random_.Between(1, 2);
  for (size_t i = 0; i < groups; ++i) WriteGroup(random_.Chance(40));
  WriteKernel();
  WriteHost();
}

Program Generate(uint64_t seed) {
  Program program;
  Writer(seed, &program).Write();
  return program;
}

}  // namespace holdfast::random_c
