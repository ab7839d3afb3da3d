// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cpp/daemon.h"
#include "holdfast/v1/collections.grpc.pb.h"

namespace holdfast {

// Reads the changes of collections one by one: first what there is, then each
// change. Another thread may cancel.
class CollectionWatch {
 public:
  // `name`: one collection; empty: all that the client sees.
  CollectionWatch(std::shared_ptr<Daemon> daemon, const std::string& name);
  ~CollectionWatch();
  CollectionWatch(const CollectionWatch&) = delete;
  CollectionWatch& operator=(const CollectionWatch&) = delete;

  // Blocks until there is a change. CANCELLED: Cancel was called. One thread at
  // a time.
  absl::StatusOr<v1::CollectionChange> Next();

  // Ends Next, now and later. Thread-safe.
  void Cancel() { context_.TryCancel(); }

 private:
  const std::shared_ptr<Daemon> daemon_;
  const std::unique_ptr<v1::CollectionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::CollectionChange>> reader_;
  // The status that the call ended with; every later Next returns it.
  absl::Status ended_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_COLLECTION_WATCH_H_
