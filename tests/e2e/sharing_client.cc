// SPDX-License-Identifier: Apache-2.0
//
// A client for tests that shares a buffer with another one:
//
//   sharing_client ADDRESS          makes a buffer and prints its token
//   sharing_client ADDRESS TOKEN    imports it, checks it and prints "same"
//
// Either then waits for the end of its stdin, checks the buffer again, and ends
// with 0.
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr size_t kCount = 1 << 18;

std::vector<uint32_t> Numbers() {
  std::vector<uint32_t> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 1u);
  return numbers;
}

absl::Status Check(const Buffer& buffer, const Stream& stream) {
  std::vector<uint32_t> bytes(kCount);
  HOLDFAST_RETURN_IF_ERROR(buffer.Download(bytes, stream));
  return bytes == Numbers() ? absl::OkStatus()
                            : absl::DataLossError("the buffer changed");
}

absl::StatusOr<Buffer> Make(const Device& device, const Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                            device.AllocateShared(kCount * sizeof(uint32_t)));
  HOLDFAST_RETURN_IF_ERROR(buffer.Upload(Numbers(), stream));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, buffer.Export());
  std::printf("%s\n", absl::BytesToHexString(token).c_str());
  return buffer;
}

absl::StatusOr<Buffer> Import(const Device& device, const Stream& stream,
                              const std::string& token) {
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                            device.Import(absl::HexStringToBytes(token)));
  HOLDFAST_RETURN_IF_ERROR(Check(buffer, stream));
  std::puts("same");
  return buffer;
}

absl::Status Share(const std::string& address, const std::string& token) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "sharing"}));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const Buffer buffer,
      token.empty() ? Make(device, stream) : Import(device, stream, token));
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return Check(buffer, stream);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  const absl::Status status =
      holdfast::Share(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
