// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_c/types.h"

#include "absl/strings/str_cat.h"

namespace holdfast::random_c {
namespace {

constexpr size_t kMostBytes = 160;  // of a struct without a given array

struct Kind {
  const char* name;
  size_t bytes;
};

constexpr Kind kKinds[] = {
    {"i8", 1},  {"u8", 1},  {"i16", 2},  {"u16", 2}, {"i32", 4}, {"u32", 4},
    {"i64", 8}, {"u64", 8}, {"bool", 1}, {"f32", 4}, {"f64", 8},
};

Type TypeOf(Scalar scalar, std::vector<size_t> extents = {}) {
  Type type;
  type.scalar = scalar;
  type.extents = std::move(extents);
  return type;
}

// One member, or a few bit-fields in a row.
void AddMember(Random& random, const std::deque<Record>& others, size_t* number,
               Record* record) {
  const auto name = [&] { return absl::StrCat("m", (*number)++); };
  if (random.Chance(20)) {
    const size_t count = random.Between(1, 4);
    for (size_t i = 0; i < count; ++i) {
      const Scalar scalar = random.Chance(50) ? Scalar::kI32 : Scalar::kU32;
      record->members.push_back(
          {name(), TypeOf(scalar), static_cast<int>(random.Between(1, 31))});
    }
    return;
  }
  Member member{name(), TypeOf(AnyScalar(random))};
  if (!others.empty() && random.Chance(30)) {
    member.type.record = &random.Pick(others);
    member.type.scalar = Scalar::kI32;
    if (random.Chance(40)) member.type.extents = {random.Between(2, 3)};
  } else if (random.Chance(35)) {
    member.type.extents = {random.Between(2, 9)};
    if (random.Chance(15)) member.type.extents = {2, random.Between(2, 4)};
  }
  record->members.push_back(member);
}

size_t BytesOf(const Record& record) {
  size_t bytes = 0;
  for (const Member& member : record.members) bytes += member.type.Bytes();
  return bytes;
}

}  // namespace

const char* NameOf(Scalar scalar) {
  return kKinds[static_cast<int>(scalar)].name;
}

size_t BytesOf(Scalar scalar) { return kKinds[static_cast<int>(scalar)].bytes; }

bool IsFloat(Scalar scalar) {
  return scalar == Scalar::kF32 || scalar == Scalar::kF64;
}

Scalar UnsignedOf(Scalar scalar) {
  return BytesOf(scalar) == 8 ? Scalar::kU64 : Scalar::kU32;
}

Scalar AnyScalar(Random& random) {
  return static_cast<Scalar>(
      random.Below(static_cast<int>(Scalar::kF64) + uint64_t{1}));
}

Scalar AnyInteger(Random& random) {
  return static_cast<Scalar>(
      random.Below(static_cast<int>(Scalar::kU64) + uint64_t{1}));
}

Type Type::Element() const {
  Type element = *this;
  element.extents.erase(element.extents.begin());
  return element;
}

size_t Type::Bytes() const {
  size_t bytes = random_c::BytesOf(scalar);
  if (record != nullptr) {
    bytes =
        record->is_union ? record->members[0].type.Bytes() : BytesOf(*record);
  }
  for (const size_t extent : extents) bytes *= extent;
  return bytes;
}

std::string Type::Name() const {
  return record != nullptr ? record->name : NameOf(scalar);
}

std::string Type::Declare(const std::string& name) const {
  std::string text = absl::StrCat(Name(), " ", name);
  for (const size_t extent : extents) absl::StrAppend(&text, "[", extent, "]");
  return text;
}

std::string Record::Definition() const {
  std::string text =
      absl::StrCat(is_union ? "union " : "struct ", name, " {\n");
  for (const Member& member : members) {
    absl::StrAppend(&text, "  ", member.type.Declare(member.name));
    if (member.bits != 0) absl::StrAppend(&text, " : ", member.bits);
    absl::StrAppend(&text, ";\n");
  }
  return text + "};\n";
}

Record MakeStruct(Random& random, size_t number,
                  const std::deque<Record>& others, size_t elements) {
  Record record;
  record.name = absl::StrCat("S", number);
  const size_t count = random.Between(1, 5);
  size_t members = 0;
  for (size_t i = 0; i < count; ++i) {
    AddMember(random, others, &members, &record);
    if (BytesOf(record) > kMostBytes) break;
  }
  if (elements != 0) {
    record.members.push_back(
        {absl::StrCat("m", members++), TypeOf(AnyScalar(random), {elements})});
  }
  return record;
}

Record MakeUnion(Random& random, size_t number) {
  Record record;
  record.name = absl::StrCat("U", number);
  record.is_union = true;
  const size_t bytes = 8 * random.Between(1, 3);
  size_t members = 0;
  const auto add = [&](Scalar scalar) {
    record.members.push_back(
        {absl::StrCat("m", members++),
         TypeOf(scalar, {bytes / random_c::BytesOf(scalar)})});
  };
  add(random.Chance(50) ? Scalar::kU64 : Scalar::kU32);
  for (size_t i = 0; i < 3; ++i) {
    add(random.Chance(30) ? random.Chance(50) ? Scalar::kF32 : Scalar::kF64
                          : AnyInteger(random));
  }
  return record;
}

Record MakeBits(Random& random, size_t number) {
  Record record;
  record.name = absl::StrCat("B", number);
  int left = 64;
  size_t members = 0;
  while (left > 0) {
    const auto bits =
        static_cast<int>(random.Between(1, left < 40 ? left : 40));
    record.members.push_back(
        {absl::StrCat("m", members++),
         TypeOf(random.Chance(50) ? Scalar::kI64 : Scalar::kU64), bits});
    left -= bits;
  }
  return record;
}

}  // namespace holdfast::random_c
