// SPDX-License-Identifier: Apache-2.0
//
// One counter orders the two streams. Each crossing takes the next value: the
// stream that is ahead writes it, the other waits until the counter has it.
//
//   CUstream          session's stream
//   write 1
//                     wait 1, a command, write 2
//   wait 2
//
// A lock makes both streams get their halves of the crossings in one order, so
// the values in each stream only rise.
#include "client/cpp/local/paired_stream.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/local/local_context.h"
#include "client/cpp/local/local_driver.h"
#include "client/cpp/semaphore.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

class LocalStreamOrder : public StreamOrder {
 public:
  LocalStreamOrder(const LocalDriver& driver, LocalContext context,
                   Semaphore semaphore, std::unique_ptr<LocalMapping> counter,
                   uint64_t session_stream)
      : driver_(driver),
        context_(std::move(context)),
        semaphore_(std::move(semaphore)),
        counter_(std::move(counter)),
        session_stream_(session_stream) {}

  ~LocalStreamOrder() override {
    Abandon();
    const ScopedLocalContext current(driver_, context_);
    // The counter is unmapped next, so no operation on it may be left. The
    // CUstream itself may be gone by now, if it is another library's.
    if (last_crossing_ != nullptr) driver_.cuEventSynchronize(last_crossing_);
    if (rescue_ != nullptr) driver_.cuStreamSynchronize(rescue_);
    if (owned_) driver_.cuStreamDestroy(stream_);
    if (rescue_ != nullptr) driver_.cuStreamDestroy(rescue_);
    if (last_crossing_ != nullptr) driver_.cuEventDestroy(last_crossing_);
  }

  // Takes the CUstream, or makes one. Called once, before all else.
  absl::Status Init(std::optional<uint64_t> handle) {
    const ScopedLocalContext current(driver_, context_);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    HOLDFAST_RETURN_IF_ERROR(
        driver_.Check(driver_.cuStreamCreate(&rescue_, CU_STREAM_NON_BLOCKING),
                      "cuStreamCreate"));
    HOLDFAST_RETURN_IF_ERROR(driver_.Check(
        driver_.cuEventCreate(&last_crossing_, CU_EVENT_DISABLE_TIMING),
        "cuEventCreate"));
    if (handle.has_value()) {
      stream_ = reinterpret_cast<CUstream>(static_cast<uintptr_t>(*handle));
      return absl::OkStatus();
    }
    owned_ = true;
    return driver_.Check(
        driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate");
  }

  absl::Status Enter() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    const uint64_t value = last_ + 1;
    const ScopedLocalContext current(driver_, context_);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    HOLDFAST_RETURN_IF_ERROR(driver_.Check(
        driver_.cuStreamWriteValue64(stream_, counter_->pointer(), value,
                                     CU_STREAM_WRITE_VALUE_DEFAULT),
        "cuStreamWriteValue64"));
    last_ = value;
    HOLDFAST_RETURN_IF_ERROR(NoteCrossing());
    return semaphore_.Wait(value, session_stream_);
  }

  absl::Status Leave() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(semaphore_.Signal(last_ + 1, session_stream_));
    ++last_;
    const ScopedLocalContext current(driver_, context_);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    HOLDFAST_RETURN_IF_ERROR(driver_.Check(
        driver_.cuStreamWaitValue64(stream_, counter_->pointer(), last_,
                                    CU_STREAM_WAIT_VALUE_GEQ),
        "cuStreamWaitValue64"));
    return NoteCrossing();
  }

  void Abandon() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    const ScopedLocalContext current(driver_, context_);
    driver_.cuStreamWriteValue64(rescue_, counter_->pointer(), last_,
                                 CU_STREAM_WRITE_VALUE_DEFAULT);
  }

  uint64_t handle() const { return reinterpret_cast<uintptr_t>(stream_); }

 private:
  absl::Status NoteCrossing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return driver_.Check(driver_.cuEventRecord(last_crossing_, stream_),
                         "cuEventRecord");
  }

  const LocalDriver driver_;
  const LocalContext context_;
  const Semaphore semaphore_;
  const std::unique_ptr<LocalMapping> counter_;
  // The name of the session's stream.
  const uint64_t session_stream_;
  CUstream stream_ = nullptr;
  bool owned_ = false;
  // Writes the counter when the session's stream no longer will.
  CUstream rescue_ = nullptr;
  // Behind the CUstream's last operation on the counter.
  CUevent last_crossing_ = nullptr;
  absl::Mutex mutex_;
  // The value of the last crossing.
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

absl::StatusOr<uint64_t> PairStream(const Stream& stream,
                                    std::optional<uint64_t> handle,
                                    const LocalMappingOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const LocalDriver driver,
                            LocalDriver::Load(options.driver));
  HOLDFAST_ASSIGN_OR_RETURN(LocalContext context,
                            LocalContext::Retain(driver, options.device));
  HOLDFAST_ASSIGN_OR_RETURN(
      Semaphore semaphore,
      Semaphore::Create(stream.session(), stream.device(), 0));
  HOLDFAST_ASSIGN_OR_RETURN(
      const LocalExport exported,
      semaphore.ExportLocally({.rights = Rights::kReadWrite}));
  HOLDFAST_ASSIGN_OR_RETURN(std::unique_ptr<LocalMapping> counter,
                            LocalMapping::Map(exported, options));
  auto order = std::make_unique<LocalStreamOrder>(
      driver, std::move(context), std::move(semaphore), std::move(counter),
      stream.handle());
  HOLDFAST_RETURN_IF_ERROR(order->Init(handle));
  const uint64_t paired = order->handle();
  HOLDFAST_RETURN_IF_ERROR(stream.OrderWith(std::move(order)));
  return paired;
}

}  // namespace holdfast
