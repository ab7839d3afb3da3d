// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_GRPC_LOG_H_
#define HOLDFAST_SERVER_RPC_GRPC_LOG_H_

namespace holdfast {

// Has gRPC write its own messages to this process's log, in the log's format.
// What gRPC calls an error is a warning here, since most are mistakes of
// clients, such as a failed handshake; all messages together are limited as
// those of one client are. Call before gRPC is used.
void WriteGrpcMessagesToLog();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_GRPC_LOG_H_
