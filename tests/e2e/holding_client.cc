// SPDX-License-Identifier: Apache-2.0
//
// A client for tests: opens a session at the address of its first argument,
// makes a buffer, pinned memory and, if it can, an arena, prints the session's
// id, waits for the end of its stdin, checks that the buffer is as it was, and
// ends with 0.
#include <cstdio>
#include <string>
#include <vector>

#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

absl::Status Hold(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "holding"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session->device(0).Allocate(1 << 20, stream));
  HOLDFAST_RETURN_IF_ERROR(buffer.Fill(uint8_t{42}, stream));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer pinned,
                            session->AllocateHost(1 << 20));
  const auto arena = session->CreateArena(1 << 20);
  if (!arena.ok() && !absl::IsFailedPrecondition(arena.status())) {
    return arena.status();
  }
  std::printf("%s\n", session->id().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  std::vector<uint8_t> bytes(1 << 20);
  HOLDFAST_RETURN_IF_ERROR(buffer.Download(bytes, stream));
  return bytes == std::vector<uint8_t>(1 << 20, 42)
             ? absl::OkStatus()
             : absl::DataLossError("the buffer changed");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  const absl::Status status = holdfast::Hold(argc > 1 ? argv[1] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
