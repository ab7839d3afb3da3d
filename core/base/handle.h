// SPDX-License-Identifier: Apache-2.0
//
// Handles, which name the resources of a session. The client chooses a handle
// when it creates a resource, so it need not wait for an answer. The executor
// checks kind, range and generation at every use of a handle.
//
//   bits 63..56  kind
//   bits 55..32  generation  1 .. 2^24 - 1; greater at each reuse of the index
//   bits 31..0   index       0 .. kMaxIndex
//
// The handle 0 names nothing. Client and server both use this file; no other
// code packs or unpacks handles.
#ifndef HOLDFAST_CORE_BASE_HANDLE_H_
#define HOLDFAST_CORE_BASE_HANDLE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace holdfast {

// The numbers of holdfast.v1.HandleKind.
enum class HandleKind : uint8_t {
  kNone = 0,
  kStream = 1,
  kEvent = 2,
  kBuffer = 3,
  kModule = 4,
  kKernel = 5,
  kGraph = 6,
  kGraphExec = 7,
  kArena = 8,
  kArray = 9,
  kTexture = 10,
  kSurface = 11,
  kTensorMap = 12,
  kSemaphore = 13,
};

// Returns the kind's name for messages, such as "graph exec"; "unknown" if
// `kind` is not one of the values above.
inline constexpr absl::string_view HandleKindName(HandleKind kind) {
  constexpr absl::string_view kNames[] = {
      "none",    "stream",  "event",      "buffer",   "module",
      "kernel",  "graph",   "graph exec", "arena",    "array",
      "texture", "surface", "tensor map", "semaphore"};
  const auto index = static_cast<size_t>(kind);
  return index < sizeof kNames / sizeof kNames[0] ? kNames[index] : "unknown";
}

// A handle in parts. Unpack accepts any bits, so the caller must check kind,
// index and generation. Packing the result of Unpack gives the same bits.
struct Handle {
  static constexpr uint32_t kMaxIndex = (1u << 18) - 1;
  static constexpr uint32_t kMaxGeneration = (1u << 24) - 1;

  HandleKind kind = HandleKind::kNone;
  uint32_t generation = 0;
  uint32_t index = 0;

  static constexpr Handle Unpack(uint64_t bits) {
    return {static_cast<HandleKind>(bits >> 56),
            static_cast<uint32_t>(bits >> 32) & kMaxGeneration,
            static_cast<uint32_t>(bits)};
  }
  constexpr uint64_t Pack() const {
    return static_cast<uint64_t>(kind) << 56 |
           static_cast<uint64_t>(generation & kMaxGeneration) << 32 | index;
  }

  bool operator==(const Handle&) const = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_HANDLE_H_
