// SPDX-License-Identifier: Apache-2.0
//
// Weak definitions of all functions of the runtime, for those that api/ and
// stream_api/ do not define. They are defined without parameters, so this file
// includes no header of CUDA.
#include "client/cudart/not_served.h"

#define HOLDFAST_RUNTIME_FUNCTION(name) \
  __attribute__((weak)) int name() { return holdfast::libcudart::Refuse(); }

extern "C" {
#include "client/cudart/functions.inc"
}  // extern "C"
