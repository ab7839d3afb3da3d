// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/launch_attribute_list.h"

namespace holdfast::cuda {
namespace {

// One overload for each type that the driver's member is not assigned from.
template <typename Value, typename Member>
void Assign(const Value& value, Member* to) {
  *to = value;
}
template <typename Member>
void Assign(const Dim3& dim, Member* to) {
  to->x = dim.x;
  to->y = dim.y;
  to->z = dim.z;
}
template <typename Member>
void Assign(const Event* event, Member* to) {
  to->event = event->handle();
  to->flags = 0;
}
template <typename Member>
void Assign(const LaunchAttributes::ProgrammaticEvent& programmatic,
            Member* to) {
  to->event = programmatic.event->handle();
  to->flags = 0;
  to->triggerAtBlockStart = programmatic.trigger_at_block_start;
}

}  // namespace

LaunchAttributeList::LaunchAttributeList(const LaunchConfig& config) {
  if (config.cooperative) {
    Add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  if (config.cluster.has_value()) {
    Assign(*config.cluster,
           &Add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim);
  }
  const LaunchAttributes& set = config.attributes;
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  if (set.name.has_value()) {                                          \
    Assign(*set.name, &Add(CU_LAUNCH_ATTRIBUTE_##CUDA_ID).value);      \
  }
#include "proto/launch_attributes.inc"
}

CUlaunchAttributeValue& LaunchAttributeList::Add(CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = list_[size_++];
  attribute = {};
  attribute.id = id;
  return attribute.value;
}

}  // namespace holdfast::cuda
