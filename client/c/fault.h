// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_C_FAULT_H_
#define HOLDFAST_CLIENT_C_FAULT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/c/holdfast.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast::c {

// The report of a fault as an hf_fault, and all memory that it points to.
class Fault {
 public:
  // Returns null if the status reports no fault.
  static std::unique_ptr<const Fault> Of(const absl::Status& status);

  explicit Fault(v1::FaultReport report, std::string result_name);
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

  // The view is valid as long as this object.
  const hf_fault& view() const { return view_; }

 private:
  void PointToText();
  void PointToPlace();
  void PointToLists();

  const v1::FaultReport report_;
  const std::string result_name_;
  const std::string cause_;
  const std::string description_;
  hf_dim3 block_ = {};
  hf_dim3 thread_ = {};
  std::vector<const char*> last_commands_;
  std::vector<hf_lost_resource> lost_;
  hf_fault view_ = {};
};

}  // namespace holdfast::c

#endif  // HOLDFAST_CLIENT_C_FAULT_H_
