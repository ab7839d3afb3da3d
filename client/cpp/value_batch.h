// SPDX-License-Identifier: Apache-2.0
//
// Makes streams write values to memory and wait for values in memory, for
// programs that order their work by their own flags:
//
//   const ValueOperation wait[] = {
//       {.kind = ValueKind::kWaitEqual, .place = flag, .value = 1}};
//   BatchValues(wait, stream);
//
// To order work between sessions, use Semaphore.
#ifndef HOLDFAST_CLIENT_CPP_VALUE_BATCH_H_
#define HOLDFAST_CLIENT_CPP_VALUE_BATCH_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/place.h"
#include "client/cpp/stream.h"

namespace holdfast {

namespace v1 {
class ValueBatch;
}  // namespace v1

// The kind of an operation on one value in memory.
enum class ValueKind {
  kWrite,
  kWaitAtLeast,  // until memory - value, as a signed number, is not negative
  kWaitEqual,
  kWaitAnd,  // until memory & value is not 0
  kWaitNor,  // until ~(memory | value) is not 0
};

// A write of a value, or a wait for a value. The offset of `place` in its
// memory is a multiple of the value's size. Refers to the memory, which must
// outlive the call that takes the operation.
struct ValueOperation {
  ValueKind kind = ValueKind::kWrite;
  Place place;
  uint64_t value = 0;
  bool wide = false;  // 8 bytes; else 4

  uint64_t size() const { return wide ? 8 : 4; }
  // Checks the place. OUT_OF_RANGE: the value lies beyond the end of its
  // memory. INVALID_ARGUMENT: the place is misaligned.
  absl::Status Check() const;
};

// Returns the message of a batch, without its stream. Fails as
// ValueOperation::Check does.
absl::StatusOr<v1::ValueBatch> ValueBatchMessage(
    std::span<const ValueOperation> operations);

// Submits the operations, in this order, as one operation of the stream. The
// daemon refuses more than 256 operations; the next call that waits reports
// this error. A wait for a value that is never written blocks the stream until
// its session ends; `holdfast sessions --usage` names the wait. Fails as
// ValueOperation::Check does. INVALID_ARGUMENT also: memory and stream belong
// to different sessions.
absl::Status BatchValues(std::span<const ValueOperation> operations,
                         const Stream& stream);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_VALUE_BATCH_H_
