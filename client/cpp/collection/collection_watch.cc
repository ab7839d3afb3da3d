// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collection_watch.h"

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/collection/next_daemon.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/forked_process.h"
#include "core/base/status_macros.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"

namespace holdfast {
namespace {

// For a daemon that has just begun to list its collections.
constexpr absl::Duration kListTime = absl::Seconds(10);

v1::CollectionChange Deleted(
    const std::pair<std::string, std::string>& owner_and_name,
    uint64_t version) {
  v1::CollectionChange change;
  change.set_kind(v1::CollectionChange::KIND_DELETED);
  change.set_owner(owner_and_name.first);
  change.set_name(owner_and_name.second);
  change.set_version(version);
  return change;
}

}  // namespace

CollectionWatch::CollectionWatch(std::shared_ptr<Daemon> daemon,
                                 const std::string& name)
    : daemon_(std::move(daemon)), name_(name) {
  Start();
}

CollectionWatch::~CollectionWatch() {
  if (IsForked()) {
    Abandon(std::move(reader_));
    Abandon(std::move(context_));
    return;
  }
  Cancel();
  if (reader_ != nullptr) reader_->Finish();
}

void CollectionWatch::Cancel() {
  if (IsForked()) return;
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

void CollectionWatch::Start() {
  grpc::ClientContext* context = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    context_ = std::make_unique<grpc::ClientContext>();
    context = context_.get();
    if (cancelled_) context->TryCancel();
  }
  v1::WatchCollectionsRequest request;
  request.set_name(name_);
  // Without the lock: it may wait for a connection, which Cancel ends.
  reader_ = daemon_->stubs().collections.WatchCollections(context, request);
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
  context.set_deadline(absl::ToChronoTime(absl::Now() + kListTime));
  v1::ListCollectionsResponse list;
  if (!daemon_->stubs().collections.ListCollections(&context, {}, &list).ok())
    return;
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
      gone_.emplace_back(key, version);
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
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  while (reader_ != nullptr) {
    v1::CollectionChange change;
    if (!gone_.empty()) {
      change = Deleted(gone_.front().first, gone_.front().second);
      gone_.pop_front();
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
