// SPDX-License-Identifier: Apache-2.0
//
// The types of random C programs.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TYPES_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/conformance/random_c/random.h"

namespace holdfast::random_c {

enum class Scalar : uint8_t {
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
  kF32,
  kF64,
};
const char* NameOf(Scalar scalar);
size_t BytesOf(Scalar scalar);
bool IsFloat(Scalar scalar);
// Returns the unsigned type, of at least 32 bits, for the arithmetic of an
// integer type: in C, the overflow of a signed type is undefined.
Scalar UnsignedOf(Scalar scalar);
Scalar AnyScalar(Random& random);
Scalar AnyInteger(Random& random);

struct Record;

// A scalar or a record, or an array of them.
struct Type {
  Scalar scalar = Scalar::kI32;
  const Record* record = nullptr;
  std::vector<size_t> extents;  // outermost first

  bool IsScalar() const { return record == nullptr && extents.empty(); }
  bool IsRecord() const { return record != nullptr && extents.empty(); }
  Type Element() const;
  size_t Bytes() const;  // without padding
  // Returns a declaration, such as "T name[2][3]".
  std::string Declare(const std::string& name) const;
  std::string Name() const;  // of the innermost element
  bool operator==(const Type& other) const = default;
};

struct Member {
  std::string name;
  Type type;
  int bits = 0;  // of a bit-field, else 0
};

// A struct or a union. A union has no padding, and all its members are of one
// size, so that every byte that is read through one member was written through
// some member.
struct Record {
  std::string name;
  bool is_union = false;
  std::vector<Member> members;

  std::string Definition() const;
};

// Make a random record, whose name ends with `number`. `others` are the record
// types that members may have. If `elements` is not 0, the last member is an
// array of that many elements.
Record MakeStruct(Random& random, size_t number,
                  const std::deque<Record>& others, size_t elements);
Record MakeUnion(Random& random, size_t number);
// Makes a struct of bit-fields with 64 bits altogether, without padding.
Record MakeBits(Random& random, size_t number);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_TYPES_H_
