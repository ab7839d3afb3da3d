// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_STREAM_ATTRIBUTES_H_
#define HOLDFAST_CORE_CUDA_STREAM_ATTRIBUTES_H_

#include <cstddef>

#include "cuda.h"

namespace holdfast::cuda {

// The attributes (CU_STREAM_ATTRIBUTE_...) of one stream, for
// cuStreamSetAttribute and cuStreamGetAttribute. Stores the values. Set has no
// effect on the work of a stream in the two drivers of this repository. A value
// type.
class StreamAttributes {
 public:
  // Numerically: greatest <= priority <= least.
  static constexpr int kLeastPriority = 0;
  static constexpr int kGreatestPriority = -5;

  // The limits of a device.
  struct Limits {
    size_t window_bytes = 0;  // of an access policy window
    int sync_domains = 1;     // memory synchronisation domains
  };

  // A priority beyond the range is clamped, here and in Set.
  StreamAttributes(int priority, const Limits& limits);

  // CUDA_ERROR_INVALID_VALUE: streams do not have the attribute, or the value
  // is beyond the limits.
  CUresult Set(CUstreamAttrID id, const CUstreamAttrValue& value);
  // CUDA_ERROR_INVALID_VALUE: streams do not have the attribute.
  CUresult Get(CUstreamAttrID id, CUstreamAttrValue* value) const;
  // Takes the values of another stream. The limits stay.
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
