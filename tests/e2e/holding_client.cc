// SPDX-License-Identifier: Apache-2.0
//
// A client for tests: opens a session at the address of its first argument,
// makes a buffer, pinned memory and, if it can, an arena, prints the session's
// id, waits for the end of its stdin, checks that the buffer is as it was, and
// ends with 0. With "busy" as second argument it launches and copies meanwhile.
#include <poll.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

bool StdinEnded() {
  pollfd event = {.fd = 0, .events = POLLIN, .revents = 0};
  if (poll(&event, 1, /*timeout=*/0) <= 0) return false;
  return std::getchar() == EOF;
}

// Keeps rings, results and bytes on their way.
absl::Status Work(const Session& session, const Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session.device(0).Allocate(1 << 20, stream));
  std::vector<uint8_t> bytes(1 << 20);
  while (!StdinEnded()) {
    for (int i = 0; i < 100; ++i) {
      HOLDFAST_RETURN_IF_ERROR(buffer.Fill(static_cast<uint8_t>(i), stream));
    }
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(bytes, stream));
    if (bytes != std::vector<uint8_t>(1 << 20, 99)) {
      return absl::DataLossError("what came back is not what was filled in");
    }
  }
  return absl::OkStatus();
}

absl::Status Hold(const std::string& address, bool busy) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "holding"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session->device(0).Allocate(1 << 20, stream));
  HOLDFAST_RETURN_IF_ERROR(buffer.Fill(uint8_t{42}, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer pinned,
                            session->AllocateHost(1 << 20));
  // All memory is there when the id is printed.
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  const auto arena = session->CreateArena(1 << 20);
  if (!arena.ok() && !absl::IsFailedPrecondition(arena.status())) {
    return arena.status();
  }
  std::printf("%s\n", session->id().c_str());
  std::fflush(stdout);
  if (busy) HOLDFAST_RETURN_IF_ERROR(Work(*session, stream));
  while (!busy && std::getchar() != EOF) {
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
  const bool busy = argc > 2 && std::string(argv[2]) == "busy";
  const absl::Status status = holdfast::Hold(argc > 1 ? argv[1] : "", busy);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
