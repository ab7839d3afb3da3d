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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/buffer.h"
#include "client/cpp/graph/definition/condition.h"
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

// An address in a buffer, `{buffer.handle(), offset}`, or in an arena. Not
// checked here: the daemon refuses an offset outside of the buffer.
struct BufferAddress {
  uint64_t buffer = 0;
  uint64_t offset = 0;
};

// An argument that was made from a resource that was moved from or freed.
// Launches refuse it, because the kernel would get a null pointer.
struct EmptyResource {
  const char* kind;
};

// One kernel argument. It has the type of the C++ value that it is made from:
// write uint64_t{n} for a size_t parameter, 2.0f for a float. The daemon checks
// the size against the kernel's parameter. The bytes of a struct are borrowed,
// all other values are copied. A value type, usually made in the call of
// Launch.
class Argument {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  template <typename T>
  requires std::integral<T> || std::floating_point<T> Argument(T value)
      : value_(Widen(value)) {}
  Argument(Half value) : value_(value) {}
  Argument(BFloat16 value) : value_(value) {}
  // The address of the buffer's first byte. A launch refuses an empty buffer.
  Argument(const Buffer& buffer) : value_(EmptyResource{"buffer"}) {
    if (buffer.handle() != 0) value_ = BufferAddress{buffer.handle(), 0};
  }
  Argument(BufferAddress address) : value_(address) {}
  // The address of the span's first byte: the kernel accesses memory of this
  // process. Synchronize before the host reads or destroys the span.
  Argument(const ArenaSpan& span) : value_(EmptyResource{"span of an arena"}) {
    if (span.data() == nullptr) return;
    value_ = BufferAddress{span.arena().handle(), span.offset()};
  }
  // A null pointer.
  Argument(std::nullptr_t) : value_(BufferAddress{}) {}
  // The handle of a condition, in a launch that is part of a graph.
  Argument(GraphCondition condition) : value_(condition) {}
  // The bytes of a struct. They must live until the launch is submitted.
  Argument(std::span<const std::byte> bytes) : value_(bytes) {}
  // NOLINTEND(google-explicit-constructor)

  // Makes an argument of a value of any type above. Other types do not compile;
  // the compiler's message says what to do.
  template <typename T>
  static Argument Of(const T& value) {
    constexpr bool kFits = std::constructible_from<Argument, const T&>;
    static_assert(kFits,
                  "not a kernel argument: Upload a container into a Buffer, "
                  "pass a struct by Argument::Raw");
    if constexpr (kFits) {
      return Argument(value);
    } else {
      return Argument(nullptr);
    }
  }

  // Makes an argument of the bytes of a struct, which must live until the
  // launch is submitted.
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  static Argument Raw(const T& value) {
    return Argument(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }

  // Returns the value as an address; nullopt if it is not a 64-bit number.
  std::optional<uint64_t> AsAddress() const;

  // INVALID_ARGUMENT: this argument was made from a resource that was moved
  // from or freed.
  absl::Status Check() const;

  // Writes the fields of a v1::Argument. REQUIRES: Check() is OK.
  void Encode(WireWriter& writer) const;

 private:
  using Value = std::variant<bool, int8_t, int16_t, int32_t, int64_t, uint8_t,
                             uint16_t, uint32_t, uint64_t, float, double, Half,
                             BFloat16, BufferAddress, GraphCondition,
                             std::span<const std::byte>, EmptyResource>;

  // Converts `long long`, `char` and similar types to the integer type of the
  // same size and sign.
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

// Checks each argument, and replaces numbers that are addresses in an arena of
// the session by BufferAddress values, which name the arena. Returns
// `arguments` if nothing had to be replaced, else the list in `resolved`.
// INVALID_ARGUMENT: the arena belongs to another session, or Argument::Check.
// Fails as Arena::Ready.
absl::StatusOr<std::span<const Argument>> ResolveAddresses(
    const SessionState& session, std::span<const Argument> arguments,
    std::vector<Argument>& resolved);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ARGUMENT_H_
