// SPDX-License-Identifier: Apache-2.0
//
// A weak form of every function of the runtime, for the functions that no file
// of api/ and stream_api/ has. No header of CUDA is included here: these
// functions have parameters that their answer does not depend on, and are
// defined without.
#include "client/cudart/not_served.h"

#define HOLDFAST_RUNTIME_FUNCTION(name) \
  __attribute__((weak)) int name() { return holdfast::libcudart::Refuse(); }

extern "C" {
#include "client/cudart/functions.inc"
}  // extern "C"
