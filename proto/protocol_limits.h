// SPDX-License-Identifier: Apache-2.0
//
// The limits of the protocol. Executors enforce them, and OpenSession sends
// them to clients (SessionLimits). If a daemon sends no limits, the client
// assumes these.
#ifndef HOLDFAST_PROTO_PROTOCOL_LIMITS_H_
#define HOLDFAST_PROTO_PROTOCOL_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace holdfast {

// The most commands in one batch.
inline constexpr int kMaxBatchCommands = 4096;
// The most bytes of one message.
inline constexpr int kMaxMessageBytes = 4 << 20;
// The most bytes of inline data in one command.
inline constexpr size_t kMaxInlineBytes = size_t{64} << 10;
// The most bytes of data in one message of Upload, Download, PutObject and
// GetObject.
inline constexpr size_t kMaxChunkBytes = size_t{1} << 20;
// The most bytes of a buffer's name.
inline constexpr size_t kMaxBufferNameBytes = 256;
// The most handles of one kind, unless the daemon's --max-handles is less.
inline constexpr uint32_t kMaxHandles = 1u << 18;
// The most nodes of a graph's definition, and the most dependencies between
// them, including child graphs and branches.
inline constexpr uint32_t kMaxGraphNodes = 1u << 16;
inline constexpr uint32_t kMaxGraphEdges = 1u << 18;
// The greatest depth of nested definitions; a graph without children has a
// depth of one. Protobuf parses at most a hundred nested messages, and each
// branch takes three.
inline constexpr uint32_t kMaxGraphDepth = 16;
// The most branches of one conditional node.
inline constexpr uint32_t kMaxGraphBranches = 256;

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_PROTOCOL_LIMITS_H_
