// SPDX-License-Identifier: Apache-2.0
#include "client/c/arguments.h"

#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast::c {
namespace {

Dim3 ToDim3(const hf_dim3& dim) { return {dim.x, dim.y, dim.z}; }

// Read: an attribute's value in C as the C++ client's. One overload for each
// type. INVALID_ARGUMENT: a number that the type cannot hold; the daemon judges
// what it can.

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<bool>* attribute) {
  *attribute = given.value.number != 0;
  return absl::OkStatus();
}

template <typename Number>
requires std::is_integral_v<Number> || std::is_enum_v<Number> absl::Status Read(
    const hf_launch_attribute& given, std::optional<Number>* attribute) {
  *attribute = static_cast<Number>(given.value.number);
  if (static_cast<int64_t>(**attribute) == given.value.number) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("launch attribute ", given.kind, ": value.number ",
                   given.value.number, " is out of range"));
}

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<MemSyncDomainMap>* attribute) {
  *attribute = {given.value.domains.default_domain,
                given.value.domains.remote_domain};
  return absl::OkStatus();
}

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<Dim3>* attribute) {
  *attribute = ToDim3(given.value.dim);
  return absl::OkStatus();
}

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<const Event*>* attribute) {
  if (given.value.event == nullptr) return NullArgument("event");
  *attribute = &given.value.event->event;
  return absl::OkStatus();
}

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<AccessPolicyWindow>* attribute) {
  const hf_access_policy_window* const from = given.value.window;
  if (from == nullptr) return NullArgument("window");
  if (from->buffer == nullptr) return NullArgument("window->buffer");
  *attribute = {from->buffer->buffer.handle(),
                from->offset,
                from->size,
                from->hit_ratio,
                static_cast<AccessProperty>(from->hit_property),
                static_cast<AccessProperty>(from->miss_property)};
  return absl::OkStatus();
}

absl::Status Read(const hf_launch_attribute& given,
                  std::optional<ProgrammaticEvent>* attribute) {
  const hf_programmatic_event* const from = given.value.programmatic_event;
  if (from == nullptr) return NullArgument("programmatic_event");
  if (from->event == nullptr) return NullArgument("programmatic_event->event");
  *attribute = {from->event->event.handle(), from->trigger_at_block_start != 0};
  return absl::OkStatus();
}

#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  static_assert(static_cast<int>(HF_##C_KIND) ==                       \
                static_cast<int>(v1::LaunchAttribute::k##Name));
#include "proto/launch_attributes.inc"

absl::Status SetAttribute(const hf_launch_attribute& given,
                          LaunchAttributes& all) {
  switch (given.kind) {
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  case HF_##C_KIND:                                                    \
    return Read(given, &all.name);
#include "proto/launch_attributes.inc"
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no launch attribute of kind ", given.kind));
}

// The daemon knows the arena, not the span.
absl::Status SetSpan(const ArenaSpan& span, uint64_t offset,
                     Argument& argument) {
  if (offset > span.size()) {
    return absl::OutOfRangeError(
        absl::StrCat("byte ", offset, " of a span of ", span.size(), " bytes"));
  }
  argument =
      Argument(BufferAddress{span.arena().handle(), span.offset() + offset});
  return absl::OkStatus();
}

absl::Status SetArgument(const hf_argument& given, Argument& argument) {
  const int64_t number = given.value.number;
  switch (given.kind) {
    case HF_ARG_NULL:
      argument = Argument(nullptr);
      return absl::OkStatus();
    case HF_ARG_BUFFER:
      if (given.value.buffer == nullptr) return NullArgument("buffer");
      argument = Argument(
          BufferAddress{given.value.buffer->buffer.handle(), given.size});
      return absl::OkStatus();
    case HF_ARG_BOOL:
      argument = Argument(number != 0);
      return absl::OkStatus();
    case HF_ARG_I8:
      argument = Argument(static_cast<int8_t>(number));
      return absl::OkStatus();
    case HF_ARG_I16:
      argument = Argument(static_cast<int16_t>(number));
      return absl::OkStatus();
    case HF_ARG_I32:
      argument = Argument(static_cast<int32_t>(number));
      return absl::OkStatus();
    case HF_ARG_I64:
      argument = Argument(number);
      return absl::OkStatus();
    case HF_ARG_U8:
      argument = Argument(static_cast<uint8_t>(number));
      return absl::OkStatus();
    case HF_ARG_U16:
      argument = Argument(static_cast<uint16_t>(number));
      return absl::OkStatus();
    case HF_ARG_U32:
      argument = Argument(static_cast<uint32_t>(number));
      return absl::OkStatus();
    case HF_ARG_U64:
      argument = Argument(static_cast<uint64_t>(number));
      return absl::OkStatus();
    case HF_ARG_F16:
      argument = Argument(Half{static_cast<uint16_t>(number)});
      return absl::OkStatus();
    case HF_ARG_F32:
      argument = Argument(given.value.f32);
      return absl::OkStatus();
    case HF_ARG_F64:
      argument = Argument(given.value.f64);
      return absl::OkStatus();
    case HF_ARG_RAW:
      if (given.size > 0) HF_REQUIRE(given.value.data);
      argument = Argument(std::span(
          static_cast<const std::byte*>(given.value.data), given.size));
      return absl::OkStatus();
    case HF_ARG_CONDITION:
      argument = Argument(GraphCondition{static_cast<uint32_t>(number)});
      return absl::OkStatus();
    case HF_ARG_SPAN:
      if (given.value.span == nullptr) return NullArgument("span");
      return SetSpan(given.value.span->span, given.size, argument);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no argument of kind ", given.kind));
}

absl::Status CheckSession(const hf_argument& given,
                          const std::shared_ptr<SessionState>& session) {
  if (given.kind == HF_ARG_BUFFER &&
      given.value.buffer->buffer.session() != session) {
    return absl::InvalidArgumentError(
        "the buffer and the launch belong to different sessions");
  }
  if (given.kind == HF_ARG_SPAN &&
      given.value.span->span.arena().session() != session) {
    return absl::InvalidArgumentError(
        "the span and the launch belong to different sessions");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ToConfig(const hf_launch_config& caller, LaunchConfig& config) {
  const bool whole = caller.struct_size == sizeof caller;
  hf_launch_config completed;
  if (!whole) {
    HOLDFAST_ASSIGN_OR_RETURN(
        completed, Complete<hf_launch_config>(&caller, HF_LAUNCH_CONFIG_INIT));
  }
  const hf_launch_config& given = whole ? caller : completed;
  config.grid = ToDim3(given.grid);
  config.block = ToDim3(given.block);
  config.dynamic_shared_bytes = given.dynamic_shared_bytes;
  config.cooperative = given.cooperative;
  const hf_dim3& cluster = given.cluster;
  if ((cluster.x | cluster.y | cluster.z) != 0) {
    config.cluster = ToDim3(cluster);
  }
  if (given.attribute_count > 0) HF_REQUIRE(given.attributes);
  for (size_t i = 0; i < given.attribute_count; ++i) {
    HOLDFAST_RETURN_IF_ERROR(
        SetAttribute(given.attributes[i], config.attributes));
  }
  return absl::OkStatus();
}

absl::Status ToArguments(std::span<const hf_argument> given,
                         const std::shared_ptr<SessionState>& session,
                         Arguments& arguments) {
  arguments.resize(given.size(), Argument(nullptr));
  for (size_t i = 0; i < given.size(); ++i) {
    HOLDFAST_RETURN_IF_ERROR(SetArgument(given[i], arguments[i]));
    HOLDFAST_RETURN_IF_ERROR(CheckSession(given[i], session));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::c
