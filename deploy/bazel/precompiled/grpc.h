// SPDX-License-Identifier: Apache-2.0
//
// The headers of protobuf and gRPC that generated code and files of client and
// server include most. Holdfast's messages are left out: at the end of every
// file, clang examines each class with virtual functions, used or not, and
// these messages take 0.25 s.
#ifndef DEPLOY_BAZEL_PRECOMPILED_GRPC_H_
#define DEPLOY_BAZEL_PRECOMPILED_GRPC_H_

#include "deploy/bazel/precompiled/core.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/arenastring.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/extension_set.h"
#include "google/protobuf/generated_enum_reflection.h"
#include "google/protobuf/generated_message_bases.h"
#include "google/protobuf/generated_message_reflection.h"
#include "google/protobuf/generated_message_util.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/map.h"
#include "google/protobuf/map_entry.h"
#include "google/protobuf/map_field_inl.h"
#include "google/protobuf/message.h"
#include "google/protobuf/metadata_lite.h"
#include "google/protobuf/reflection_ops.h"
#include "google/protobuf/repeated_field.h"
#include "google/protobuf/timestamp.pb.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/wire_format.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/client_unary_call.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/async_unary_call.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/method_handler.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/sync_stream.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_GRPC_H_
