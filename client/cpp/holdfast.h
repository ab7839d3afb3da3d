// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_HOLDFAST_H_
#define HOLDFAST_CLIENT_CPP_HOLDFAST_H_

// Includes all of Holdfast's C++ library. A program compiles faster if it
// includes only the headers of the classes that it uses. README.md has an
// overview.
//
//   auto session = holdfast::Session::Open({.address = "embedded:"});

// Sessions and their resources.
#include "client/cpp/argument.h"
#include "client/cpp/box_copy.h"
#include "client/cpp/buffer.h"
#include "client/cpp/device.h"
#include "client/cpp/event.h"
#include "client/cpp/fault.h"
#include "client/cpp/fence.h"
#include "client/cpp/kernel.h"
#include "client/cpp/launch.h"
#include "client/cpp/module.h"
#include "client/cpp/occupancy.h"
#include "client/cpp/place.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/session.h"
#include "client/cpp/stream.h"
#include "client/cpp/transfer/arena.h"
#include "client/cpp/value_batch.h"

// Compiling and linking.
#include "client/cpp/compile/linker.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/connection/daemon.h"

// Graphs.
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/graph/graph_file.h"
#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/nested_nodes.h"
#include "client/cpp/graph/node_params.h"
#include "client/cpp/graph/rebind.h"
#include "client/cpp/graph/stream_capture.h"

// Memory, events and semaphores of several sessions and processes.
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_watch.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/local/local_mapping.h"
#include "client/cpp/local/local_memory.h"
#include "client/cpp/sharing/export.h"

// GetErrorDetail: which call of the driver failed, and the compiler's log.
#include "core/base/error_detail.h"

// HOLDFAST_ASSIGN_OR_RETURN and HOLDFAST_RETURN_IF_ERROR.
#include "core/base/status_macros.h"

// For operators.
#include "client/cpp/admin/admin.h"
#include "client/cpp/tenants/tenants.h"

#endif  // HOLDFAST_CLIENT_CPP_HOLDFAST_H_
