// SPDX-License-Identifier: Apache-2.0
#include "server/compile/link_job.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/memfd.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "server/compile/program_request.h"

namespace holdfast {
namespace {

constexpr size_t kNameBytes = 4;  // of a hash, where nothing better is known

// The objects of the request as its first inputs.
void MoveObjects(v1::LinkRequest* request) {
  v1::LinkRequest all;
  for (std::string& sha256 : *request->mutable_objects()) {
    all.add_inputs()->set_sha256(std::move(sha256));
  }
  for (v1::LinkInput& input : *request->mutable_inputs()) {
    *all.add_inputs() = std::move(input);
  }
  request->clear_objects();
  request->mutable_inputs()->Swap(all.mutable_inputs());
}

}  // namespace

absl::StatusOr<LinkJob> LinkJob::Create(v1::LinkRequest request,
                                        ObjectStore& store) {
  LinkJob job;
  job.request_ = std::move(request);
  MoveObjects(&job.request_);
  uint64_t size = 0;
  for (v1::LinkInput& input : *job.request_.mutable_inputs()) {
    HOLDFAST_RETURN_IF_ERROR(job.Take(store, &input));
    size += job.inputs_.back().size;
    if (size > kMaxLinkBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the objects to link have more than ", kMaxLinkBytes,
                       " bytes (256 MiB) together"));
    }
  }
  return job;
}

absl::Status LinkJob::Take(ObjectStore& store, v1::LinkInput* input) {
  Input taken;
  if (input->has_sha256()) {
    HOLDFAST_ASSIGN_OR_RETURN(taken.object, store.Get(input->sha256()));
    taken.size = taken.object->header.size();
    if (input->format() == v1::OBJECT_FORMAT_UNSPECIFIED) {
      input->set_format(taken.object->header.format());
    }
  } else {
    taken.data = std::move(*input->mutable_data());
    taken.size = taken.data.size();
    input->set_sha256(ToBytes(Sha256(taken.data)));
  }
  if (input->name().empty()) {
    input->set_name(
        absl::BytesToHexString(input->sha256().substr(0, kNameBytes)));
  }
  const absl::Status format = ToFormat(input->format()).status();
  if (!format.ok()) {
    return WithPrefix(absl::StrCat("link input \"", input->name(), "\""),
                      format);
  }
  inputs_.push_back(std::move(taken));
  return absl::OkStatus();
}

internal::ToCompiler LinkJob::Message() const {
  internal::ToCompiler message;
  internal::LinkJob& job = *message.mutable_link();
  job.set_target(request_.target());
  job.set_arch(request_.arch());
  *job.mutable_options() = request_.options();
  for (int i = 0; i < request_.inputs_size(); ++i) {
    internal::LinkPart& part = *job.add_parts();
    part.set_name(request_.inputs(i).name());
    part.set_format(request_.inputs(i).format());
    part.set_size(inputs_[static_cast<size_t>(i)].size);
  }
  return message;
}

absl::StatusOr<UniqueFd> LinkJob::Parts() const {
  std::string bytes;
  for (const Input& input : inputs_) {
    if (input.object == nullptr) {
      bytes.append(input.data);
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(const FileMapping mapping,
                              FileMapping::Map(input.object->memory.get(),
                                               FileMapping::Access::kReadOnly));
    bytes.append(mapping.bytes().data(), mapping.bytes().size());
  }
  return CreateSealedMemfd("holdfast-link", bytes);
}

}  // namespace holdfast
