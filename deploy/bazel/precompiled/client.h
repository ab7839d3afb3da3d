// SPDX-License-Identifier: Apache-2.0
//
// The headers that files of the C++ client include most: those of
// grpc.h, messages, and its own.
#ifndef DEPLOY_BAZEL_PRECOMPILED_CLIENT_H_
#define DEPLOY_BAZEL_PRECOMPILED_CLIENT_H_

#include "client/cpp/buffer.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/connection/transfer_channels.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/kernel.h"
#include "client/cpp/launch.h"
#include "client/cpp/module.h"
#include "client/cpp/session.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/stream.h"
#include "client/cpp/submission/command_queue.h"
#include "client/cpp/submission/execute_stream.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/status_macros.h"
#include "deploy/bazel/precompiled/grpc.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/sessions.pb.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_CLIENT_H_
