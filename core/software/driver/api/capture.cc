// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that are captured into graphs.
#include "core/software/driver/graph/capture.h"

#include "core/software/driver/api/graph_call.h"

using namespace holdfast::software;

#include "core/cuda/capture_calls.inc"
