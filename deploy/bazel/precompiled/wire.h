// The headers that files of client, server and deploy include most: core's,
// gRPC's and those of the messages. Not those of services: clang looks through
// each class with virtual functions at the end of every file, whether it is
// used or not, and theirs took it 75 ms.
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
