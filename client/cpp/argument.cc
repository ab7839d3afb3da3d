// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/argument.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/submission/wire_writer.h"
#include "client/cpp/transfer/arena_index.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

using Fields = v1::fields::Argument;

// One overload for each type that the protocol knows.
struct Encoder {
  WireWriter& writer;

  void operator()(bool value) const { writer.Write(Fields::kBoolean, value); }
  void operator()(int8_t value) const { writer.Write(Fields::kI8, value); }
  void operator()(int16_t value) const { writer.Write(Fields::kI16, value); }
  void operator()(int32_t value) const { writer.Write(Fields::kI32, value); }
  void operator()(int64_t value) const { writer.Write(Fields::kI64, value); }
  void operator()(uint8_t value) const { writer.Write(Fields::kU8, value); }
  void operator()(uint16_t value) const { writer.Write(Fields::kU16, value); }
  void operator()(uint32_t value) const { writer.Write(Fields::kU32, value); }
  void operator()(uint64_t value) const { writer.Write(Fields::kU64, value); }
  void operator()(float value) const { writer.Write(Fields::kF32, value); }
  void operator()(double value) const { writer.Write(Fields::kF64, value); }
  void operator()(Half value) const {
    writer.Write(Fields::kF16Bits, value.bits);
  }
  // On the wire both are two bytes.
  void operator()(BFloat16 value) const {
    writer.Write(Fields::kF16Bits, value.bits);
  }
  void operator()(BufferAddress value) const {
    writer.Message(Fields::kBuffer, [&] {
      writer.Write(v1::fields::BufferArgument::kBuffer, value.buffer);
      if (value.offset == 0) return;
      writer.Write(v1::fields::BufferArgument::kOffset, value.offset);
    });
  }
  void operator()(GraphCondition condition) const {
    writer.Write(Fields::kGraphCondition, condition.id);
  }
  void operator()(std::span<const std::byte> bytes) const {
    writer.Write(Fields::kRaw, bytes.data(), bytes.size());
  }
  void operator()(EmptyResource) const {}  // Check refuses it.
};

}  // namespace

absl::Status Argument::Check() const {
  const auto* const empty = std::get_if<EmptyResource>(&value_);
  if (empty == nullptr) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ", empty->kind, " that was moved from or freed"));
}

std::optional<uint64_t> Argument::AsAddress() const {
  if (const auto* const number = std::get_if<uint64_t>(&value_)) {
    return *number;
  }
  if (const auto* const number = std::get_if<int64_t>(&value_)) {
    return static_cast<uint64_t>(*number);
  }
  const auto* const bytes = std::get_if<std::span<const std::byte>>(&value_);
  uint64_t number = 0;
  if (bytes == nullptr || bytes->size() != sizeof number) return std::nullopt;
  std::memcpy(&number, bytes->data(), sizeof number);
  return number;
}

absl::StatusOr<std::span<const Argument>> ResolveAddresses(
    const SessionState& session, std::span<const Argument> arguments,
    std::vector<Argument>& resolved) {
  const ArenaIndex& index = ArenaIndex::Get();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (absl::Status empty = arguments[i].Check(); !empty.ok()) [[unlikely]] {
      return WithPrefix(absl::StrCat("argument ", i), empty);
    }
    const std::optional<uint64_t> address = arguments[i].AsAddress();
    if (!address.has_value() || !index.MayContain(*address)) [[likely]] {
      continue;
    }
    const std::shared_ptr<const Arena> arena = index.Find(*address);
    if (arena == nullptr) continue;
    if (arena->session().get() != &session) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", i, ", the number 0x", absl::Hex(*address),
                       ", is an address in pinned memory of another session"));
    }
    HOLDFAST_RETURN_IF_ERROR(arena->Ready());
    if (resolved.empty()) resolved.assign(arguments.begin(), arguments.end());
    resolved[i] = BufferAddress{
        arena->handle(), *address - reinterpret_cast<uintptr_t>(arena->data())};
  }
  return resolved.empty() ? arguments : std::span<const Argument>(resolved);
}

void Argument::Encode(WireWriter& writer) const {
  std::visit(Encoder{writer}, value_);
}

}  // namespace holdfast
