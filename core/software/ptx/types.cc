// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/types.h"

#include <functional>
#include <map>
#include <string>

namespace holdfast::software::ptx {
namespace {

struct TypeInfo {
  absl::string_view spelling;
  int bits;
  char cls;
};

constexpr TypeInfo kTypes[] = {{"", 0, 0},
#define X(name, spelling, bits, cls) {spelling, bits, cls},
                               HOLDFAST_PTX_TYPES(X)
#undef X
};

constexpr absl::string_view kModifiers[] = {
#define X(name, spelling) spelling,
    HOLDFAST_PTX_MODIFIERS(X)
#undef X
};

template <typename E>
using Dictionary = std::map<std::string, E, std::less<>>;

template <typename E>
std::optional<E> Find(const Dictionary<E>& dictionary, absl::string_view word) {
  auto it = dictionary.find(word);
  if (it == dictionary.end()) return std::nullopt;
  return it->second;
}

}  // namespace

int BitsOf(Type type) { return kTypes[static_cast<int>(type)].bits; }
bool IsSigned(Type type) { return kTypes[static_cast<int>(type)].cls == 's'; }
bool IsFloat(Type type) { return kTypes[static_cast<int>(type)].cls == 'f'; }

Type HalfOf(Type type) {
  switch (type) {
    case Type::kF16x2:
      return Type::kF16;
    case Type::kBF16x2:
      return Type::kBF16;
    case Type::kU16x2:
      return Type::kU16;
    case Type::kS16x2:
      return Type::kS16;
    case Type::kE4M3x2:
      return Type::kE4M3;
    case Type::kE5M2x2:
      return Type::kE5M2;
    default:
      return Type::kNone;
  }
}

absl::string_view SpellingOf(Type type) {
  return kTypes[static_cast<int>(type)].spelling;
}

absl::string_view SpellingOf(Modifier modifier) {
  return kModifiers[static_cast<int>(modifier)];
}

std::optional<Type> TypeFromSpelling(absl::string_view word) {
  static const auto& dictionary = *new Dictionary<Type>{
#define X(name, spelling, bits, cls) {spelling, Type::name},
      HOLDFAST_PTX_TYPES(X)
#undef X
  };
  return Find(dictionary, word);
}

std::optional<Modifier> ModifierFromSpelling(absl::string_view word) {
  static const auto& dictionary = *new Dictionary<Modifier>{
#define X(name, spelling) {spelling, Modifier::name},
      HOLDFAST_PTX_MODIFIERS(X)
#undef X
  };
  return Find(dictionary, word);
}

std::optional<Special> SpecialFromSpelling(absl::string_view word) {
  static const auto& dictionary = *new Dictionary<Special>{
#define X(name, spelling, type) {spelling, Special::name},
      HOLDFAST_PTX_SPECIALS(X)
#undef X
  };
  return Find(dictionary, word);
}

Type TypeOf(Special special) {
  static constexpr Type kSpecialTypes[] = {
#define X(name, spelling, type) Type::type,
      HOLDFAST_PTX_SPECIALS(X)
#undef X
  };
  return kSpecialTypes[static_cast<int>(special)];
}

}  // namespace holdfast::software::ptx
