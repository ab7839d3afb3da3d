// SPDX-License-Identifier: Apache-2.0
//
// The headers that files of the software driver include most: those of
// core.h, and its own.
#ifndef DEPLOY_BAZEL_PRECOMPILED_SOFTWARE_H_
#define DEPLOY_BAZEL_PRECOMPILED_SOFTWARE_H_

#include "core/software/analysis/control_flow.h"
#include "core/software/analysis/lane_shape.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/call.h"
#include "core/software/driver/driver.h"
#include "core/software/driver/graph/capture.h"
#include "core/software/driver/graph/graph.h"
#include "core/software/driver/kernel_launch.h"
#include "core/software/lower/kernel.h"
#include "core/software/ptx/ast.h"
#include "core/software/runtime/executable.h"
#include "deploy/bazel/precompiled/core.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_SOFTWARE_H_
