// The headers that files of client, server and deploy include most: core's,
// gRPC's and those of the messages. Not those of services: each class with
// virtual functions takes every file a third of a millisecond, whether it is
// used or not.
#ifndef DEPLOY_BAZEL_PRECOMPILED_WIRE_H_
#define DEPLOY_BAZEL_PRECOMPILED_WIRE_H_

#include "deploy/bazel/precompiled/core.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "grpcpp/grpcpp.h"
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
