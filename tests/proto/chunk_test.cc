// SPDX-License-Identifier: Apache-2.0
//
// Reading and making messages without protobuf says what protobuf says,
// however gRPC has cut them.
#include "proto/chunk.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// `bytes` in slices of `slice_bytes`, each in memory of its own.
grpc::ByteBuffer Sliced(const std::string& bytes, size_t slice_bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    slices.emplace_back(bytes.substr(at, slice_bytes));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Flat(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()),
                     slice.size());
}

std::string Bytes(const ChunkData& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

std::string UploadOf(const std::string& data) {
  v1::UploadRequest request;
  request.set_data(data);
  return request.SerializeAsString();
}

TEST(ChunkTest, MessagesAreWhatProtobufWrites) {
  for (const size_t size : {0, 1, 127, 128, 16383, 16384, 1 << 20}) {
    const std::string data(size, 'd');
    EXPECT_EQ(Flat(MakeUploadData(grpc::Slice(data))), UploadOf(data));
    v1::DownloadResponse response;
    ASSERT_TRUE(
        response.ParseFromString(Flat(MakeDownloadData(grpc::Slice(data)))));
    EXPECT_TRUE(response.data() == data) << size;
  }
  v1::TransferRange range;
  range.set_size(5);
  v1::UploadRequest header;
  ASSERT_TRUE(header.ParseFromString(Flat(MakeUploadHeader(range))));
  EXPECT_EQ(header.header().size(), 5u);
}

TEST(ChunkTest, BytesAreReadHoweverTheyAreCut) {
  std::string data(70000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i >> 3);
  const std::string message = UploadOf(data);
  for (const size_t slice : {1, 2, 3, 5, 4096, 1 << 20}) {
    const auto part = ReadUploadRequest(Sliced(message, slice));
    ASSERT_TRUE(part.ok()) << part.status();
    ASSERT_TRUE(absl::holds_alternative<ChunkData>(*part));
    EXPECT_TRUE(Bytes(absl::get<ChunkData>(*part)) == data) << slice;
  }
}

TEST(ChunkTest, TheBytesStayWhereGrpcReceivedThem) {
  // gRPC copies a few bytes rather than refer to them.
  std::string memory = UploadOf(std::string(1000, 'a'));
  const grpc::Slice slice(memory.data(), memory.size(),
                          grpc::Slice::STATIC_SLICE);
  const auto part = ReadUploadRequest(grpc::ByteBuffer(&slice, 1));
  ASSERT_TRUE(part.ok());
  memory.back() = 'b';
  EXPECT_EQ(Bytes(absl::get<ChunkData>(*part)), std::string(999, 'a') + "b");
}

TEST(ChunkTest, BothKindsOfUploadMessage) {
  v1::TransferRange range;
  range.set_buffer(77);
  range.set_offset(3);
  const auto header = ReadUploadRequest(MakeUploadHeader(range));
  ASSERT_TRUE(header.ok());
  ASSERT_TRUE(absl::holds_alternative<v1::TransferRange>(*header));
  EXPECT_EQ(absl::get<v1::TransferRange>(*header).buffer(), 77u);
  for (const grpc::ByteBuffer& nothing :
       {grpc::ByteBuffer(), Sliced("\x18\x01", 9)}) {
    const auto part = ReadUploadRequest(nothing);
    ASSERT_TRUE(part.ok());
    EXPECT_TRUE(absl::holds_alternative<absl::monostate>(*part));
  }
}

TEST(ChunkTest, UnusualMessagesMeanWhatProtobufSays) {
  using std::string_literals::operator""s;
  const std::pair<std::string, std::string> messages[] = {
      {"\x12\x01"
       "a\x12\x01"
       "b"s,
       "b"},  // twice: the last
      {"\x12\x01"
       "a\x18\x07"s,
       "a"},  // an unknown field behind
      {"\x18\x07\x12\x01"
       "a"s,
       "a"},  // and before
      {"\x12\x81\x00"
       "a"s,
       "a"},  // a length in two bytes
      {"\x0a\x00\x12\x01"
       "a"s,
       "a"},  // a header that is replaced
      {"\x12\x00"s, ""},
  };
  for (const auto& [message, data] : messages) {
    for (const size_t slice : {1, 100}) {
      const auto part = ReadUploadRequest(Sliced(message, slice));
      ASSERT_TRUE(part.ok()) << part.status();
      ASSERT_TRUE(absl::holds_alternative<ChunkData>(*part));
      EXPECT_EQ(Bytes(absl::get<ChunkData>(*part)), data);
    }
  }
}

TEST(ChunkTest, WhatIsNoMessageIsRefused) {
  using std::string_literals::operator""s;
  for (const std::string& message :
       {"\x12"s, "\x12\x05"s,
        "\x12\x05"
        "four"s,
        "\x12\xff\xff\xff\xff\x0f"s,
        "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
        "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"
        "a"s,
        "\x07"s, "\x00"s, "\x0a\x01\x08"s}) {
    for (const size_t slice : {1, 100}) {
      const auto part = ReadUploadRequest(Sliced(message, slice));
      EXPECT_TRUE(absl::IsInvalidArgument(part.status())) << part.status();
    }
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      ReadDownloadResponse(Sliced("\x0a\x02x", 1)).status()));
}

}  // namespace
}  // namespace holdfast
