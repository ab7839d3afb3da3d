// SPDX-License-Identifier: Apache-2.0
//
// grpc.h and the messages. The services are left out: clang processes their
// code at the end of every file that includes them, and few files use them.
#ifndef DEPLOY_BAZEL_PRECOMPILED_WIRE_H_
#define DEPLOY_BAZEL_PRECOMPILED_WIRE_H_

#include "deploy/bazel/precompiled/grpc.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/compile.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "holdfast/v1/transfers.pb.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_WIRE_H_
