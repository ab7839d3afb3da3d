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

// A link request with its inputs, found and named by their hashes.
class LinkJob {
 public:
  // Hashes the inputs in the request, and looks the other inputs up in the
  // store; the job keeps them alive. NOT_FOUND: an input is not stored.
  // INVALID_ARGUMENT: an input has no format. RESOURCE_EXHAUSTED: the inputs
  // have more than kMaxLinkBytes. REQUIRES: CheckLinkRequest is OK; target and
  // arch are set.
  static absl::StatusOr<LinkJob> Create(v1::LinkRequest request,
                                        ObjectStore& store);

  // The request with hash and format of each input, for LinkKey.
  const v1::LinkRequest& request() const { return request_; }

  // Returns the message for a worker; the descriptor of Parts is sent with it.
  internal::ToCompiler Message() const;
  // Returns a sealed memfd with the bytes of all inputs, in the order of the
  // message's parts, which have their sizes.
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
  std::vector<Input> inputs_;  // as request_.inputs
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_LINK_JOB_H_
