// SPDX-License-Identifier: Apache-2.0
#include "server/services/collection_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/rpc/push_stream.h"
#include "server/rpc/refused_stream.h"
#include "server/rpc/session_token.h"
#include "server/rpc/unary_call.h"

namespace holdfast {
namespace {

// Resources that a stream holds until its end.
struct StreamHold {
  StreamHold(FairShare& share, std::string client)
      : share(share, std::move(client)) {}

  ShareHold share;
  std::function<void()> leave;
};

// A stream that holds one of the client's share, with its hold; a stream that
// has ended, and nullptr, if none is left.
template <typename Message>
std::pair<PushStream<Message>*, std::shared_ptr<StreamHold>> MakeStream(
    FairShare& streams, const std::string& client) {
  auto hold = std::make_shared<StreamHold>(streams, client);
  const absl::Status taken = hold->share.Take(1);
  auto* const stream = new PushStream<Message>([hold] {
    if (hold->leave) hold->leave();
  });
  if (taken.ok()) return {stream, hold};
  stream->End(taken);
  return {stream, nullptr};
}

// A client that does not read keeps the list with which a watch begins, which
// is as long as there are collections: so many of it count as a stream.
constexpr size_t kPresentAStream = 64;

absl::Status TakeRoom(const std::vector<v1::CollectionChange>& changes,
                      ShareHold& share) {
  if (changes.front().kind() != v1::CollectionChange::KIND_PRESENT) {
    return absl::OkStatus();
  }
  return share.Take(changes.size() / kPresentAStream);
}

v1::ClaimCollectionResponse ToResponse(
    const std::optional<v1::CollectionVersion>& version) {
  v1::ClaimCollectionResponse response;
  if (version.has_value()) {
    *response.mutable_open() = *version;
  } else {
    response.mutable_write();
  }
  return response;
}

}  // namespace

CollectionService::CollectionService(
    collections::CollectionTable& table,
    collections::CollectionSuspension& suspension,
    const supervisor::SessionRegistry& sessions, const Callers& callers,
    CallThreads& threads)
    : table_(table),
      suspension_(suspension),
      sessions_(sessions),
      callers_(callers),
      threads_(threads) {}

CollectionService::~CollectionService() = default;

absl::StatusOr<collections::CollectionTable::Viewer>
CollectionService::ViewerOf(const grpc::ServerContextBase& context) const {
  HOLDFAST_ASSIGN_OR_RETURN(const Caller caller, callers_.Of(context));
  return collections::CollectionTable::Viewer{.client = caller.client(),
                                              .sees_all = caller.is_operator()};
}

grpc::ServerUnaryReactor* CollectionService::ListCollections(
    grpc::CallbackServerContext* context, const v1::ListCollectionsRequest*,
    v1::ListCollectionsResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(const auto viewer, ViewerOf(*context));
    *response = table_.List(viewer);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CollectionService::DescribeCollection(
    grpc::CallbackServerContext* context,
    const v1::DescribeCollectionRequest* request,
    v1::DescribeCollectionResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(const auto viewer, ViewerOf(*context));
    HOLDFAST_ASSIGN_OR_RETURN(*response, table_.Describe(viewer, *request));
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CollectionService::DeleteCollection(
    grpc::CallbackServerContext* context,
    const v1::DeleteCollectionRequest* request,
    v1::DeleteCollectionResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(const auto viewer, ViewerOf(*context));
    const auto deleted = table_.Delete(viewer, *request);
    // An operator may delete what is others'.
    if (viewer.sees_all) {
      callers_.RecordAct(*context, "DeleteCollection", request->name(),
                         deleted.status());
    }
    if (deleted.ok()) response->set_deleted_versions(*deleted);
    return deleted.status();
  });
}

grpc::ServerUnaryReactor* CollectionService::ConfigureCollection(
    grpc::CallbackServerContext* context,
    const v1::ConfigureCollectionRequest* request,
    v1::ConfigureCollectionResponse*) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_ASSIGN_OR_RETURN(const auto viewer, ViewerOf(*context));
    const absl::Status configured = table_.Configure(viewer, *request);
    if (viewer.sees_all) {
      callers_.RecordAct(*context, "ConfigureCollection", request->name(),
                         configured);
    }
    return configured;
  });
}

