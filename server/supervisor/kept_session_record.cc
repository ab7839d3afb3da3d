// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/kept_session_record.h"

#include <utility>

#include "server/holdings/assigned_devices.h"

namespace holdfast::supervisor {

KeptSessionRecord::KeptSessionRecord(Options options)
    : options_(std::move(options)) {}

void KeptSessionRecord::SetQuota(const v1::Quota& quota) {
  *options_.record.mutable_quota() = quota;
  Keep();
}

void KeptSessionRecord::SetDevice(uint32_t device) {
  holdfast::SetDevice(device, options_.record.mutable_assign());
  Keep();
}

void KeptSessionRecord::SetAttached() { detached_ = DescriptorStore::Kept(); }

void KeptSessionRecord::SetDetached() {
  if (options_.keep_detached == nullptr || left_ || options_.kept.empty()) {
    return;
  }
  detached_ = options_.keep_detached();
}

void KeptSessionRecord::Close() {
  options_.kept.clear();
  SetAttached();
}

void KeptSessionRecord::Keep() {
  if (options_.keep == nullptr || options_.kept.empty()) return;
  options_.kept.front() = options_.keep(options_.record);
}

}  // namespace holdfast::supervisor
