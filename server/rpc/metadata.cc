// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/metadata.h"

#include <string>

namespace holdfast {

std::optional<absl::string_view> FindMetadata(
    const grpc::ServerContextBase& context, const MetadataKey& key) {
  const auto found = context.client_metadata().find(key.name);
  if (found == context.client_metadata().end()) return std::nullopt;
  return absl::string_view(found->second.data(), found->second.size());
}

void ForwardMetadata(const grpc::ServerContextBase& from,
                     grpc::ClientContext* to) {
  for (const MetadataKey& key : kMetadataKeys) {
    if (key.passage != MetadataPassage::kForwarded) continue;
    const auto [first, last] = from.client_metadata().equal_range(key.name);
    for (auto value = first; value != last; ++value) {
      to->AddMetadata(key.name,
                      std::string(value->second.data(), value->second.size()));
    }
  }
}

}  // namespace holdfast
