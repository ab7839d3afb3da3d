// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's entry point for proto/chunk: any bytes, cut in any way, are read
// as protobuf reads them or refused where protobuf refuses them. The first
// byte says how they are cut.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "proto/chunk.h"

namespace holdfast {
namespace {

// Slices of different sizes, each in memory of its own, so that a sanitizer
// sees each byte too far.
grpc::ByteBuffer Cut(const std::string& bytes, uint8_t how) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size();) {
    const size_t size = 1 + how % 7 * (slices.size() % 3) * 5;
    slices.emplace_back(bytes.substr(at, size));
    if (how % 5 == 0) slices.emplace_back(std::string());
    at += size;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string Bytes(const ChunkData& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

void Require(bool agreed, const char* what) {
  if (agreed) return;
  std::fprintf(stderr, "not as protobuf: %s\n", what);
  std::abort();
}

void CheckUpload(const std::string& bytes, uint8_t how) {
  const auto part = ReadUploadRequest(Cut(bytes, how));
  v1::UploadRequest request;
  Require(request.ParseFromString(bytes) == part.ok(), "whether it is one");
  if (!part.ok()) return;
  const auto* header = absl::get_if<v1::TransferRange>(&*part);
  const auto* data = absl::get_if<ChunkData>(&*part);
  Require(request.has_header() == (header != nullptr), "the header");
  Require(
      (request.part_case() == v1::UploadRequest::kData) == (data != nullptr),
      "the data");
  if (header != nullptr) {
    Require(header->SerializeAsString() == request.header().SerializeAsString(),
            "the header's fields");
  }
  if (data != nullptr) Require(Bytes(*data) == request.data(), "the bytes");
}

void CheckDownload(const std::string& bytes, uint8_t how) {
  const auto data = ReadDownloadResponse(Cut(bytes, how));
  v1::DownloadResponse response;
  Require(response.ParseFromString(bytes) == data.ok(), "whether it is one");
  if (data.ok()) Require(Bytes(*data) == response.data(), "the bytes");
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  holdfast::CheckUpload(bytes, data[0]);
  holdfast::CheckDownload(bytes, data[0]);
  return 0;
}
