// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/kernel.h"

#include "client/cpp/connection/request_text.h"
#include "client/cpp/loaded_module.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

const std::shared_ptr<SessionState>& Kernel::session() const {
  return module_->session();
}

absl::Status Kernel::status() const {
  return module_->session()->queue.FailureOf(sequence_);
}

uint32_t Kernel::OrFirst(std::optional<uint32_t> device) const {
  return device.value_or(module_->session()->first_device);
}

absl::StatusOr<v1::KernelDescription> Kernel::Describe(
    std::optional<uint32_t> device) const {
  HOLDFAST_ASSIGN_OR_RETURN(
      v1::Result result,
      module_->session()->queue.Call([&](v1::Command& command) {
        command.mutable_describe_kernel()->set_kernel(handle_);
        command.mutable_describe_kernel()->set_device(OrFirst(device));
      }));
  return std::move(*result.mutable_kernel());
}

absl::Status Kernel::SetAttribute(const std::string& attribute, int64_t value,
                                  std::optional<uint32_t> device) const {
  v1::Command command;
  v1::SetKernelAttribute& set = *command.mutable_set_kernel_attribute();
  set.set_kernel(handle_);
  set.set_device(OrFirst(device));
  set.set_attribute(attribute);
  set.set_value(value);
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(command));
  return module_->session()
      ->queue.Submit([&](WireWriter& writer) { writer.Fields(command); })
      .status();
}

absl::StatusOr<v1::Occupancy> Kernel::Query(
    v1::QueryOccupancy query, std::optional<uint32_t> device) const {
  query.set_kernel(handle_);
  query.set_device(OrFirst(device));
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result,
      module_->session()->queue.Call([&](v1::Command& command) {
        *command.mutable_query_occupancy() = query;
      }));
  return result.occupancy();
}

}  // namespace holdfast
