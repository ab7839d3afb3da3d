// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_ARGUMENT_H_
#define HOLDFAST_CLIENT_CPP_ARGUMENT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/graph/condition.h"
#include "client/cpp/transfer/arena.h"

namespace holdfast {

struct SessionState;
class WireWriter;

// The bits of an IEEE half, and of a bfloat16; C++ has neither before C++23.
struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

// An address in a buffer, `{buffer.handle(), offset}`, or in an arena. Nothing
// is checked here: the daemon refuses what does not lie in the buffer.
struct BufferAddress {
  uint64_t buffer = 0;
  uint64_t offset = 0;
};

// One kernel argument. It has the type of the C++ value that it is made of, so
// write uint64_t{n} for a size_t parameter, 2.0f for a float; the daemon checks
// the size against the kernel's parameter. Refers to raw bytes, does not own. A
// value of a few words: make it where it is used.
class Argument {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  template <typename T>
  requires std::integral<T> || std::floating_point<T> Argument(T value)
      : value_(Widen(value)) {}
  Argument(Half value) : value_(value) {}
  Argument(BFloat16 value) : value_(value) {}
  // The address of the buffer's first byte.
  Argument(const Buffer& buffer) : value_(BufferAddress{buffer.handle(), 0}) {}
  Argument(BufferAddress address) : value_(address) {}
  // The address of the span's first byte: the kernel uses this process's own
  // memory. Synchronize before the host reads it, or gives the span back.
  Argument(const ArenaSpan& span)
      : value_(BufferAddress{span.arena().handle(), span.offset()}) {}
  // A null pointer.
  Argument(std::nullptr_t) : value_(BufferAddress{}) {}
  // The handle of a condition, in a launch that is part of a graph.
  Argument(GraphCondition condition) : value_(condition) {}
  // A struct's bytes as they stand in memory. They must live until the launch
  // is submitted.
  Argument(std::span<const std::byte> bytes) : value_(bytes) {}
  // NOLINTEND(google-explicit-constructor)

  // A struct, which must live until the launch is submitted.
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  static Argument Raw(const T& value) {
    return Argument(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }

  // The value as an address, if it is a number of 64 bits.
  std::optional<uint64_t> AsAddress() const;

  // Writes the fields of a v1::Argument.
  void Encode(WireWriter& writer) const;

 private:
  using Value =
      std::variant<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t, float, double, Half, BFloat16,
                   BufferAddress, GraphCondition, std::span<const std::byte>>;

  // `long long`, `char` and their kin are integers of their size and sign.
  template <typename T>
  static Value Widen(T value) {
    if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
      static_assert(sizeof(T) <= 8, "CUDA has no long double");
      return value;
    } else if constexpr (std::is_signed_v<T>) {
      if constexpr (sizeof(T) == 1) return static_cast<int8_t>(value);
      if constexpr (sizeof(T) == 2) return static_cast<int16_t>(value);
      if constexpr (sizeof(T) == 4) return static_cast<int32_t>(value);
      if constexpr (sizeof(T) == 8) return static_cast<int64_t>(value);
    } else {
      if constexpr (sizeof(T) == 1) return static_cast<uint8_t>(value);
      if constexpr (sizeof(T) == 2) return static_cast<uint16_t>(value);
      if constexpr (sizeof(T) == 4) return static_cast<uint32_t>(value);
      if constexpr (sizeof(T) == 8) return static_cast<uint64_t>(value);
    }
  }

  Value value_;
};

// A number that is an address in an arena of the session becomes the place
// there, as kernels have it; all others stay as they are. Returns `arguments`,
// or what it has put into `resolved`. INVALID_ARGUMENT: the arena is of another
// session. As Arena::Ready.
absl::StatusOr<std::span<const Argument>> ResolveAddresses(
    const SessionState& session, std::span<const Argument> arguments,
    std::vector<Argument>& resolved);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ARGUMENT_H_
