// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the opaque types of holdfast.h: each owns one object of
// client/cpp.
#ifndef HOLDFAST_CLIENT_C_HANDLES_H_
#define HOLDFAST_CLIENT_C_HANDLES_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/c/holdfast.h"
#include "client/cpp/buffer.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/event.h"
#include "client/cpp/fence.h"
#include "client/cpp/kernel.h"
#include "client/cpp/module.h"
#include "client/cpp/place.h"
#include "client/cpp/session.h"
#include "client/cpp/sharing/semaphore.h"
#include "client/cpp/stream.h"
#include "client/cpp/transfer/arena.h"

struct hf_daemon {
  std::shared_ptr<holdfast::Daemon> daemon;
};

struct hf_session {
  std::unique_ptr<holdfast::Session> session;
};

struct hf_stream {
  holdfast::Stream stream;
};

struct hf_event {
  holdfast::Event event;
};

struct hf_fence {
  holdfast::Fence fence;
};

struct hf_buffer {
  holdfast::Buffer buffer;
};

struct hf_semaphore {
  holdfast::Semaphore semaphore;
};

struct hf_arena {
  std::shared_ptr<holdfast::Arena> arena;
};

struct hf_span {
  holdfast::ArenaSpan span;
};

struct hf_object {
  holdfast::ObjectCode object;
};

struct hf_module {
  holdfast::Module module;
  // For calls that need more than the module.
  std::shared_ptr<holdfast::SessionState> session;
};

struct hf_kernel {
  holdfast::Kernel kernel;
  std::shared_ptr<holdfast::SessionState> session;
};

namespace holdfast::c {

// An options struct of the caller's, which may be of an older or a newer
// version: members that it does not have keep their value in `defaults`.
// `struct_size` is the first member, and no more is read than it says.
template <typename Options>
Options Complete(const Options* given, Options defaults) {
  if (given == nullptr) return defaults;
  const size_t size = given->struct_size < sizeof(Options) ? given->struct_size
                                                           : sizeof(Options);
  std::memcpy(&defaults, given, size);
  return defaults;
}

// Refers to what `place` names. INVALID_ARGUMENT: it is null, or names no
// memory or two.
inline absl::StatusOr<Place> ToPlace(const hf_place* place) {
  if (place == nullptr ||
      (place->buffer == nullptr) == (place->span == nullptr)) {
    return absl::InvalidArgumentError(
        "an hf_place names a buffer or a span, and the other is NULL");
  }
  if (place->span != nullptr) return Place(place->span->span, place->offset);
  return Place(place->buffer->buffer, place->offset);
}

// A string of the caller's; null is empty.
inline std::string Text(const char* text) {
  return text == nullptr ? "" : text;
}

// Hands `value` to the caller as a new Handle. *out is the caller's to free.
template <typename Handle, typename Value>
void Give(Value value, Handle** out) {
  *out = new Handle{std::move(value)};
}

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_HANDLES_H_
