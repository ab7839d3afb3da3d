// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch_attributes.h"

#include <type_traits>

#include "client/cpp/submission/wire_writer.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

template <typename Value>
bool IsSet(const std::optional<Value>& value) {
  return value.has_value();
}
bool IsSet(const std::optional<const Event*>& event) {
  return event.value_or(nullptr) != nullptr;
}

// One overload for each type that is a message on the wire.
void Assign(const MemSyncDomainMap& map, v1::MemSyncDomainMap* to) {
  to->set_default_domain(map.default_domain);
  to->set_remote_domain(map.remote_domain);
}
void Assign(const AccessPolicyWindow& window, v1::AccessPolicyWindow* to) {
  to->set_buffer(window.buffer);
  to->set_offset(window.offset);
  to->set_size(window.size);
  to->set_hit_ratio(window.hit_ratio);
  to->set_hit_property(static_cast<v1::AccessProperty>(window.hit_property));
  to->set_miss_property(static_cast<v1::AccessProperty>(window.miss_property));
}
void Assign(const ProgrammaticEvent& event, v1::ProgrammaticEvent* to) {
  to->set_event(event.event);
  to->set_trigger_at_block_start(event.trigger_at_block_start);
}
void Assign(const Dim3& size, v1::Dim3* to) {
  to->set_x(size.x);
  to->set_y(size.y);
  to->set_z(size.z);
}
void Assign(const Event* event, v1::LaunchCompletionEvent* to) {
  to->set_event(event->handle());
}

}  // namespace

bool LaunchAttributes::any() const {
  return false
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  || IsSet(name)
#include "proto/launch_attributes.inc"
      ;
}

void LaunchAttributes::Encode(WireWriter& writer) const {
  if (!any()) return;
  v1::Launch launch;
  // Protobuf has a set_ for numbers, flags and enumerations alone; messages are
  // assigned by their mutable_.
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  if (IsSet(name)) {                                                   \
    [](const auto& from, auto* to) {                                   \
      if constexpr (std::is_enum_v<CType>) {                           \
        to->set_##name(static_cast<decltype(to->name())>(from));       \
      } else if constexpr (requires { to->set_##name(from); }) {       \
        to->set_##name(from);                                          \
      } else {                                                         \
        Assign(from, to->mutable_##name());                            \
      }                                                                \
    }(*name, launch.add_attributes());                                 \
  }
#include "holdfast/v1/common.pb.h"
#include "proto/launch_attributes.inc"
  writer.Fields(launch);
}

}  // namespace holdfast
