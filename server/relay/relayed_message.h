// SPDX-License-Identifier: Apache-2.0
//
// A message of a transfer between the daemon and an executor: as the client
// knows it, or, in place of one with many bytes, the block where they are.
#ifndef HOLDFAST_SERVER_RELAY_RELAYED_MESSAGE_H_
#define HOLDFAST_SERVER_RELAY_RELAYED_MESSAGE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/variant.h"
#include "server/relay/shared_blocks.h"

namespace holdfast {

// Shares the memory of the message.
grpc::ByteBuffer RelayWhole(const grpc::ByteBuffer& message);

grpc::ByteBuffer RelayBlock(const SharedBlocks::Block& block);

// The client's message; or its bytes, in a block that is given back when the
// slice is dropped.
using Relayed = absl::variant<grpc::ByteBuffer, grpc::Slice>;

// INVALID_ARGUMENT: neither, or of a block that the other end has not taken.
absl::StatusOr<Relayed> ReadRelayed(const std::shared_ptr<SharedBlocks>& blocks,
                                    const grpc::ByteBuffer& message);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_RELAYED_MESSAGE_H_
