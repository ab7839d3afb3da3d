// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/linker.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/container.h"
#include "core/software/runtime/executable.h"

namespace holdfast::software {

CUresult Linker::Report(CUresult result, const std::string& log) {
  MutexLock lock(&mutex_);
  if (!log.empty()) absl::StrAppend(&log_, log_.empty() ? "" : "\n", log);
  options_.WriteErrorLog(log_);
  options_.WriteInfoLog("");
  return result;
}

CUresult Linker::Add(CUjitInputType type, const void* data, size_t size,
                     absl::string_view name) {
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (type < 0 || type >= CU_JIT_NUM_INPUT_TYPES) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Read as what it is, within its bytes: text needs no zero at its end, and a
  // container's header cannot claim more than the zeros behind it.
  std::string bytes(static_cast<const char*>(data), size);
  std::vector<std::string> modules;
  std::string log;
  CUresult result =
      ReadContainer(bytes.c_str(), bytes.size() + 1, &modules, &log);
  for (const std::string& module : modules) {
    if (result == CUDA_SUCCESS) result = Executable::Check(module, &log);
  }
  if (result != CUDA_SUCCESS) {
    return Report(result, absl::StrCat(name, name.empty() ? "" : ": ", log));
  }
  {
    MutexLock lock(&mutex_);
    for (std::string& module : modules) modules_.push_back(std::move(module));
  }
  return Report(result, "");
}

CUresult Linker::Complete(void** image, size_t* size) {
  std::vector<std::string> modules;
  {
    MutexLock lock(&mutex_);
    modules = modules_;
  }
  if (modules.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<Executable> executable;
  std::string log;
  const CUresult result = Executable::LoadLinked(modules, &executable, &log);
  if (result != CUDA_SUCCESS) return Report(result, log);
  {
    MutexLock lock(&mutex_);
    image_ = WriteLinkedImage(modules);
    *image = &image_[0];
    if (size != nullptr) *size = image_.size();
  }
  return Report(result, "");
}

}  // namespace holdfast::software
