// SPDX-License-Identifier: Apache-2.0
//
// The headers that files of the executor include most: those of wire.h, and the
// executor's own.
#ifndef DEPLOY_BAZEL_PRECOMPILED_EXECUTOR_H_
#define DEPLOY_BAZEL_PRECOMPILED_EXECUTOR_H_

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/graph_node.h"
#include "core/cuda/launch.h"
#include "deploy/bazel/precompiled/wire.h"
#include "server/executor/command/command.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/command/encoded_commands.h"
#include "server/executor/command/operand_scope.h"
#include "server/executor/journal/session_journal.h"
#include "server/executor/journal/update_sets.h"
#include "server/executor/resources/hold_set.h"
#include "server/executor/resources/resources.h"
#include "server/executor/submission/result_queue.h"
#include "server/rpc/status_conversion.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_EXECUTOR_H_
