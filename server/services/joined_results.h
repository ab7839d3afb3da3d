// SPDX-License-Identifier: Apache-2.0
//
// Results that wait until the client has taken the message before, and then go
// to it as one message. Encoded ResultBatches one after another are one
// ResultBatch, whose list has the results of all.
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
  // Results of so many bytes are large: the message keeps their memory.
  static constexpr size_t kLargeBytes = 4096;

  // Each adds an encoded ResultBatch.
  void AddSmall(absl::string_view results);
  void AddLarge(grpc::Slice results);

  // Returns the message with all results in their order, and keeps none.
  grpc::ByteBuffer Take();

  // The bytes of all results that wait.
  size_t bytes() const { return bytes_; }

 private:
  // Makes a part of the small results that were added last.
  void CloseSmall();

  std::vector<grpc::Slice> parts_;
  std::string small_;  // follows the parts
  size_t bytes_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_JOINED_RESULTS_H_
