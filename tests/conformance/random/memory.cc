// SPDX-License-Identifier: Apache-2.0
//
// Statements that load and store: every address is within bounds, and no two
// threads touch the same bytes but to read or to add up.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/conformance/random/statements.h"

namespace holdfast::random_ptx {
namespace {

enum class Where { kInput, kTable, kBlob, kOwn, kSlot, kLocal };

size_t BytesOf(Where where) {
  switch (where) {
    case Where::kInput:
      return kInputBytes;
    case Where::kTable:
      return kTableBytes;
    case Where::kBlob:
      return kBlobBytes;
    case Where::kOwn:
      return kOwnBytes;
    case Where::kSlot:
      return kSlotBytes;
    default:
      return kLocalBytes;
  }
}

uint8_t* At(Where where, Thread& t) {
  switch (where) {
    case Where::kInput:
      return t.memory->input.data();
    case Where::kTable:
      return t.memory->table.data();
    case Where::kBlob:
      return t.memory->blob.data();
    case Where::kOwn:
      return t.memory->own.data() + t.global * kOwnBytes;
    case Where::kSlot:
      return t.slots->data() + t.index * kSlotBytes;
    default:
      return t.frames.back().local.data();
  }
}

// An address in words, the space that goes with it, and where it points.
struct Address {
  Where where;
  std::string before;  // lines that prepare it
  std::string text;    // within brackets
  std::string space;   // ".global", or "" for a generic address
  std::function<size_t(Thread&)> offset;
};

const char* SpaceOf(Where where) {
  switch (where) {
    case Where::kInput:
    case Where::kOwn:
      return ".global";
    case Where::kTable:
      return ".const";
    case Where::kBlob:
      return ".param";
    case Where::kSlot:
      return ".shared";
    default:
      return ".local";
  }
}

// Lines that leave where `where` begins in %a1.
std::string Base(Where where) {
  switch (where) {
    case Where::kInput:
      return "mov.b64 %a1, %in;\n";
    case Where::kOwn:
      return "mov.b64 %a1, %own;\n";
    case Where::kTable:
      return "mov.u64 %a1, table;\n";
    case Where::kSlot:
      return absl::StrCat("mov.u64 %a1, slots;\nmad.wide.u32 %a1, %index, ",
                          kSlotBytes, ", %a1;\n");
    default:
      return "mov.u64 %a1, loc;\n";
  }
}

// %a0 = %a1 + %t0, in one of the ways that compilers write it.
std::string Sum(Random& random) {
  switch (random.Below(3)) {
    case 0:
      return "cvt.u64.u32 %a0, %t0;\nadd.s64 %a0, %a1, %a0;\n";
    case 1:
      return "mul.wide.u32 %a0, %t0, 1;\nadd.s64 %a0, %a0, %a1;\n";
    default:
      return "mad.wide.u32 %a0, %t0, 1, %a1;\n";
  }
}

// %t0 = an offset that grows or falls from one thread to the next.
std::string Affine(Builder& b, size_t size, Address* address) {
  const size_t most = b.program.threads;
  const size_t steps = kInputBytes / most / size;  // that fit
  const size_t step = size * b.random.Below(std::min<size_t>(steps, 4) + 1);
  const size_t room = kInputBytes - step * (most - 1) - size;
  const size_t start = size * b.random.Below(room / size + 1);
  if (b.random.Chance(30)) {
    const size_t end = start + step * (most - 1);
    address->offset = [=](Thread& t) { return end - t.index * step; };
    return absl::StrCat("mul.lo.u32 %t0, %index, ", step, ";\nsub.u32 %t0, ",
                        end, ", %t0;\n");
  }
  address->offset = [=](Thread& t) { return start + t.index * step; };
  return absl::StrCat("mad.lo.u32 %t0, %index, ", step, ", ", start, ";\n");
}

// %t0 = an offset out of any number.
std::string Masked(Builder& b, size_t bytes, size_t size, Address* address) {
  const size_t from = b.Any(Class::k32);
  const size_t mask = (bytes - 1) & ~(size - 1);
  address->offset = [=](Thread& t) { return t[from] & mask; };
  return absl::StrCat("and.b32 %t0, ", b.Name(from), ", ", mask, ";\n");
}

Address AddressOf(Builder& b, Where where, size_t size) {
  Address address{where, "", "", SpaceOf(where), nullptr};
  const size_t bytes = BytesOf(where);
  const size_t constant = size * b.random.Below(bytes / size);
  if (where == Where::kBlob) {
    address.text = absl::StrCat("p_blob+", constant);
    address.offset = [=](Thread&) { return constant; };
    return address;
  }
  address.before = Base(where);
  if (address.space != ".global" && b.random.Chance(40)) {
    absl::StrAppend(&address.before, "cvta", address.space, ".u64 %a1, %a1;\n");
    address.space = "";
  } else if (address.space == ".global" && b.random.Chance(30)) {
    address.space = "";
  }
  if (b.random.Chance(35)) {
    address.text = absl::StrCat("%a1+", constant);
    address.offset = [=](Thread&) { return constant; };
    return address;
  }
  address.before += where == Where::kInput && b.random.Chance(60)
                        ? Affine(b, size, &address)
                        : Masked(b, bytes, size, &address);
  address.before += Sum(b.random);
  address.text = "%a0";
  return address;
}

// Something of a type in memory, as a register of a class has it.
struct Element {
  const char* type;
  size_t bytes;
  bool extends;  // the sign
};

Element ElementOf(Random& random, Class of) {
  static const auto& narrow = *new std::vector<Element>{
      {"u8", 1, false},  {"s8", 1, true},  {"b8", 1, false},
      {"u16", 2, false}, {"s16", 2, true}, {"b16", 2, false}};
  static const auto& middle = *new std::vector<Element>{
      {"u32", 4, false}, {"s32", 4, true}, {"b32", 4, false}};
  static const auto& wide = *new std::vector<Element>{
      {"u64", 8, false}, {"s64", 8, false}, {"b64", 8, false}};
  switch (of) {
    case Class::kF32:
      return {random.Chance(50) ? "f32" : "b32", 4, false};
    case Class::kF64:
      return {random.Chance(50) ? "f64" : "b64", 8, false};
    case Class::kF16:
    case Class::kBF16:
      return {"b16", 2, false};
    case Class::kF16x2:
    case Class::kBF16x2:
      return {"b32", 4, false};
    default:
      break;
  }
  if (of == Class::k16 || random.Chance(30)) return random.Pick(narrow);
  if (of == Class::k32 || random.Chance(30)) return random.Pick(middle);
  return random.Pick(wide);
}

uint64_t Read(const uint8_t* from, const Element& element, int bits) {
  uint64_t value = 0;
  memcpy(&value, from, element.bytes);
  const int unused = 64 - 8 * static_cast<int>(element.bytes);
  if (element.extends) {
    value =
        static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
  }
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

// ".v2.f32" and the like.
struct Vector {
  Element element;
  size_t count = 1;
  size_t bytes() const { return element.bytes * count; }
  std::string type() const {
    return absl::StrCat(count == 1 ? "" : absl::StrCat(".v", count), ".",
                        element.type);
  }
};

Vector VectorOf(Builder& b, Class of, Where where) {
  Vector vector{ElementOf(b.random, of)};
  const size_t most = std::min(BytesOf(where), size_t{16});
  if (b.random.Chance(25)) vector.count = b.random.Chance(50) ? 2 : 4;
  while (vector.bytes() > most || vector.count > b.Pool(of).size()) {
    vector.count /= 2;
  }
  return vector;
}

std::string List(Builder& b, const std::vector<size_t>& registers) {
  if (registers.size() == 1) return b.Name(registers[0]);
  std::string list;
  for (const size_t at : registers) {
    absl::StrAppend(&list, list.empty() ? "{" : ", ", b.Name(at));
  }
  return list + "}";
}

// Qualifiers before the space: how other threads see the access.
std::string Order(Random& random, const Address& address, bool store) {
  const bool ordered = address.space == ".global" || address.space == ".shared";
  switch (random.Below(8)) {
    case 0:
      return ordered || address.space.empty() ? ".volatile" : "";
    case 1:
      return ordered ? ".relaxed.gpu" : "";
    case 2:
      return ordered ? (store ? ".release.cta" : ".acquire.cta") : "";
    default:
      return "";
  }
}

Class AnyClass(Random& random, bool integer) {
  static constexpr Class kIntegers[] = {Class::k16, Class::k32, Class::k32,
                                        Class::k64};
  static constexpr Class kFloats[] = {Class::kF16,   Class::kBF16,
                                      Class::kF32,   Class::kF64,
                                      Class::kF16x2, Class::kBF16x2};
  if (integer || random.Chance(60)) return kIntegers[random.Below(4)];
  return kFloats[random.Below(6)];
}

Where Writable(Random& random) {
  static constexpr Where kAll[] = {Where::kOwn, Where::kSlot, Where::kLocal};
  return kAll[random.Below(3)];
}

Where Readable(Builder& b) {
  static constexpr Where kAll[] = {Where::kInput, Where::kInput, Where::kTable,
                                   Where::kBlob};
  if (b.random.Chance(50)) return Writable(b.random);
  const Where where = kAll[b.random.Below(4)];
  return where == Where::kBlob && !b.in_kernel() ? Where::kTable : where;
}

}  // namespace

void Load(Builder& b) {
  const Where where = Readable(b);
  const Class of = AnyClass(b.random, false);
  const Vector vector = VectorOf(b, of, where);
  const Address address = AddressOf(b, where, vector.bytes());
  const std::vector<size_t> to = b.Several(of, vector.count);
  std::string how =
      absl::StrCat(Order(b.random, address, false), address.space);
  if (where == Where::kInput && how == ".global" && b.random.Chance(40)) {
    how += ".nc";
  }
  const int bits = BitsOf(of);
  b.Plain(absl::StrCat(address.before, "ld", how, vector.type(), " ",
                       List(b, to), ", [", address.text, "];\n"),
          [=](Thread& t) {
            const uint8_t* from = At(where, t) + address.offset(t);
            for (const size_t at : to) {
              t[at] = Read(from, vector.element, bits);
              from += vector.element.bytes;
            }
          });
}

void Store(Builder& b) {
  const Where where = Writable(b.random);
  const Class of = AnyClass(b.random, true);
  const Vector vector = VectorOf(b, of, where);
  const Address address = AddressOf(b, where, vector.bytes());
  const std::vector<size_t> from = b.Several(of, vector.count);
  b.Plain(absl::StrCat(address.before, "st", Order(b.random, address, true),
                       address.space, vector.type(), " [", address.text, "], ",
                       List(b, from), ";\n"),
          [=](Thread& t) {
            uint8_t* to = At(where, t) + address.offset(t);
            for (const size_t at : from) {
              memcpy(to, &t[at], vector.element.bytes);
              to += vector.element.bytes;
            }
          });
}

namespace {

struct AtomicKind {
  const char* spelling;
  int bits;
  std::function<uint64_t(uint64_t, uint64_t)> result;
};

const std::vector<AtomicKind>& AtomicKinds() {
  static const auto& kinds = *new std::vector<AtomicKind>{
      {"add.u32", 32, [](auto a, auto b) { return a + b; }},
      {"add.s32", 32, [](auto a, auto b) { return a + b; }},
      {"add.u64", 64, [](auto a, auto b) { return a + b; }},
      {"min.u32", 32, [](auto a, auto b) { return std::min(a, b); }},
      {"max.u64", 64, [](auto a, auto b) { return std::max(a, b); }},
      {"min.s32", 32,
       [](auto a, auto b) {
         return std::min(static_cast<int32_t>(a), static_cast<int32_t>(b));
       }},
      {"max.s64", 64,
       [](auto a, auto b) {
         return std::max(static_cast<int64_t>(a), static_cast<int64_t>(b));
       }},
      {"and.b32", 32, [](auto a, auto b) { return a & b; }},
      {"or.b64", 64, [](auto a, auto b) { return a | b; }},
      {"xor.b32", 32, [](auto a, auto b) { return a ^ b; }},
      {"exch.b32", 32, [](auto, auto b) { return b; }},
      {"exch.b64", 64, [](auto, auto b) { return b; }},
      {"inc.u32", 32, [](auto a, auto b) { return a >= b ? 0 : a + 1; }},
      {"dec.u32", 32,
       [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; }}};
  return kinds;
}

// Whose order among the threads does not show.
const std::vector<std::pair<const char*, uint32_t (*)(uint32_t, uint32_t)>>&
SumKinds() {
  using Pair = std::pair<const char*, uint32_t (*)(uint32_t, uint32_t)>;
  static const auto& kinds = *new std::vector<Pair>{
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a;
       }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }}};
  return kinds;
}

