// SPDX-License-Identifier: Apache-2.0
//
// A weak form of every function of the driver, for the functions that no file
// of api/ has. No header of CUDA is included here: these functions have
// parameters that their answer does not depend on, and are defined without.
#include "client/cuda/not_served.h"

#define HOLDFAST_WEAK(symbol)                  \
  __attribute__((weak)) int symbol() {         \
    return holdfast::libcuda::Refuse(#symbol); \
  }
#define HOLDFAST_ENTRY(symbol, name, version) HOLDFAST_WEAK(symbol)
#define HOLDFAST_STREAM_ENTRY(symbol, name, version) HOLDFAST_WEAK(symbol)
#define HOLDFAST_UNSUPPORTED(symbol, version) HOLDFAST_WEAK(symbol)
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol) HOLDFAST_WEAK(symbol)

extern "C" {
#include "core/cuda/entry_points.inc"
}  // extern "C"
