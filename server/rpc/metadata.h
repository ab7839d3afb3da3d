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

// Returns the first value that a call has for the key, nullopt without one. It
// is as long as the client likes: a reader refuses more than key.max_bytes.
std::optional<absl::string_view> FindMetadata(
    const grpc::ServerContextBase& context, const MetadataKey& key);

// Copies from a client's call to the executor's every key that the table says
// is forwarded, and no other.
void ForwardMetadata(const grpc::ServerContextBase& from,
                     grpc::ClientContext* to);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_METADATA_H_
