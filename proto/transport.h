// SPDX-License-Identifier: Apache-2.0
//
// The options of gRPC's connections at both ends, for large transfers: the
// receiver of each direction determines how many bytes may be in transit.
#ifndef HOLDFAST_PROTO_TRANSPORT_H_
#define HOLDFAST_PROTO_TRANSPORT_H_

#include <grpc/impl/codegen/grpc_types.h>

namespace holdfast {

struct TransportArgument {
  const char* name;
  int value;
};

inline constexpr TransportArgument kTransportArguments[] = {
    // A message of a transfer needs only a few frames, and another stream of
    // the connection waits for at most one frame.
    {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 256 << 10},
    // The number of bytes of one stream that are received before its reader
    // requests more. Together with the messages that wait for the reader
    // (server/rpc/served_stream.h), they are the most memory that a stalled
    // stream takes.
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 2 << 20},
};

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_TRANSPORT_H_
