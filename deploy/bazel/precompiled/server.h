// SPDX-License-Identifier: Apache-2.0
//
// The headers that files of the daemon include most: those of wire.h, and the
// daemon's own.
#ifndef DEPLOY_BAZEL_PRECOMPILED_SERVER_H_
#define DEPLOY_BAZEL_PRECOMPILED_SERVER_H_

#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "deploy/bazel/precompiled/wire.h"
#include "server/channel/channel.h"
#include "server/collections/collection_table.h"
#include "server/compile/compile_caller.h"
#include "server/compile/compiler_pool.h"
#include "server/holdings/session_memory.h"
#include "server/journal/journal_reader.h"
#include "server/kept/kept_state.h"
#include "server/process/child_process.h"
#include "server/rpc/status_conversion.h"
#include "server/supervisor/session.h"
#include "server/supervisor/session_registry.h"
#include "server/telemetry/metric.h"
#include "server/tenants/caller.h"
#include "server/tenants/policy.h"
#include "server/tenants/tenant_table.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_SERVER_H_