// `reads`: it gives the old value.
std::string Scope(Random& random, bool reads) {
  static constexpr const char* kScopes[] = {"", ".relaxed.gpu", ".release.sys",
                                            ".gpu", ".acq_rel.cta"};
  return kScopes[random.Below(reads ? 5 : 4)];
}

void CompareAndSwap(Builder& b, const Address& address, Where where) {
  const size_t to = b.Any(Class::k32), old = b.Any(Class::k32),
               value = b.Any(Class::k32);
  b.Plain(
      absl::StrCat(address.before, "atom", Scope(b.random, true), address.space,
                   ".cas.b32 ", b.Name(to), ", [", address.text, "], ",
                   b.Name(old), ", ", b.Name(value), ";\n"),
      [=](Thread& t) {
        uint8_t* at = At(where, t) + address.offset(t);
        uint32_t found;
        memcpy(&found, at, 4);
        if (found == t[old]) memcpy(at, &t[value], 4);
        t[to] = found;
      });
}

}  // namespace

void Atomic(Builder& b) {
  const Where where = b.random.Chance(50) ? Where::kOwn : Where::kSlot;
  const AtomicKind kind = b.random.Pick(AtomicKinds());
  const auto bytes = static_cast<size_t>(kind.bits / 8);
  const Address address = AddressOf(b, where, bytes);
  if (bytes == 4 && b.random.Chance(20)) {
    CompareAndSwap(b, address, where);
    return;
  }
  const Class of = kind.bits == 32 ? Class::k32 : Class::k64;
  const size_t to = b.Any(of), from = b.Any(of);
  b.Plain(absl::StrCat(address.before, "atom", Scope(b.random, true),
                       address.space, ".", kind.spelling, " ", b.Name(to),
                       ", [", address.text, "], ", b.Name(from), ";\n"),
          [=](Thread& t) {
            uint8_t* at = At(where, t) + address.offset(t);
            uint64_t old = 0;
            memcpy(&old, at, bytes);
            const uint64_t result = kind.result(old, t[from]);
            memcpy(at, &result, bytes);
            t[to] = old;
          });
}

void Sum(Builder& b) {
  const bool shared = !b.in_kernel() || b.random.Chance(50);
  const size_t word = b.random.Below(kSums);
  const auto& [spelling, function] = SumKinds()[word % SumKinds().size()];
  const auto add = function;
  const size_t from = b.Any(Class::k32);
  const std::string address = shared ? absl::StrCat("shared_sums+", 4 * word)
                                     : absl::StrCat("%a0+", 4 * word);
  b.Plain(absl::StrCat(shared ? "" : "ld.param.u64 %a0, [p_sums];\n", "red",
                       Scope(b.random, false), shared ? ".shared." : ".global.",
                       spelling, " [", address, "], ", b.Name(from), ";\n"),
          [=](Thread& t) {
            uint32_t& sum =
                shared ? (*t.shared_sums)[word] : t.memory->sums[word];
            sum = add(sum, static_cast<uint32_t>(t[from]));
          });
}

}  // namespace holdfast::random_ptx
