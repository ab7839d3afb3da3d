// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection_watch.h"

#include <utility>

#include "client/cpp/collection/next_daemon.h"
#include "grpcpp/channel.h"

namespace holdfast {

CollectionWatch::CollectionWatch(std::shared_ptr<Daemon> daemon,
                                 const std::string& name)
    : daemon_(std::move(daemon)),
      name_(name),
      stub_(v1::CollectionService::NewStub(daemon_->channel())) {
  Start();
}

CollectionWatch::~CollectionWatch() {
  Cancel();
  if (reader_ != nullptr) reader_->Finish();
}

void CollectionWatch::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

void CollectionWatch::Start() {
  absl::MutexLock lock(&mutex_);
  v1::WatchCollectionsRequest request;
  request.set_name(name_);
  context_ = std::make_unique<grpc::ClientContext>();
  reader_ = stub_->WatchCollections(context_.get(), request);
  if (cancelled_) context_->TryCancel();
}

void CollectionWatch::Restart() {
  if (!AwaitNextDaemon(*daemon_, absl::Seconds(20),
                       [this] { return cancelled(); })) {
    return;
  }
  Start();
  NoteGone();
}

// The new call has begun: a version that goes from now on comes by it.
void CollectionWatch::NoteGone() {
  grpc::ClientContext context;
  v1::ListCollectionsResponse list;
  if (!stub_->ListCollections(&context, {}, &list).ok()) return;
  std::map<Key, std::set<uint64_t>> there;
  for (const v1::CollectionInfo& info : list.collections()) {
    for (const v1::VersionInfo& version : info.versions()) {
      if (version.retired()) continue;
      there[{info.owner(), info.name()}].insert(version.version());
    }
  }
  for (const auto& [key, versions] : known_) {
    for (const uint64_t version : versions) {
      if (there[key].contains(version)) continue;
      v1::CollectionChange& gone = pending_.emplace_back();
      gone.set_kind(v1::CollectionChange::KIND_DELETED);
      gone.set_owner(key.first);
      gone.set_name(key.second);
      gone.set_version(version);
    }
  }
}

bool CollectionWatch::Note(const v1::CollectionChange& change) {
  const Key key = {change.owner(), change.name()};
  const bool comes = change.kind() == v1::CollectionChange::KIND_PRESENT ||
                     change.kind() == v1::CollectionChange::KIND_COMMITTED;
  if (comes) return known_[key].insert(change.version()).second;
  const auto found = known_.find(key);
  if (found == known_.end()) return true;
  found->second.erase(change.version());
  if (found->second.empty()) known_.erase(found);
  return true;
}

absl::StatusOr<v1::CollectionChange> CollectionWatch::Next() {
  while (reader_ != nullptr) {
    v1::CollectionChange change;
    if (!pending_.empty()) {
      change = std::move(pending_.front());
      pending_.pop_front();
      if (Note(change)) return change;
      continue;
    }
    if (reader_->Read(&change)) {
      restarts_ = 0;
      if (Note(change)) return change;
      continue;
    }
    ended_ = daemon_->Explain(reader_->Finish());
    reader_ = nullptr;
    if (absl::IsUnavailable(ended_) && ++restarts_ < kMaxRestarts) Restart();
  }
  if (cancelled()) return absl::CancelledError("the watch was cancelled");
  if (ended_.ok()) return absl::CancelledError("the watch has ended");
  return ended_;
}

}  // namespace holdfast
