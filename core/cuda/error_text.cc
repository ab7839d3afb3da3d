// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/error_text.h"

namespace holdfast::cuda {

const char* FindErrorName(CUresult result) {
  switch (result) {
#define HOLDFAST_CURESULT(name, text) \
  case name:                          \
    return #name;
#include "core/cuda/error_text.inc"
#undef HOLDFAST_CURESULT
  }
  return nullptr;
}

const char* FindErrorText(CUresult result) {
  switch (result) {
#define HOLDFAST_CURESULT(name, text) \
  case name:                          \
    return text;
#include "core/cuda/error_text.inc"
#undef HOLDFAST_CURESULT
  }
  return nullptr;
}

const char* ErrorName(CUresult result) {
  const char* name = FindErrorName(result);
  return name == nullptr ? "CUDA_ERROR_UNKNOWN" : name;
}

}  // namespace holdfast::cuda
