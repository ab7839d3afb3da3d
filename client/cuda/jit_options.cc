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
      case CU_JIT_MAX_REGISTERS:
        parsed->max_registers_ =
            static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
        break;
      default:
        break;
    }
  }
  return CUDA_SUCCESS;
}

std::vector<std::string> JitOptions::LinkerOptions() const {
  if (max_registers_ == 0) return {};
  return {absl::StrCat("-maxrregcount=", max_registers_)};
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
}

void SayCodeIsRefused(CUresult result, const absl::Status& reason) {
  cuda::SayCodeIsRefused(result, LogOf(reason));
}

}  // namespace holdfast::libcuda
