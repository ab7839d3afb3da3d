// SPDX-License-Identifier: Apache-2.0
//
// The messages of transfers.proto that carry bytes, without protobuf: read from
// the slices that gRPC received, and made of slices that it sends as they are,
// so that no byte is copied on the way. On the wire they are what protobuf
// would write, and whatever protobuf would read is read.
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

// Bytes in the pieces in which they came; shares the memory of the message.
class ChunkData {
 public:
  ChunkData() = default;
  explicit ChunkData(std::vector<grpc::Slice> pieces);

  // Bytes.
  size_t size() const { return size_; }
  void CopyTo(char* destination) const;

 private:
  std::vector<grpc::Slice> pieces_;
  size_t size_ = 0;
};

// A message without a part that is known has neither.
using UploadPart = absl::variant<absl::monostate, v1::TransferRange, ChunkData>;

// v1::UploadRequest and v1::DownloadResponse, from a peer that may have sent
// anything. INVALID_ARGUMENT: it is no such message.
absl::StatusOr<UploadPart> ReadUploadRequest(const grpc::ByteBuffer& message);
absl::StatusOr<ChunkData> ReadDownloadResponse(const grpc::ByteBuffer& message);

// The messages of a transfer where they are due: the first, and those that come
// after an upload's. INVALID_ARGUMENT: it is another, or more bytes than a
// message may have.
absl::StatusOr<v1::TransferRange> ReadUploadHeader(
    const grpc::ByteBuffer& message);
absl::StatusOr<ChunkData> ReadUploadData(const grpc::ByteBuffer& message);
absl::StatusOr<v1::TransferRange> ReadDownloadRequest(
    const grpc::ByteBuffer& message);

// The same messages. `data` is what gRPC sends; its memory must not change
// until gRPC has dropped the slice, which may be after the call's end.
grpc::ByteBuffer MakeUploadHeader(const v1::TransferRange& range);
grpc::ByteBuffer MakeUploadData(grpc::Slice data);
grpc::ByteBuffer MakeDownloadData(grpc::Slice data);

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_CHUNK_H_
