// SPDX-License-Identifier: Apache-2.0
//
// Collects results while a message is being sent to the client, and joins them
// into the next message. Concatenated encodings of ResultBatches are the
// encoding of one ResultBatch, whose list has the results of all.
#ifndef HOLDFAST_SERVER_SERVICES_JOINED_RESULTS_H_
#define HOLDFAST_SERVER_SERVICES_JOINED_RESULTS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Small results are copied together; large results keep their memory. Not
// thread-safe.
class JoinedResults {
 public:
  // Results of at least this size, in bytes, are large: the message keeps their
  // memory.
  static constexpr size_t kLargeBytes = 4096;

  // Each adds an encoded ResultBatch. AddSmall copies the bytes.
  void AddSmall(absl::string_view results);
  void AddLarge(grpc::Slice results);

  // Returns a message with all results in their order, and removes them from
  // this object.
  grpc::ByteBuffer Take();

  // Returns the number of bytes of all collected results.
  size_t bytes() const { return bytes_; }

 private:
  // Moves the bytes of small_ to a new part.
  void CloseSmall();

  std::vector<grpc::Slice> parts_;
  std::string small_;  // follows the parts
  size_t bytes_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_JOINED_RESULTS_H_
