// SPDX-License-Identifier: Apache-2.0
#include "proto/chunk.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

using Slices = std::vector<grpc::Slice>;

// A field's tag, one byte, and its length: more than any message has.
constexpr size_t kMaxPrefix = 6;

constexpr uint8_t TagOfBytes(int field) {
  return static_cast<uint8_t>(field << 3 | 2);
}

size_t TotalSize(const Slices& slices) {
  size_t size = 0;
  for (const grpc::Slice& slice : slices) size += slice.size();
  return size;
}

Slices WithoutFront(Slices slices, size_t count) {
  auto first = slices.begin();
  for (; first != slices.end() && first->size() <= count; ++first) {
    count -= first->size();
  }
  slices.erase(slices.begin(), first);
  if (count > 0) slices[0] = slices[0].sub(count, slices[0].size());
  return slices;
}

// How many bytes precede the contents of a message of `size` bytes that is
// one field of bytes and nothing else; nullopt: it is something else.
std::optional<size_t> PrefixSize(const Slices& slices, size_t size,
                                 uint8_t tag) {
  std::array<uint8_t, kMaxPrefix> front{};
  size_t known = 0;
  for (const grpc::Slice& slice : slices) {
    const size_t count = std::min(slice.size(), kMaxPrefix - known);
    std::copy_n(slice.begin(), count, front.begin() + known);
    known += count;
    if (known == kMaxPrefix) break;
  }
  if (known == 0 || front[0] != tag) return std::nullopt;
  uint64_t length = 0;
  for (size_t i = 1; i < known; ++i) {
    length |= uint64_t{front[i] & 0x7fu} << (7 * (i - 1));
    if (front[i] & 0x80) continue;
    return length == size - (i + 1) ? std::optional(i + 1) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<ChunkData> OnlyBytes(const Slices& slices, int field) {
  const auto prefix = PrefixSize(slices, TotalSize(slices), TagOfBytes(field));
  if (!prefix.has_value()) return std::nullopt;
  return ChunkData(WithoutFront(slices, *prefix));
}

// For all that is not as usual.
template <typename Message>
absl::StatusOr<Message> Parse(const Slices& slices) {
  std::string bytes;
  bytes.reserve(TotalSize(slices));
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  Message message;
  if (message.ParseFromString(bytes)) return message;
  return absl::InvalidArgumentError(
      absl::StrCat("a message of ", bytes.size(), " bytes that is no ",
                   std::string(Message::descriptor()->name())));
}

absl::StatusOr<Slices> SlicesOf(const grpc::ByteBuffer& message) {
  Slices slices;
  if (message.Valid() && !message.Dump(&slices).ok()) {
    return absl::InvalidArgumentError("a message that cannot be decompressed");
  }
  return slices;
}

ChunkData CopyOf(const std::string& bytes) {
  if (bytes.empty()) return ChunkData();
  return ChunkData({grpc::Slice(bytes)});
}

grpc::ByteBuffer BytesMessage(int field, grpc::Slice data) {
  std::array<uint8_t, kMaxPrefix> prefix{TagOfBytes(field)};
  size_t count = 1;
  uint32_t length = static_cast<uint32_t>(data.size());
  for (; length >= 0x80; length >>= 7) {
    prefix[count++] = static_cast<uint8_t>(length | 0x80);
  }
  prefix[count++] = static_cast<uint8_t>(length);
  const grpc::Slice slices[] = {grpc::Slice(prefix.data(), count),
                                std::move(data)};
  return grpc::ByteBuffer(slices, std::size(slices));
}

}  // namespace

ChunkData::ChunkData(std::vector<grpc::Slice> pieces)
    : pieces_(std::move(pieces)), size_(TotalSize(pieces_)) {}

void ChunkData::CopyTo(char* destination) const {
  for (const grpc::Slice& piece : pieces_) {
    if (piece.size() == 0) continue;
    std::memcpy(destination, piece.begin(), piece.size());
    destination += piece.size();
  }
}

absl::StatusOr<UploadPart> ReadUploadRequest(const grpc::ByteBuffer& message) {
  const absl::StatusOr<Slices> slices = SlicesOf(message);
  if (!slices.ok()) return slices.status();
  if (auto data = OnlyBytes(*slices, v1::UploadRequest::kDataFieldNumber)) {
    return UploadPart(*std::move(data));
  }
  auto request = Parse<v1::UploadRequest>(*slices);
  if (!request.ok()) return request.status();
  switch (request->part_case()) {
    case v1::UploadRequest::kHeader:
      return UploadPart(std::move(*request->mutable_header()));
    case v1::UploadRequest::kData:
      return UploadPart(CopyOf(request->data()));
    case v1::UploadRequest::PART_NOT_SET:
      break;
  }
  return UploadPart();
}

absl::StatusOr<ChunkData> ReadDownloadResponse(
    const grpc::ByteBuffer& message) {
  const absl::StatusOr<Slices> slices = SlicesOf(message);
  if (!slices.ok()) return slices.status();
  if (auto data = OnlyBytes(*slices, v1::DownloadResponse::kDataFieldNumber)) {
    return *std::move(data);
  }
  const auto response = Parse<v1::DownloadResponse>(*slices);
  if (!response.ok()) return response.status();
  return CopyOf(response->data());
}

absl::StatusOr<v1::TransferRange> ReadUploadHeader(
    const grpc::ByteBuffer& message) {
  auto part = ReadUploadRequest(message);
  if (!part.ok()) return part.status();
  auto* const range = absl::get_if<v1::TransferRange>(&*part);
  if (range != nullptr) return std::move(*range);
  return absl::InvalidArgumentError("an upload begins with its header");
}

absl::StatusOr<ChunkData> ReadUploadData(const grpc::ByteBuffer& message) {
  auto part = ReadUploadRequest(message);
  if (!part.ok()) return part.status();
  auto* const data = absl::get_if<ChunkData>(&*part);
  if (data == nullptr) {
    return absl::InvalidArgumentError("an upload with a second header");
  }
  if (data->size() <= kMaxChunkBytes) return std::move(*data);
  return absl::InvalidArgumentError(absl::StrCat(
      "a message of ", data->size(), " bytes: at most ", kMaxChunkBytes));
}

absl::StatusOr<v1::TransferRange> ReadDownloadRequest(
    const grpc::ByteBuffer& message) {
  const absl::StatusOr<Slices> slices = SlicesOf(message);
  if (!slices.ok()) return slices.status();
  auto request = Parse<v1::DownloadRequest>(*slices);
  if (!request.ok()) return request.status();
  return std::move(*request->mutable_range());
}

grpc::ByteBuffer MakeUploadHeader(const v1::TransferRange& range) {
  v1::UploadRequest request;
  *request.mutable_header() = range;
  const grpc::Slice slice(request.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer MakeUploadData(grpc::Slice data) {
  return BytesMessage(v1::UploadRequest::kDataFieldNumber, std::move(data));
}

grpc::ByteBuffer MakeDownloadData(grpc::Slice data) {
  return BytesMessage(v1::DownloadResponse::kDataFieldNumber, std::move(data));
}

}  // namespace holdfast
