// SPDX-License-Identifier: Apache-2.0
//
// No header of CUDA is included here: these functions have parameters that
// their answer does not depend on, and are defined without.
#include "core/software/driver/not_served.h"

#include "core/software/driver/refused_call.h"

extern "C" {

#define HOLDFAST_ENTRY(symbol, name, version)
#define HOLDFAST_STREAM_ENTRY(symbol, name, version)
#define HOLDFAST_UNSUPPORTED(symbol, version) \
  int symbol() { return holdfast::software::RefuseCall(#symbol); }
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol) HOLDFAST_UNSUPPORTED(symbol, 0)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL

}  // extern "C"

namespace holdfast::software {

const std::vector<NotServed>& FunctionsNotServed() {
  static const auto& functions = *new std::vector<NotServed>{
#define HOLDFAST_UNSUPPORTED(symbol, version) \
  {#symbol, version, reinterpret_cast<void*>(&symbol)},
#define HOLDFAST_UNSUPPORTED_SYMBOL(symbol)
#include "core/cuda/entry_points.inc"
#undef HOLDFAST_ENTRY
#undef HOLDFAST_STREAM_ENTRY
#undef HOLDFAST_UNSUPPORTED
#undef HOLDFAST_UNSUPPORTED_SYMBOL
  };
  return functions;
}

}  // namespace holdfast::software
