// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_LINK_JOB_H_
#define HOLDFAST_SERVER_COMPILE_LINK_JOB_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/compile.pb.h"
#include "server/objects/object_store.h"

namespace holdfast {

// A link request whose inputs were looked up.
class LinkJob {
 public:
  // Hashes the inputs whose bytes are in the request, and finds the others in
  // the store by their hashes; the job keeps these alive. NOT_FOUND: an input
  // is not stored. INVALID_ARGUMENT: an input has no format.
  // RESOURCE_EXHAUSTED: the inputs have more than kMaxLinkBytes. REQUIRES:
  // CheckLinkRequest is OK; target and arch are set.
  static absl::StatusOr<LinkJob> Create(v1::LinkRequest request,
                                        ObjectStore& store);

  // The request with the hash, name and format of each input, for LinkKey. The
  // inputs have no data.
  const v1::LinkRequest& request() const { return request_; }

  // Returns the message for a worker. It must be sent with the descriptor of
  // Parts.
  internal::ToCompiler Message() const;
  // Returns a sealed memfd with the bytes of all inputs, one after the other.
  // The parts of Message have the same order, and give the sizes.
  absl::StatusOr<UniqueFd> Parts() const;

 private:
  struct Input {
    std::shared_ptr<const StoredObject> object;  // null: `data` has the bytes
    std::string data;
    uint64_t size = 0;
  };

  // Appends an input, and completes its hash, name and format in the request.
  absl::Status Take(ObjectStore& store, v1::LinkInput* input);

  v1::LinkRequest request_;
  std::vector<Input> inputs_;  // in the order of request_.inputs
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_LINK_JOB_H_
