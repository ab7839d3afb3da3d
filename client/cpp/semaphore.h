// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SEMAPHORE_H_
#define HOLDFAST_CLIENT_CPP_SEMAPHORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/sharing/export.h"
#include "client/cpp/state/resource.h"
#include "client/cpp/stream.h"

namespace holdfast {

// A 64-bit counter in device memory, which streams of several sessions signal
// and wait for without the host. Made by Device::CreateSemaphore and
// Device::ImportSemaphore.
//
//   // The producer:
//   HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, produce, x));
//   HOLDFAST_RETURN_IF_ERROR(semaphore.Signal(1, stream));
//   // The consumer:
//   HOLDFAST_RETURN_IF_ERROR(semaphore.Wait(1, stream));
//   HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, consume, x));
//
// After the wait, the consumer's stream sees all that the producer's stream did
// before the signal. Each signal must have a greater value than the one before.
// This is not checked: a smaller value is written without an error, and later
// waits for values above it block again. A wait without a signal blocks its
// stream until the stream's session ends; `holdfast sessions --usage` names the
// wait.
class Semaphore : public Resource {
 public:
  // Makes a semaphore with this value. Does not wait.
  static absl::StatusOr<Semaphore> Create(std::shared_ptr<SessionState> session,
                                          uint32_t device,
                                          uint64_t initial_value);
  // Imports a semaphore that another session has exported. Waits.
  static absl::StatusOr<Semaphore> Import(std::shared_ptr<SessionState> session,
                                          uint32_t device,
                                          absl::string_view token);

  // Sets the value when the stream reaches the command.
  absl::Status Signal(uint64_t value, const Stream& stream) const;
  // Submit the command without the stream's StreamOrder (stream_order.h).
  // `stream` is a stream's handle in the session.
  absl::Status Signal(uint64_t value, uint64_t stream) const;
  absl::Status Wait(uint64_t value, uint64_t stream) const;
  // Sets the value now, without any stream.
  absl::Status Signal(uint64_t value) const;

  // Blocks the stream until the value is at least `value`.
  absl::Status Wait(uint64_t value, const Stream& stream) const;

  // Returns the present value. Waits for the daemon, not for streams.
  absl::StatusOr<uint64_t> Value() const;

  // Returns a token for other sessions; see ExportResource. Importers may wait
  // and read with Rights::kRead, and also signal with kReadWrite.
  absl::StatusOr<std::string> Export(const ExportOptions& options = {}) const {
    return ExportResource(*this, options);
  }
  // Exports the semaphore to a process on the daemon's machine with its own
  // CUDA context: LocalMapping maps the 64 bits, for cuStreamWaitValue64 and,
  // with Rights::kReadWrite, for cuStreamWriteValue64.
  absl::StatusOr<LocalExport> ExportLocally(
      const ExportOptions& options = {}) const {
    return holdfast::ExportLocally(*this, options);
  }

 private:
  explicit Semaphore(Resource resource) : Resource(std::move(resource)) {}
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SEMAPHORE_H_
