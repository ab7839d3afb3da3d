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
  // Inputs that came with the request are hashed; those that are stored are
  // taken out of the store, which keeps them as long as the job lives.
  // NOT_FOUND: one is not stored. INVALID_ARGUMENT: one has no format.
  // RESOURCE_EXHAUSTED: more than kMaxLinkBytes. REQUIRES: CheckLinkRequest is
  // OK, target and arch are set.
  static absl::StatusOr<LinkJob> Create(v1::LinkRequest request,
                                        ObjectStore& store);

  // Every input by hash and with its format: what LinkKey takes.
  const v1::LinkRequest& request() const { return request_; }

  // For a worker, with the descriptor that goes with it.
  internal::ToCompiler Message() const;
  // A sealed memfd with the bytes of all inputs, one after another, in the
  // order of the message's parts, which have their sizes.
  absl::StatusOr<UniqueFd> Parts() const;

 private:
  struct Input {
    std::shared_ptr<const StoredObject> object;  // null: `data` is it
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
