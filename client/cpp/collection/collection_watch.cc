// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection_watch.h"

#include <utility>

#include "grpcpp/channel.h"

namespace holdfast {

CollectionWatch::CollectionWatch(std::shared_ptr<Daemon> daemon,
                                 const std::string& name)
    : daemon_(std::move(daemon)),
      stub_(v1::CollectionService::NewStub(daemon_->channel())) {
  v1::WatchCollectionsRequest request;
  request.set_name(name);
  reader_ = stub_->WatchCollections(&context_, request);
}

CollectionWatch::~CollectionWatch() {
  if (reader_ == nullptr) return;
  context_.TryCancel();
  reader_->Finish();
}

absl::StatusOr<v1::CollectionChange> CollectionWatch::Next() {
  if (reader_ == nullptr) return ended_;
  v1::CollectionChange change;
  if (reader_->Read(&change)) return change;
  ended_ = daemon_->Explain(reader_->Finish());
  if (ended_.ok()) ended_ = absl::CancelledError("the watch has ended");
  reader_ = nullptr;
  return ended_;
}

}  // namespace holdfast
