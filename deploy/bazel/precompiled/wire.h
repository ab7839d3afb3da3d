// The headers that files of client, server and deploy include most: core's,
// gRPC's and those of the messages.
#ifndef DEPLOY_BAZEL_PRECOMPILED_WIRE_H_
#define DEPLOY_BAZEL_PRECOMPILED_WIRE_H_

#include "deploy/bazel/precompiled/core.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/compile.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/graph_commands.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "holdfast/v1/transfers.pb.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_WIRE_H_
