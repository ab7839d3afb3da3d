// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/image.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cuda/container.h"
#include "core/cuda/error_text.h"
#include "core/software/driver/settings.h"
#include "core/software/driver/trace.h"

namespace holdfast::software {

CUresult JitOptions::Parse(unsigned count, CUjit_option* options, void** values,
                           JitOptions* parsed) {
  if (count > 0 && (options == nullptr || values == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  parsed->start_ = std::chrono::steady_clock::now();
  std::bitset<CU_JIT_NUM_OPTIONS> seen;
  for (unsigned i = 0; i < count; ++i) {
    const auto option = static_cast<unsigned>(options[i]);
    if (option >= CU_JIT_NUM_OPTIONS || seen[option]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    seen[option] = true;
    switch (options[i]) {
      case CU_JIT_ERROR_LOG_BUFFER:
        parsed->error_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        parsed->error_.SetSize(&values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER:
        parsed->info_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        parsed->info_.SetSize(&values[i]);
        break;
      case CU_JIT_WALL_TIME:
        parsed->wall_time_ = &values[i];
        break;
      default:
        if (parsed->limits_.Read(options[i], &values[i]) != CUDA_SUCCESS) {
          return CUDA_ERROR_INVALID_VALUE;
        }
    }
  }
  return seen[CU_JIT_THREADS_PER_BLOCK] && seen[CU_JIT_TARGET]
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

void JitOptions::Log::SetSize(void** value) {
  size = value;
  // The value is 32 bits wide; what lies above is the caller's.
  room = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*value));
}

void JitOptions::Log::Write(const std::string& log) const {
  if (buffer == nullptr || size == nullptr) return;
  if (room == 0) return;
  const size_t length = std::min<size_t>(log.size(), room - 1);
  memcpy(buffer, log.data(), length);
  buffer[length] = '\0';
  *size = reinterpret_cast<void*>(length);
}

void JitOptions::Report(const std::string& errors) const {
  error_.Write(errors);
  info_.Write("");
  if (wall_time_ == nullptr) return;
  const std::chrono::duration<float, std::milli> time =
      std::chrono::steady_clock::now() - start_;
  const float milliseconds = time.count();
  uint32_t bits = 0;
  memcpy(&bits, &milliseconds, sizeof(bits));
  *wall_time_ = reinterpret_cast<void*>(uintptr_t{bits});
}

CUresult CheckTarget(const Executable& executable, std::string* log) {
  const Settings& settings = GetSettings();
  if (executable.target() <= static_cast<int>(settings.arch())) {
    return CUDA_SUCCESS;
  }
  *log = absl::StrCat("target sm_", executable.target(),
                      " is newer than the device's ", settings.compute_major,
                      ".", settings.compute_minor);
  return CUDA_ERROR_INVALID_PTX;
}

CUresult LoadImage(const void* image, const JitOptions& options,
                   std::unique_ptr<Executable>* executable,
                   std::string* reason) {
  std::vector<std::string> modules;
  std::string& log = *reason;
  CUresult result = cuda::ReadContainer(image, cuda::kUnknownSize,
                                        GetSettings().arch(), &modules, &log);
  if (result == CUDA_SUCCESS && modules.size() == 1 &&
      modules[0].find(".version") == std::string::npos) {
    log = "the image is neither a fat binary nor PTX, which has a .version";
    result = CUDA_ERROR_INVALID_IMAGE;
  }
  if (result == CUDA_SUCCESS) {
    for (std::string& module : modules) module = options.limits().Apply(module);
    result = modules.size() == 1
                 ? Executable::Load(modules[0], executable, &log)
                 : Executable::LoadLinked(modules, executable, &log);
  }
  if (result == CUDA_SUCCESS) result = CheckTarget(**executable, &log);
  options.Report(result == CUDA_SUCCESS ? "" : log);
  if (result != CUDA_SUCCESS && GetSettings().trace != Trace::kOff) {
    Print(cuda::ErrorName(result), ": ", log);
  }
  return result;
}

}  // namespace holdfast::software
