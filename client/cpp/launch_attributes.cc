// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch_attributes.h"

#include "client/cpp/submission/wire_writer.h"

namespace holdfast {
namespace {

template <typename Value>
bool IsSet(const std::optional<Value>& value) {
  return value.has_value();
}
bool IsSet(const std::optional<const Event*>& event) {
  return event.value_or(nullptr) != nullptr;
}

// One overload for each type that is not the message's own.
template <typename Message>
void Assign(const Message& value, Message* to) {
  *to = value;
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
      if constexpr (requires { to->set_##name(from); }) {              \
        to->set_##name(from);                                          \
      } else {                                                         \
        Assign(from, to->mutable_##name());                            \
      }                                                                \
    }(*name, launch.add_attributes());                                 \
  }
#include "proto/launch_attributes.inc"
  writer.Fields(launch);
}

}  // namespace holdfast
