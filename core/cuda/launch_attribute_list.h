// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_LAUNCH_ATTRIBUTE_LIST_H_
#define HOLDFAST_CORE_CUDA_LAUNCH_ATTRIBUTE_LIST_H_

#include <array>
#include <cstddef>

#include "core/cuda/launch.h"
#include "cuda.h"

namespace holdfast::cuda {

// The driver's list of the attributes of a LaunchConfig (all but grid, block
// and shared memory), for CUlaunchConfig and for a graph's kernel node. Refers
// to the config's events.
//
// Make it on the stack for one call:
//
//   LaunchAttributeList attributes(config);
//   launch.attrs = attributes.data();
//   launch.numAttrs = attributes.size();
class LaunchAttributeList {
 public:
  // `config` is not kept, but its events must outlive the list.
  explicit LaunchAttributeList(const LaunchConfig& config);

  // The first attribute; valid until the list is moved or destroyed.
  CUlaunchAttribute* data() { return list_.data(); }
  unsigned size() const { return size_; }

 private:
  // Appends an attribute with this id, and returns its value for the caller to
  // set. All bytes of the value are 0, so that lists can be compared by their
  // bytes.
  CUlaunchAttributeValue& Add(CUlaunchAttributeID id);

  static constexpr size_t kConfigAttributes = 2;  // cooperative, cluster
  static constexpr size_t kMaxSize = kConfigAttributes
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  +1
#include "proto/launch_attributes.inc"
      ;
  // Used entries are written completely.
  std::array<CUlaunchAttribute, kMaxSize> list_;
  unsigned size_ = 0;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_LAUNCH_ATTRIBUTE_LIST_H_
