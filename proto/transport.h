// SPDX-License-Identifier: Apache-2.0
//
// How gRPC's connections are set up at both ends, for many bytes at a time: the
// receiver of either direction says how much may be on its way.
#ifndef HOLDFAST_PROTO_TRANSPORT_H_
#define HOLDFAST_PROTO_TRANSPORT_H_

#include <grpc/impl/codegen/grpc_types.h>

namespace holdfast {

struct TransportArgument {
  const char* name;
  int value;
};

inline constexpr TransportArgument kTransportArguments[] = {
    // A message of a transfer in a few frames; a stream that shares the
    // connection waits no longer than for one of them.
    {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 256 << 10},
    // Bytes that are read of one stream before its reader asks for more. With
    // what waits for the reader (server/rpc/served_stream.h), they are the most
    // that one which stands still may cost.
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 2 << 20},
};

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_TRANSPORT_H_
