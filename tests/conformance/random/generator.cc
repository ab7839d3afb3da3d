// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/generator.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random/builder.h"
#include "tests/conformance/random/interpreter.h"
#include "tests/conformance/random/statements.h"

namespace holdfast::random_ptx {
namespace {

constexpr int kDeepest = 3;

void Simple(Builder& b) {
  const uint64_t kind = b.random.Below(100);
  if (kind < 68) return Compute(b);
  if (kind < 78) return Load(b);
  if (kind < 87) return Store(b);
  if (kind < 93) return Convey(b);
  if (kind < 97) return Atomic(b);
  return Sum(b);
}

void Statement(Builder& b) {
  const bool nests = b.place.depth < kDeepest && b.function().code.size() < 150;
  const uint64_t kind = b.random.Below(100);
  if (nests && kind < 6) return If(b, Statement);
  if (nests && kind < 10) return Loop(b, Statement);
  if (nests && kind < 12) return Switch(b, Statement);
  if (nests && kind < 14) return Maze(b, Simple);
  if (nests && kind < 17) return Call(b);
  if (b.place.gathered && kind < 26) return WarpOperation(b);
  if (b.in_kernel() && b.place.uniform && kind < 29) return Exchange(b);
  return Simple(b);
}

void FillWith(Random& random, std::vector<uint8_t>* bytes, size_t size) {
  bytes->resize(size);
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t number = random.Chance(50) ? random.Number()
                                              : (random.Number() & 0xFFFFFFFF) |
                                                    random.Number() << 32;
    memcpy(bytes->data() + i, &number, 8);
  }
}

void AddPools(Builder& b) {
  b.AddPool(Class::kPred, 4);
  b.AddPool(Class::k16, 4);
  b.AddPool(Class::k32, 8);
  b.AddPool(Class::k64, 3);
  b.AddPool(Class::kF16, 2);
  b.AddPool(Class::kBF16, 1);
  b.AddPool(Class::kF32, 3);
  b.AddPool(Class::kF64, 2);
  b.AddPool(Class::kF16x2, 1);
  b.AddPool(Class::kBF16x2, 1);
}

constexpr Class kClasses[] = {
    Class::kPred, Class::k16,  Class::k32,  Class::k64,    Class::kF16,
    Class::kBF16, Class::kF32, Class::kF64, Class::kF16x2, Class::kBF16x2};

// Out of the table of constants, at a place of its own.
void StartWithNumber(Builder& b, Class of, size_t to) {
  const size_t at = 8 * b.random.Below(kTableBytes / 8);
  const int bits = BitsOf(of);
  if (of == Class::kPred) {
    b.Fixed(absl::StrCat("ld.const.u8 %t0, [table+", at,
                         "];\nand.b32 %t0, "
                         "%t0, 1;\nsetp.ne.u32 ",
                         b.Name(to), ", %t0, 0;\n"),
            [=](Thread& t) { t[to] = t.memory->table[at] & 1; });
    return;
  }
  b.Fixed(absl::StrCat("ld.const.b", bits, " ", b.Name(to), ", [table+", at,
                       "];\n"),
          [=](Thread& t) {
            uint64_t value = 0;
            memcpy(&value, t.memory->table.data() + at,
                   static_cast<size_t>(bits / 8));
            t[to] = value;
          });
}

void StartRegisters(Builder& b) {
  for (const Class of : kClasses) {
    for (const size_t to : b.Pool(of)) StartWithNumber(b, of, to);
  }
}

void StartWith(Builder& b, size_t at, const std::string& text,
               const std::function<uint64_t(Thread&)>& value) {
  const size_t to = b.Pool(Class::k32)[at];
  b.Fixed(absl::StrCat("mov.b32 ", b.Name(to), ", ", text, ";\n"),
          [=](Thread& t) { t[to] = static_cast<uint32_t>(value(t)); });
}

// The usual sources of addresses.
void StartFromThread(Builder& b) {
  const unsigned columns = b.program.threads / b.program.rows;
  StartWith(b, 0, "%tid.x", [=](Thread& t) { return t.index % columns; });
  StartWith(b, 1, "%tid.y", [=](Thread& t) { return t.index / columns; });
  StartWith(b, 2, "%ctaid.x", [](Thread& t) { return t.block; });
  StartWith(b, 3, "%laneid", [](Thread& t) { return t.lane; });
  StartWith(b, 4, "%lanemask_lt",
            [](Thread& t) { return (uint64_t{1} << t.lane) - 1; });
  StartWith(b, 5, "%index", [](Thread& t) { return t.index; });
}

void StartWarpMask(Builder& b) {
  const unsigned threads = b.program.threads;
  const std::string& name = b.Name(b.place.mask);
  b.Fixed(
      absl::StrCat("and.b32 %t0, %index, 0xFFFFFFE0;\nsub.u32 %t0, ", threads,
                   ", %t0;\nsetp.lt.u32 %q0, %t0, 32;\nshl.b32 %t1, 1, "
                   "%t0;\nsub.u32 %t1, %t1, 1;\nselp.b32 ",
                   name, ", %t1, 0xFFFFFFFF, %q0;\n"),
      [threads, mask = b.place.mask](Thread& t) {
        const unsigned left = threads - t.index / 32 * 32;
        t[mask] = left < 32 ? (uint64_t{1} << left) - 1 : 0xFFFFFFFF;
      });
}

constexpr char kStart[] =
    "mov.u32 %lane, %laneid;\nmov.u32 %t0, %tid.y;\nmov.u32 %t1, %ntid.x;\n"
    "mov.u32 %t2, %tid.x;\nmad.lo.u32 %index, %t0, %t1, %t2;\n";

// Where the memories are, and shared memory as everyone finds it.
void StartKernel(Builder& b) {
  b.place.mask = b.New("b32", "m");
  b.Fixed(
      absl::StrCat(kStart,
                   "ld.param.u64 %in, [p_in];\nld.param.u64 %own, [p_own];\n"
                   "mov.u32 %t0, %ctaid.x;\nmad.lo.u32 %t0, %t0, ",
                   b.program.threads, ", %index;\nmad.wide.u32 %own, %t0, ",
                   kOwnBytes, ", %own;\n"),
      nullptr);
  b.Fixed(absl::StrCat(
              "mov.u64 %a1, slots;\nmad.wide.u32 %a1, %index, ", kSlotBytes,
              ", %a1;\nmov.u64 %a0, 0;\nst.shared.v2.u64 [%a1], {%a0, %a0};\n"
              "setp.lt.u32 %q0, %index, ",
              kSums,
              ";\nmov.u64 %a1, "
              "shared_sums;\nmad.wide.u32 %a1, %index, 4, %a1;\nmov.u32 %t0, ",
              kFirstSum, ";\n@%q0 st.shared.u32 [%a1], %t0;\nbar.sync 0;\n"),
          nullptr);
  StartWarpMask(b);
}

// As the interpreter has it.
void ClearLocal(Builder& b) {
  std::string text = "mov.u64 %a0, 0;\n";
  for (size_t at = 0; at < kLocalBytes; at += 16) {
    absl::StrAppend(&text, "st.local.v2.u64 [loc+", at, "], {%a0, %a0};\n");
  }
  b.Fixed(text, nullptr);
}

// Every register, and shared sums, each in 8 bytes.
void Dump(Builder& b) {
  b.Fixed(absl::StrCat("ld.param.u64 %a2, [p_dump];\nmov.u32 %t0, %ctaid.x;\n"
                       "mad.lo.u32 %t0, %t0, ",
                       b.program.threads, ", %index;\nmad.wide.u32 %a2, %t0, ",
                       kDumpBytes, ", %a2;\n"),
          nullptr);
  size_t at = 0;
  for (const Class of : kClasses) {
    for (const size_t from : b.Pool(of)) {
      const int bits = of == Class::kPred ? 32 : BitsOf(of);
      const char* scratch = bits == 16 ? "%u3" : bits == 32 ? "%t0" : "%a0";
      std::string text;
      if (IsFloat(of)) {
        text = Canonical(b.Name(from), of, scratch);
      } else if (of == Class::kPred) {
        text = absl::StrCat("selp.b32 %t0, 1, 0, ", b.Name(from), ";\n");
      } else {
        text = absl::StrCat("mov.b", bits, " ", scratch, ", ", b.Name(from),
                            ";\n");
      }
      absl::StrAppend(&text, "st.global.b", bits, " [%a2+", at, "], ", scratch,
                      ";\n");
      b.Fixed(text, [=](Thread& t) {
        const uint64_t value = Canonical(t[from], of);
        memcpy(t.memory->dump.data() + t.global * kDumpBytes + at, &value, 8);
      });
      at += 8;
    }
  }
}

void DumpSharedSums(Builder& b) {
  Instruction barrier;
  barrier.kind = Instruction::Kind::kBlock;
  barrier.text = "bar.sync 0;\n";
  b.Emit(std::move(barrier));
  const size_t at = kDumpBytes - 8;
  b.Fixed(absl::StrCat("and.b32 %t0, %index, ", kSums - 1,
                       ";\nmov.u64 %a1, shared_sums;\nmad.wide.u32 %a1, %t0, "
                       "4, %a1;\nld.shared.u32 %t0, [%a1];\nst.global.u32 "
                       "[%a2+",
                       at, "], %t0;\n"),
          [=](Thread& t) {
            memcpy(t.memory->dump.data() + t.global * kDumpBytes + at,
                   &(*t.shared_sums)[t.index % kSums], 4);
          });
}

void Return(Builder& b, const std::string& text, size_t result) {
  Instruction one;
  one.kind = Instruction::Kind::kReturn;
  one.text = text;
  one.result = result;
  b.Emit(std::move(one));
}

void WriteKernel(Program* program, Random* random) {
  Builder b(program, 0, random);
  StartKernel(b);
  AddPools(b);
  StartRegisters(b);
  StartFromThread(b);
  ClearLocal(b);
  const uint64_t statements = 6 + random->Below(14);
  bool all_here = true;
  for (uint64_t i = 0; i < statements; ++i) {
    Statement(b);
    if (random->Chance(4)) {
      Exit(b);
      all_here = false;
    }
    if (all_here && random->Chance(4)) BarrierReduction(b);
  }
  Dump(b);
  DumpSharedSums(b);
  Return(b, "ret;\n", 0);
}

// The arguments are its first registers.
void TakeArguments(Builder& b) {
  b.place.mask = b.New("b32", "m");
  b.place.uniform = false;
  const size_t depth = b.New("u32", "x"), x = b.New("u32", "x"),
               y = b.New("u64", "y"), z = b.New("f32", "z");
  b.Fixed(absl::StrCat(kStart, "ld.param.b32 ", b.Name(b.place.mask),
                       ", [p_mask];\nld.param.b32 ", b.Name(depth),
                       ", [p_depth];\nld.param.b32 ", b.Name(x),
                       ", [p_x];\nld.param.b64 ", b.Name(y),
                       ", [p_y];\nld.param.f32 ", b.Name(z),
                       ", [p_z];\nld.param.u64 %in, [p_in];\nld.param.u64 "
                       "%own, [p_own];\n"),
          nullptr);
  AddPools(b);
  StartRegisters(b);
  auto take = [&](Class of, const char* type, size_t from) {
    const size_t to = b.Any(of);
    b.Fixed(
        absl::StrCat("mov.", type, " ", b.Name(to), ", ", b.Name(from), ";\n"),
        [=](Thread& t) { t[to] = t[from]; });
  };
  take(Class::k32, "b32", x);
  take(Class::k64, "b64", y);
  take(Class::kF32, "b32", z);
}

// Calls itself as often as `depth` says; every lane says the same.
void Recurse(Builder& b) {
  const Region region(&b);
  constexpr size_t kMask = 0, kDepth = 1;
  const size_t more = b.New("pred", "c"), end = b.NewLabel();
  const size_t less = b.New("u32", "n"), to = b.Any(Class::k32);
  const size_t x = b.Any(Class::k32), y = b.Any(Class::k64),
               z = b.Any(Class::kF32);
  b.Fixed(absl::StrCat("setp.gt.u32 ", b.Name(more), ", ", b.Name(kDepth),
                       ", 0;\nsub.u32 ", b.Name(less), ", ", b.Name(kDepth),
                       ", 1;\n"),
          [=](Thread& t) {
            t[more] = t[kDepth] > 0;
            t[less] = static_cast<uint32_t>(t[kDepth] - 1);
          });
  b.BranchIf(more, true, end);
  Instruction one;
  one.kind = Instruction::Kind::kCall;
  one.text = absl::StrCat(
      "{\n.param .b32 a0, a1, a2, res;\n.param .b64 a3, a5, a6;\n"
      ".param .f32 a4;\nst.param.b32 [a0], ",
      b.Name(kMask), ";\nst.param.b32 [a1], ", b.Name(less),
      ";\nst.param.b32 [a2], ", b.Name(x), ";\nst.param.b64 [a3], ", b.Name(y),
      ";\nst.param.f32 [a4], ", b.Name(z),
      ";\nst.param.b64 [a5], %in;\nst.param.b64 [a6], %own;\ncall (res), ",
      b.function().name, ", (a0, a1, a2, a3, a4, a5, a6);\nld.param.b32 ",
      b.Name(to), ", [res];\n}\n");
  one.callee = [number = b.number()](Thread&) { return number; };
  one.arguments = {kMask, less, x, y, z};
  one.result = to;
  b.Emit(std::move(one));
  b.PlaceLabel(end);
}

// `together`: its lanes come at once, and may do things together.
void WriteFunction(Program* program, size_t number, bool together,
                   Random* random) {
  Builder b(program, number, random);
  TakeArguments(b);
  ClearLocal(b);
  b.place.gathered = together;
  b.place.depth = 1;
  const size_t end = b.NewLabel();
  const uint64_t statements = 2 + random->Below(4);
  for (uint64_t i = 0; i < statements; ++i) {
    Statement(b);
    if (random->Chance(8)) Leave(b, end);
  }
  // Lanes that have left do not call.
  if (random->Chance(40)) Recurse(b);
  b.PlaceLabel(end);
  const size_t result = b.Any(Class::k32);
  Return(b,
         absl::StrCat("st.param.b32 [result], ", b.Name(result), ";\nret;\n"),
         result);
}

void SetShape(Program* program, Random& random) {
  static constexpr unsigned kThreads[] = {32, 64, 96, 128, 20, 33, 77, 1};
  program->threads = kThreads[random.Below(8)];
  program->blocks = 1 + static_cast<unsigned>(random.Below(3));
  if (random.Chance(25) && program->threads % 4 == 0) program->rows = 4;
  const size_t all = size_t{program->threads} * program->blocks;
  Memory& memory = program->initial;
  FillWith(random, &memory.input, kInputBytes);
  FillWith(random, &memory.table, kTableBytes);
  FillWith(random, &memory.blob, kBlobBytes);
  FillWith(random, &memory.own, all * kOwnBytes);
  memory.dump.assign(all * kDumpBytes, 0);
  memory.sums.fill(kFirstSum);
}

// An open result, say a quotient by zero, takes its instruction along.
void RemoveOpen(Program* program) {
  while (true) {
    const Interpretation run = Interpret(*program);
    if (!run.open.has_value()) return;
    auto& code = program->functions[run.open->function].code;
    code.erase(code.begin() + static_cast<ptrdiff_t>(run.open->instruction));
  }
}

}  // namespace

Program Generate(uint64_t seed) {
  Random random(seed);
  Program program;
  program.seed = seed;
  SetShape(&program, random);
  const size_t functions = random.Chance(30) ? 3 + random.Below(2) : 0;
  program.functions.resize(1 + functions);
  program.functions[0].name = "kernel";
  for (size_t i = 1; i <= functions; ++i) {
    program.functions[i].name = absl::StrCat("f", i);
  }
  for (size_t i = 1; i <= functions; ++i) {
    WriteFunction(&program, i, i + 2 <= functions, &random);
  }
  WriteKernel(&program, &random);
  RemoveOpen(&program);
  return program;
}

}  // namespace holdfast::random_ptx
