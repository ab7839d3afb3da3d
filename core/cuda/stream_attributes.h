// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_STREAM_ATTRIBUTES_H_
#define HOLDFAST_CORE_CUDA_STREAM_ATTRIBUTES_H_

#include <cstddef>

#include "cuda.h"

namespace holdfast::cuda {

// The attributes (CU_STREAM_ATTRIBUTE_...) of one stream, for
// cuStreamSetAttribute and cuStreamGetAttribute. Only stores the values: in the
// two drivers of this repository they do not affect the work of a stream. A
// value type.
class StreamAttributes {
 public:
  // The range of priorities: kGreatestPriority <= priority <= kLeastPriority.
  static constexpr int kLeastPriority = 0;
  static constexpr int kGreatestPriority = -5;

  // The limits of a device.
  struct Limits {
    size_t window_bytes = 0;  // of an access policy window
    int sync_domains = 1;     // memory synchronisation domains
  };

  // Sets the priority, and all other attributes to their defaults. The
  // constructor and Set replace a priority beyond the range by the nearest
  // valid one.
  StreamAttributes(int priority, const Limits& limits);

  // Sets an attribute. CUDA_ERROR_INVALID_VALUE: streams do not have the
  // attribute, or the value is beyond the limits.
  CUresult Set(CUstreamAttrID id, const CUstreamAttrValue& value);
  // Sets *value to the value of an attribute. CUDA_ERROR_INVALID_VALUE: streams
  // do not have the attribute.
  CUresult Get(CUstreamAttrID id, CUstreamAttrValue* value) const;
  // Copies the attributes of another stream, but not its limits.
  void CopyFrom(const StreamAttributes& other);

  int priority() const { return priority_; }

 private:
  bool IsValid(const CUaccessPolicyWindow& window) const;
  void SetPriority(int priority);

  Limits limits_;
  CUaccessPolicyWindow window_{};
  CUsynchronizationPolicy synchronization_ = CU_SYNC_POLICY_AUTO;
  int priority_ = 0;
  CUlaunchMemSyncDomainMap domains_{0, 1};
  CUlaunchMemSyncDomain domain_ = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_STREAM_ATTRIBUTES_H_
