// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/linker.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/cuda/archive.h"
#include "core/cuda/container.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/refusal.h"
#include "core/software/driver/settings.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {
namespace {

void MoveTo(std::vector<std::string>* all, std::vector<std::string>* more) {
  all->insert(all->end(), std::make_move_iterator(more->begin()),
              std::make_move_iterator(more->end()));
  more->clear();
}

}  // namespace

CUresult Linker::Report(CUresult result, const std::string& log) {
  MutexLock lock(&mutex_);
  if (!log.empty()) absl::StrAppend(&log_, log_.empty() ? "" : "\n", log);
  options_.Report(log_);
  return result == CUDA_SUCCESS || options_.has_error_log()
             ? result
             : RefuseCode(result, log);
}

CUresult Linker::Add(CUjitInputType type, const void* data, size_t size,
                     absl::string_view name, const cuda::KernelLimits& limits) {
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (type < 0 || type >= CU_JIT_NUM_INPUT_TYPES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Read as what it is, within its bytes: text needs no zero at its end, and a
  // container's header cannot claim more than the zeros behind it.
  const std::string bytes(static_cast<const char*>(data), size);
  cuda::KernelLimits own = options_.limits();
  own.Replace(limits);
  if (cuda::IsArchive(bytes)) return AddArchive(bytes, name, own);
  std::vector<std::string> modules;
  std::string log;
  CUresult result =
      cuda::ReadLinkInput(bytes, GetSettings().arch(), &modules, &log);
  for (std::string& module : modules) {
    module = own.Apply(module);
    if (result == CUDA_SUCCESS) result = Executable::Check(module, &log);
  }
  if (result != CUDA_SUCCESS) {
    return Report(result, absl::StrCat(name, name.empty() ? "" : ": ", log));
  }
  {
    MutexLock lock(&mutex_);
    MoveTo(&inputs_.modules, &modules);
  }
  return Report(result, "");
}

CUresult Linker::AddArchive(absl::string_view archive, absl::string_view name,
                            const cuda::KernelLimits& limits) {
  std::vector<cuda::ArchiveMember> members;
  if (!cuda::ReadArchive(archive, &members)) {
    return Report(CUDA_ERROR_INVALID_IMAGE,
                  absl::StrCat(name, name.empty() ? "" : ": ",
                               "the archive is damaged, or a thin one"));
  }
  Inputs found;
  bool has_device_code = false;
  for (const cuda::ArchiveMember& member : members) {
    std::vector<std::string> modules;
    std::string log;
    const CUresult result = cuda::ReadLinkInput(
        std::string(member.bytes), GetSettings().arch(), &modules, &log);
    has_device_code |= result != CUDA_ERROR_INVALID_IMAGE;
    if (result != CUDA_SUCCESS) {
      found.left_out.push_back(
          absl::StrCat(name, "(", member.name, ") is left out: ", log));
    }
    for (std::string& module : modules) module = limits.Apply(module);
    MoveTo(&found.members, &modules);
  }
  if (!has_device_code) {
    return Report(CUDA_ERROR_INVALID_IMAGE,
                  absl::StrCat(name, name.empty() ? "" : ": ",
                               "the archive has no code for a GPU in it"));
  }
  {
    MutexLock lock(&mutex_);
    MoveTo(&inputs_.members, &found.members);
    MoveTo(&inputs_.left_out, &found.left_out);
  }
  return Report(CUDA_SUCCESS, "");
}

CUresult Linker::Link(Inputs inputs, std::string* log,
                      std::string* image) const {
  std::vector<std::string>& modules = inputs.modules;
  for (const size_t i : Executable::MembersNeeded(modules, inputs.members)) {
    modules.push_back(inputs.members[i]);
  }
  std::unique_ptr<Executable> executable;
  CUresult result = Executable::LoadLinked(modules, &executable, log);
  if (result == CUDA_SUCCESS) result = CheckTarget(*executable, log);
  if (result == CUDA_SUCCESS) {
    *image = cuda::WriteLinkedImage(modules);
    return result;
  }
  for (const std::string& member : inputs.left_out) {
    absl::StrAppend(log, "\n", member);
  }
  return result;
}

CUresult Linker::Complete(void** image, size_t* size) {
  Inputs inputs;
  {
    MutexLock lock(&mutex_);
    inputs = inputs_;
  }
  if (inputs.modules.empty() && inputs.members.empty() &&
      inputs.left_out.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::string log;
  std::string linked;
  const CUresult result = Link(std::move(inputs), &log, &linked);
  if (result != CUDA_SUCCESS) return Report(result, log);
  {
    MutexLock lock(&mutex_);
    image_ = std::move(linked);
    *image = &image_[0];
    if (size != nullptr) *size = image_.size();
  }
  return Report(result, "");
}

}  // namespace holdfast::software
