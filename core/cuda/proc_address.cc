// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/proc_address.h"

#include <cstring>

namespace holdfast::cuda {
namespace {

// Null: there is none, for the reason in `*result`.
const EntryPoint* Find(std::span<const EntryPoint> table, const char* name,
                       int version, CUdriverProcAddressQueryResult* result) {
  const EntryPoint* found = nullptr;
  *result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const EntryPoint& entry : table) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (entry.version > version) {
      if (found == nullptr) {
        *result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      }
    } else if (found == nullptr || entry.version > found->version) {
      found = &entry;
      *result = CU_GET_PROC_ADDRESS_SUCCESS;
    }
  }
  return found;
}

}  // namespace

CUresult FindProcAddress(std::span<const EntryPoint> table, const char* name,
                         void** function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (name == nullptr || function == nullptr || version > CUDA_VERSION ||
      (flags & ~kFlags) != 0 || flags == kFlags) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUdriverProcAddressQueryResult result{};
  const EntryPoint* entry = Find(table, name, version, &result);
  if (status != nullptr) *status = result;
  const bool per_thread =
      (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = entry == nullptr ? nullptr
              : per_thread     ? entry->per_thread
                               : entry->function;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::cuda
