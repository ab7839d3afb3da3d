// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/refusal.h"

#include <utility>

#include "core/cuda/refused_code.h"
#include "core/software/driver/fault.h"

namespace holdfast::software {
namespace {

thread_local std::string last_refusal;

}  // namespace

CUresult Refuse(CUresult result, std::string reason) {
  last_refusal = std::move(reason);
  return result;
}

CUresult RefuseCode(CUresult result, std::string reason) {
  if (!AreFaultsLeftToProgram()) cuda::SayCodeIsRefused(result, reason);
  return Refuse(result, std::move(reason));
}

void ForgetRefusal() { last_refusal.clear(); }

const char* LastRefusal() {
  return last_refusal.empty() ? nullptr : last_refusal.c_str();
}

}  // namespace holdfast::software
