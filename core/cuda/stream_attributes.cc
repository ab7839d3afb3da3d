// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/stream_attributes.h"

#include <algorithm>

namespace holdfast::cuda {

StreamAttributes::StreamAttributes(int priority, const Limits& limits)
    : limits_(limits) {
  SetPriority(priority);
  if (limits_.sync_domains < 2) domains_.remote = 0;
}

void StreamAttributes::SetPriority(int priority) {
  priority_ = std::clamp(priority, kGreatestPriority, kLeastPriority);
}

// As NVIDIA's driver on an H200: it accepts any property of hits.
bool StreamAttributes::IsValid(const CUaccessPolicyWindow& window) const {
  return window.num_bytes <= limits_.window_bytes && window.hitRatio >= 0 &&
         window.hitRatio <= 1 &&
         window.missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

CUresult StreamAttributes::Set(CUstreamAttrID id,
                               const CUstreamAttrValue& value) {
  switch (id) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      if (!IsValid(value.accessPolicyWindow)) return CUDA_ERROR_INVALID_VALUE;
      window_ = value.accessPolicyWindow;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      if (value.syncPolicy < CU_SYNC_POLICY_AUTO ||
          value.syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      synchronization_ = value.syncPolicy;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY:
      SetPriority(value.priority);
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      if (std::max(value.memSyncDomainMap.default_,
                   value.memSyncDomainMap.remote) >= limits_.sync_domains) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      domains_ = value.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
      if (value.memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT &&
          value.memSyncDomain != CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      domain_ = value.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult StreamAttributes::Get(CUstreamAttrID id,
                               CUstreamAttrValue* value) const {
  switch (id) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      value->accessPolicyWindow = window_;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value->syncPolicy = synchronization_;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY:
      value->priority = priority_;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value->memSyncDomainMap = domains_;
      return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
      value->memSyncDomain = domain_;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void StreamAttributes::CopyFrom(const StreamAttributes& other) {
  const Limits limits = limits_;
  *this = other;
  limits_ = limits;
}

}  // namespace holdfast::cuda
