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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/c/holdfast.h"
#include "client/cpp/buffer.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/event.h"
#include "client/cpp/fence.h"
#include "client/cpp/kernel.h"
#include "client/cpp/module.h"
#include "client/cpp/place.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/session.h"
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
  // The session, for calls that need it beside the module.
  std::shared_ptr<holdfast::SessionState> session;
};

struct hf_kernel {
  holdfast::Kernel kernel;
  std::shared_ptr<holdfast::SessionState> session;
};

namespace holdfast::c {

// Returns the caller's options struct, which may be of an older or a newer
// version. Members that the caller's struct lacks get their values from
// `defaults`. Reads at most `struct_size` bytes, which is the first member.
// INVALID_ARGUMENT: `struct_size` is too small, as in a struct of zeros.
template <typename Options>
absl::StatusOr<Options> Complete(const Options* given, Options defaults) {
  if (given == nullptr) return defaults;
  if (given->struct_size < sizeof given->struct_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("struct_size is ", given->struct_size,
                     ": begin with the INIT macro of the struct, as in "
                     "hf_launch_config config = HF_LAUNCH_CONFIG_INIT"));
  }
  const size_t size = given->struct_size < sizeof(Options) ? given->struct_size
                                                           : sizeof(Options);
  std::memcpy(&defaults, given, size);
  return defaults;
}

// Returns a reference to the memory that `place` names. INVALID_ARGUMENT:
// `place` is null, or does not name exactly one of buffer and span.
inline absl::StatusOr<Place> ToPlace(const hf_place* place) {
  if (place == nullptr ||
      (place->buffer == nullptr) == (place->span == nullptr)) {
    return absl::InvalidArgumentError(
        "an hf_place names a buffer or a span, and the other is NULL");
  }
  if (place->span != nullptr) return Place(place->span->span, place->offset);
  return Place(place->buffer->buffer, place->offset);
}

// Returns the caller's string; empty for null.
inline std::string Text(const char* text) {
  return text == nullptr ? "" : text;
}

// Moves `value` into a new Handle, which the caller frees.
template <typename Handle, typename Value>
absl::Status Give(Value value, Handle** out) {
  *out = new Handle{std::move(value)};
  return absl::OkStatus();
}

// Moves the value of a StatusOr into a new Handle, or returns the StatusOr's
// error.
template <typename Handle, typename Value>
absl::Status Give(absl::StatusOr<Value> value, Handle** out) {
  if (!value.ok()) return std::move(value).status();
  return Give(*std::move(value), out);
}

// Stores a number or a bool, or returns its error.
template <typename Value, typename Out>
absl::Status Give(const absl::StatusOr<Value>& value, Out* out) {
  if (!value.ok()) return value.status();
  *out = *value;
  return absl::OkStatus();
}

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_HANDLES_H_
