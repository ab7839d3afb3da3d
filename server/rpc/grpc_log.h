// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_GRPC_LOG_H_
#define HOLDFAST_SERVER_RPC_GRPC_LOG_H_

namespace holdfast {

// Sends gRPC's own messages to this process's log, in the log's format. gRPC's
// errors become warnings, since most are mistakes of clients, such as a failed
// handshake; its other messages become debug lines. All of them share the log
// limit of one client: 200 at once, then 5 each second. REQUIRES: gRPC was not
// used yet.
void WriteGrpcMessagesToLog();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_GRPC_LOG_H_
