// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/coredump_settings.h"

#include <cstring>

namespace holdfast::cuda {
namespace {

template <typename Value>
CUresult SetValue(const void* value, size_t size, Value* to) {
  if (size != sizeof(Value)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, value, sizeof(Value));
  return CUDA_SUCCESS;
}

CUresult SetSwitch(const void* value, size_t size, bool* to) {
  unsigned char number = 0;
  const CUresult result = SetValue(value, size, &number);
  if (result == CUDA_SUCCESS) *to = number != 0;
  return result;
}

CUresult SetText(const void* value, size_t size, std::string* to) {
  const auto* text = static_cast<const char*>(value);
  const size_t length = strnlen(text, size);
  if (length > CoredumpSettings::kMaxText) return CUDA_ERROR_INVALID_VALUE;
  to->assign(text, length);
  return CUDA_SUCCESS;
}

template <typename Value>
CUresult GetValue(Value found, void* value, size_t* size) {
  if (value != nullptr && *size != sizeof found) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *size = sizeof found;
  if (value != nullptr) std::memcpy(value, &found, sizeof found);
  return CUDA_SUCCESS;
}

CUresult GetText(const std::string& found, void* value, size_t* size) {
  if (value == nullptr) {
    *size = CoredumpSettings::kMaxText + 1;
    return CUDA_SUCCESS;
  }
  if (*size <= found.size()) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(value, found.c_str(), found.size() + 1);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CoredumpSettings::Set(CUcoredumpSettings attribute, const void* value,
                               const size_t* size) {
  if (value == nullptr || size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
    case CU_COREDUMP_ENABLE_USER_TRIGGER: {
      bool is_on = false;
      const CUresult result = SetSwitch(value, *size, &is_on);
      return is_on ? CUDA_ERROR_NOT_SUPPORTED : result;
    }
    case CU_COREDUMP_TRIGGER_HOST:
      return SetSwitch(value, *size, &triggers_host_);
    case CU_COREDUMP_LIGHTWEIGHT:
      return SetSwitch(value, *size, &is_lightweight_);
    case CU_COREDUMP_FILE:
      return SetText(value, *size, &file_);
    case CU_COREDUMP_PIPE:
      return SetText(value, *size, &pipe_);
    case CU_COREDUMP_GENERATION_FLAGS:
      return SetValue(value, *size, &generation_flags_);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult CoredumpSettings::Get(CUcoredumpSettings attribute, void* value,
                               size_t* size) const {
  if (size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
    case CU_COREDUMP_ENABLE_USER_TRIGGER:
      return GetValue(false, value, size);
    case CU_COREDUMP_TRIGGER_HOST:
      return GetValue(triggers_host_, value, size);
    case CU_COREDUMP_LIGHTWEIGHT:
      return GetValue(is_lightweight_, value, size);
    case CU_COREDUMP_FILE:
      return GetText(file_, value, size);
    case CU_COREDUMP_PIPE:
      return GetText(pipe_, value, size);
    case CU_COREDUMP_GENERATION_FLAGS:
      return GetValue(generation_flags_, value, size);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

bool CoredumpSettings::IsOfContext(CUcoredumpSettings attribute) {
  return attribute != CU_COREDUMP_PIPE &&
         attribute != CU_COREDUMP_ENABLE_USER_TRIGGER;
}

}  // namespace holdfast::cuda
