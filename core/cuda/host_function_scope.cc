// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/host_function_scope.h"

namespace holdfast::cuda {
namespace {

thread_local bool in_host_function = false;

}  // namespace

HostFunctionScope::HostFunctionScope() : before_(in_host_function) {
  in_host_function = true;
}
HostFunctionScope::~HostFunctionScope() { in_host_function = before_; }
bool HostFunctionScope::Active() { return in_host_function; }

}  // namespace holdfast::cuda
