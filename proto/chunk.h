// SPDX-License-Identifier: Apache-2.0
//
// Reads and makes the messages of transfers.proto that carry bytes, without
// protobuf: directly from the slices that gRPC has received, and from slices
// that gRPC sends, so that no byte is copied. The format is protobuf's: every
// message that protobuf can read is accepted.
#ifndef HOLDFAST_PROTO_CHUNK_H_
#define HOLDFAST_PROTO_CHUNK_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/variant.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {

// The bytes of one message, in the pieces in which gRPC received them. Shares
// the memory of the message.
class ChunkData {
 public:
  ChunkData() = default;
  explicit ChunkData(std::vector<grpc::Slice> pieces);

  // The number of bytes.
  size_t size() const { return size_; }
  // Copies all bytes to `destination`. REQUIRES: there is room for them.
  void CopyTo(char* destination) const;

 private:
  std::vector<grpc::Slice> pieces_;
  size_t size_ = 0;
};

// monostate: the message has neither a range nor data.
using UploadPart = absl::variant<absl::monostate, v1::TransferRange, ChunkData>;

// Read v1::UploadRequest and v1::DownloadResponse. The bytes may come from any
// peer. INVALID_ARGUMENT: they are not a message of this type.
absl::StatusOr<UploadPart> ReadUploadRequest(const grpc::ByteBuffer& message);
absl::StatusOr<ChunkData> ReadDownloadResponse(const grpc::ByteBuffer& message);

// Read the messages of a transfer in their order: the header is the first one,
// and data follow an upload's header. INVALID_ARGUMENT: the message is of
// another kind, or has more bytes than the limit of a message.
absl::StatusOr<v1::TransferRange> ReadUploadHeader(
    const grpc::ByteBuffer& message);
absl::StatusOr<ChunkData> ReadUploadData(const grpc::ByteBuffer& message);
absl::StatusOr<v1::TransferRange> ReadDownloadRequest(
    const grpc::ByteBuffer& message);

// Make the messages of a transfer. gRPC sends the memory of `data` itself, so
// that memory must not change until gRPC has dropped the slice, which may be
// after the call's end.
grpc::ByteBuffer MakeUploadHeader(const v1::TransferRange& range);
grpc::ByteBuffer MakeUploadData(grpc::Slice data);
grpc::ByteBuffer MakeDownloadData(grpc::Slice data);

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_CHUNK_H_