template <typename Request, typename Response, typename Move>
grpc::ServerUnaryReactor* CollectionService::AnswerMove(
    grpc::CallbackServerContext* context, const char* act,
    const Request* request, Response* response, Move move) {
  const auto viewer = ViewerOf(*context);
  if (!viewer.ok()) return Answer(context, viewer.status());
  return AnswerInThread(
      context, threads_, viewer->client,
      [this, context, act, request, response, move = std::move(move),
       viewer = *viewer]() -> absl::Status {
        const absl::StatusOr<collections::CollectionSuspension::Moved> moved =
            move(viewer, [context] { return context->IsCancelled(); });
        // An operator may move what is others'.
        if (viewer.sees_all) {
          callers_.RecordAct(*context, act, request->name(), moved.status());
        }
        if (!moved.ok()) return moved.status();
        response->set_version(moved->version);
        response->set_bytes(moved->bytes);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* CollectionService::SuspendCollection(
    grpc::CallbackServerContext* context,
    const v1::SuspendCollectionRequest* request,
    v1::SuspendCollectionResponse* response) {
  return AnswerMove(
      context, "SuspendCollection", request, response,
      [this, request](
          const collections::CollectionTable::Viewer& viewer,
          const collections::CollectionSuspension::Cancelled& cancelled)
          -> absl::StatusOr<collections::CollectionSuspension::Moved> {
        if (request->on_disk() && !viewer.sees_all) {
          return absl::PermissionDeniedError(
              "only operators suspend collections to the daemon's disk; to "
              "host memory, their owners may");
        }
        return suspension_.Suspend(viewer, request->name(), request->version(),
                                   request->on_disk(), cancelled);
      });
}

grpc::ServerUnaryReactor* CollectionService::ResumeCollection(
    grpc::CallbackServerContext* context,
    const v1::ResumeCollectionRequest* request,
    v1::ResumeCollectionResponse* response) {
  return AnswerMove(
      context, "ResumeCollection", request, response,
      [this, request](
          const collections::CollectionTable::Viewer& viewer,
          const collections::CollectionSuspension::Cancelled& cancelled) {
        return suspension_.Resume(viewer, request->name(), request->version(),
                                  cancelled);
      });
}

grpc::ServerWriteReactor<v1::ClaimCollectionResponse>*
CollectionService::ClaimCollection(grpc::CallbackServerContext* context,
                                   const v1::ClaimCollectionRequest* request) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) {
    return new RefusedStream<
        grpc::ServerWriteReactor<v1::ClaimCollectionResponse>>(caller.status());
  }
  const std::string& client = caller->client();
  const auto [stream, hold] =
      MakeStream<v1::ClaimCollectionResponse>(streams_, client);
  if (hold == nullptr) return stream;
  const auto session =
      [&]() -> absl::StatusOr<std::shared_ptr<supervisor::Session>> {
    HOLDFAST_ASSIGN_OR_RETURN(const std::string token,
                              SessionTokenOf(*context));
    return sessions_.Find(token);
  }();
  if (!session.ok()) {
    stream->End(session.status());
    return stream;
  }
  const auto claim = table_.Claim(
      client, (*session)->id(), request->name(),
      [stream = stream](
          const absl::StatusOr<std::optional<v1::CollectionVersion>>& answer) {
        if (!answer.ok()) return stream->End(answer.status());
        stream->Push(ToResponse(*answer));
        if (answer->has_value()) stream->End(absl::OkStatus());
      });
  if (!claim.ok()) {
    stream->End(claim.status());
    return stream;
  }
  if (*claim != 0) {
    hold->leave = [this, claim = *claim] { table_.Unclaim(claim); };
  }
  // The claims of a session that is lost may have ended before this one came;
  // others would wait until its stream ends.
  if ((*session)->lost()) table_.EndSession((*session)->id());
  return stream;
}

grpc::ServerWriteReactor<v1::CollectionChange>*
CollectionService::WatchCollections(
    grpc::CallbackServerContext* context,
    const v1::WatchCollectionsRequest* request) {
  const auto viewer = ViewerOf(*context);
  if (!viewer.ok()) {
    return new RefusedStream<grpc::ServerWriteReactor<v1::CollectionChange>>(
        viewer.status());
  }
  const auto [stream, hold] =
      MakeStream<v1::CollectionChange>(streams_, viewer->client);
  if (hold == nullptr) return stream;
  const int64_t watcher =
      table_.Watch(*viewer, request->name(),
                   [stream = stream, hold = hold](
                       const collections::CollectionTable::Changes& changes) {
                     const absl::Status room = TakeRoom(*changes, hold->share);
                     if (!room.ok()) return stream->End(room);
                     stream->Push(changes);
                   });
  hold->leave = [this, watcher] { table_.Unwatch(watcher); };
  return stream;
}

}  // namespace holdfast
