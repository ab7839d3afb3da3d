// SPDX-License-Identifier: Apache-2.0
#include "client/c/fault.h"

#include <utility>

#include "client/cpp/fault.h"
#include "core/base/error_detail.h"
#include "core/base/source_name.h"

namespace holdfast::c {
namespace {

hf_dim3 ToDim3(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

}  // namespace

std::unique_ptr<const Fault> Fault::Of(const absl::Status& status) {
  auto report = FaultOf(status);
  if (!report.has_value()) return nullptr;
  // The detail of such a status is that of the cause.
  return std::make_unique<const Fault>(
      *std::move(report),
      GetErrorDetail(status).value_or(ErrorDetail{}).result_name);
}

Fault::Fault(v1::FaultReport report, std::string result_name)
    : report_(std::move(report)),
      result_name_(std::move(result_name)),
      cause_(WithSourceNames(report_.cause().message())),
      description_(DescribeFault(report_)) {
  view_.struct_size = sizeof view_;
  view_.epoch = report_.epoch();
  view_.device = report_.device();
  view_.completed_through = report_.completed_through();
  view_.submitted_through = report_.submitted_through();
  view_.received_through = report_.received_through();
  view_.lost_count = report_.lost_count();
  PointToText();
  PointToPlace();
  PointToLists();
}

void Fault::PointToText() {
  view_.cause = cause_.c_str();
  view_.result_name = result_name_.c_str();
  view_.kernel = report_.kernel().c_str();
  view_.source_line = report_.source_line().c_str();
  view_.description = description_.c_str();
}

void Fault::PointToPlace() {
  if (report_.has_block()) {
    block_ = ToDim3(report_.block());
    view_.block = &block_;
  }
  if (report_.has_thread()) {
    thread_ = ToDim3(report_.thread());
    view_.thread = &thread_;
  }
}

void Fault::PointToLists() {
  for (const std::string& command : report_.last_commands()) {
    last_commands_.push_back(command.c_str());
  }
  view_.last_commands = last_commands_.data();
  view_.last_command_count = last_commands_.size();
  for (const v1::LostResource& lost : report_.lost()) {
    lost_.push_back({lost.handle(), lost.reason().c_str()});
  }
  view_.lost = lost_.data();
  view_.lost_listed = lost_.size();
}

}  // namespace holdfast::c
