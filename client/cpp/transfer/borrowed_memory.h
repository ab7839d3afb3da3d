// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_BORROWED_MEMORY_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_BORROWED_MEMORY_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/support/slice.h"

namespace holdfast {

// Memory of a caller that gRPC sends from. gRPC may hold on to it until a
// call's objects are gone, and for a moment more: this waits for that, so it is
// to be declared before them.
//
// Not to be moved: the slices point at it.
//
//   BorrowedMemory memory;        // first: its end waits for the slices
//   grpc::ClientContext context;  // then the objects of the call
//   writer->Write(MakeUploadData(memory.Lend(data, size)));
class BorrowedMemory {
 public:
  // Has lent nothing.
  BorrowedMemory() = default;
  // Blocks until gRPC has let go of every slice.
  ~BorrowedMemory() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](size_t* lent) { return *lent == 0; }, &lent_));
  }
  BorrowedMemory(const BorrowedMemory&) = delete;
  BorrowedMemory& operator=(const BorrowedMemory&) = delete;

  // [data, data + size) must not change until the destructor returns.
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
