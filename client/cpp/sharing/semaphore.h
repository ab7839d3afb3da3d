// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SHARING_SEMAPHORE_H_
#define HOLDFAST_CLIENT_CPP_SHARING_SEMAPHORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/resource.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/stream.h"

namespace holdfast {

// A counter of 64 bits in device memory, which streams of several sessions
// signal and wait for; nothing passes through the host. Made by
// Device::CreateSemaphore and Device::ImportSemaphore.
//
//   producer:  kernel(stream); semaphore.Signal(1, stream);
//   consumer:  semaphore.Wait(1, stream); kernel(stream);
//
// The consumer's stream sees, behind the wait, all that the producer's did
// before the signal. Values only rise. A wait that nobody ends holds up its
// stream until its session ends; `holdfast sessions --usage` names it.
class Semaphore : public Resource {
 public:
  static absl::StatusOr<Semaphore> Create(std::shared_ptr<SessionState> session,
                                          uint32_t device,
                                          uint64_t initial_value);
  // Waits.
  static absl::StatusOr<Semaphore> Import(std::shared_ptr<SessionState> session,
                                          uint32_t device,
                                          absl::string_view token);

  // Sets the value when the stream has come to it.
  absl::Status Signal(uint64_t value, const Stream& stream) const;
  // `stream` by its name in the session, of which the command alone is
  // submitted: nothing of a StreamOrder.
  absl::Status Signal(uint64_t value, uint64_t stream) const;
  absl::Status Wait(uint64_t value, uint64_t stream) const;
  // Now, whatever streams do.
  absl::Status Signal(uint64_t value) const;

  // Holds the stream until the value is at least this one.
  absl::Status Wait(uint64_t value, const Stream& stream) const;

  // The value at this moment. Waits for it, not for streams.
  absl::StatusOr<uint64_t> Value() const;

  // A token for other sessions; see ExportResource. With Rights::kRead an
  // importer may wait and read, with kReadWrite it may signal, too.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }
  // For a process of the daemon's machine that has a CUDA context of its own:
  // LocalMapping maps the 64 bits, which cuStreamWaitValue64 and, with
  // Rights::kReadWrite, cuStreamWriteValue64 of that process take.
  absl::StatusOr<LocalExport> ExportLocally(
      const ExportOptions& options = {}) const {
    return holdfast::ExportLocally(*this, options);
  }

 private:
  explicit Semaphore(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SHARING_SEMAPHORE_H_
