// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_HELD_VARIABLES_H_
#define HOLDFAST_SERVER_HOLDINGS_HELD_VARIABLES_H_

#include "absl/status/status.h"
#include "core/base/unique_fd.h"
#include "server/account/quota.h"
#include "server/holdings/session_descriptors.h"

namespace holdfast {

// The values of the variables of a session's modules, as an idle executor has
// saved them for its successor. Charged to host memory. Not thread-safe.
class HeldVariables {
 public:
  // REQUIRES: both outlive this object.
  HeldVariables(const SessionDescriptors& kept, Quota& host)
      : kept_(kept), host_(host) {}

  // Replaces the values. INVALID_ARGUMENT: `memory` is not a sealed memfd, or
  // has more than kMaxSavedVariablesBytes; the old values stay.
  // RESOURCE_EXHAUSTED: the quota refuses the charge; the old values are
  // dropped.
  absl::Status Hold(UniqueFd memory);
  // Drops the values.
  void Drop();

  // The descriptor of the values, borrowed; -1: there are none.
  int descriptor() const { return memory_.get(); }

 private:
  const SessionDescriptors& kept_;
  Quota& host_;
  Charge charge_;
  UniqueFd memory_;
  SessionDescriptors::Kept kept_memory_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_HELD_VARIABLES_H_
