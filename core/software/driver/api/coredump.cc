// SPDX-License-Identifier: Apache-2.0
//
// Entry points: the attributes of core dumps.
#include "core/software/driver/call.h"

using namespace holdfast::software;

#include "core/cuda/coredump_calls.inc"
