// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/jit_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/cuda/refused_code.h"

namespace holdfast::libcuda {

CUresult JitOptions::Parse(unsigned count, CUjit_option* options, void** values,
                           JitOptions* parsed) {
  if (count > 0 && (options == nullptr || values == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  parsed->start_ = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        parsed->information_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        parsed->information_.size = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        parsed->errors_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        parsed->errors_.size = &values[i];
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
  return CUDA_SUCCESS;
}

std::vector<std::string> JitOptions::LinkerOptions() const {
  const uint32_t registers = limits_.Registers();
  if (registers == 0) return {};
  return {absl::StrCat("-maxrregcount=", registers)};
}

void JitOptions::Log::Write(absl::string_view text) const {
  if (buffer == nullptr || size == nullptr) return;
  const auto room = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(*size));
  const size_t length = room == 0 ? 0 : std::min<size_t>(text.size(), room - 1);
  if (room > 0) {
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  *size = reinterpret_cast<void*>(length);
}

namespace {

std::string LogOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() && !detail->log.empty()
             ? detail->log
             : std::string(status.message());
}

}  // namespace

void JitOptions::Report(const absl::Status& status,
                        absl::string_view information) const {
  information_.Write(information);
  errors_.Write(status.ok() ? "" : LogOf(status));
  if (wall_time_ == nullptr) return;
  const std::chrono::duration<float, std::milli> time =
      std::chrono::steady_clock::now() - start_;
  const float milliseconds = time.count();
  uint32_t bits = 0;
  std::memcpy(&bits, &milliseconds, sizeof(bits));
  *wall_time_ = reinterpret_cast<void*>(uintptr_t{bits});
}

void SayCodeIsRefused(CUresult result, const absl::Status& reason) {
  cuda::SayCodeIsRefused(result, LogOf(reason));
}

}  // namespace holdfast::libcuda
