// SPDX-License-Identifier: Apache-2.0
//
// Reads and forwards the metadata of calls, by the table of proto/metadata.h.
#ifndef HOLDFAST_SERVER_RPC_METADATA_H_
#define HOLDFAST_SERVER_RPC_METADATA_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <optional>

#include "absl/strings/string_view.h"
#include "proto/metadata.h"

namespace holdfast {

// Returns the call's first value of the key; nullopt if the call has no value.
// The view is valid as long as the context. The client chooses the length, so
// the caller must refuse values longer than key.max_bytes.
std::optional<absl::string_view> FindMetadata(
    const grpc::ServerContextBase& context, const MetadataKey& key);

// Copies the keys that the table marks as forwarded, and no others, from a
// client's call to the call to the executor.
void ForwardMetadata(const grpc::ServerContextBase& from,
                     grpc::ClientContext* to);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_METADATA_H_
