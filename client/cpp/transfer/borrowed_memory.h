// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_BORROWED_MEMORY_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_BORROWED_MEMORY_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/slice.h"

namespace holdfast {

// Memory of a caller that gRPC sends without a copy. gRPC may hold the memory a
// moment longer than the objects of the call live. The destructor waits for
// gRPC, so declare a BorrowedMemory before these objects.
//
// Not movable, because the slices point at it.
//
//   BorrowedMemory memory;        // first: its end waits for the slices
//   grpc::ClientContext context;  // then the objects of the call
//   writer->Write(MakeUploadData(memory.Lend(data, size)));
class BorrowedMemory {
 public:
  // Lends nothing yet.
  BorrowedMemory() = default;
  // Blocks until gRPC has released every slice.
  ~BorrowedMemory() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](size_t* lent) { return *lent == 0; }, &lent_));
  }
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;

  // Returns a slice of [data, data + size), which must not change until the
  // destructor returns.
  grpc::Slice Lend(const char* data, size_t size) {
    absl::MutexLock lock(&mutex_);
    ++lent_;
    // gRPC does not write to what it sends.
    return grpc::Slice(const_cast<char*>(data), size, &Return, this);
  }

 private:
  static void Return(void* self) {
    auto* const memory = static_cast<BorrowedMemory*>(self);
    absl::MutexLock lock(&memory->mutex_);
    --memory->lent_;
  }

  absl::Mutex mutex_;
  size_t lent_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_BORROWED_MEMORY_H_
