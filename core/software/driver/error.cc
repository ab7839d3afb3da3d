// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/error.h"

namespace holdfast::software {

const char* FindErrorName(CUresult result) {
  switch (result) {
#define HOLDFAST_CURESULT(name, text) \
  case name:                          \
    return #name;
#include "core/software/driver/error.inc"
#undef HOLDFAST_CURESULT
  }
  return nullptr;
}

const char* FindErrorText(CUresult result) {
  switch (result) {
#define HOLDFAST_CURESULT(name, text) \
  case name:                          \
    return text;
#include "core/software/driver/error.inc"
#undef HOLDFAST_CURESULT
  }
  return nullptr;
}

const char* ErrorName(CUresult result) {
  const char* name = FindErrorName(result);
  return name == nullptr ? "CUDA_ERROR_UNKNOWN" : name;
}

}  // namespace holdfast::software
