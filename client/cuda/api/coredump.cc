// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the attributes of core dumps.
#include "client/cuda/api/call.h"

using namespace holdfast::libcuda;

#include "core/cuda/coredump_calls.inc"
