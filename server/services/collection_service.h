// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_COLLECTION_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_COLLECTION_SERVICE_H_

#include "holdfast/v1/collections.grpc.pb.h"
#include "server/collections/collection_suspension.h"
#include "server/collections/collection_table.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/fair_share.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Serves collections. ClaimCollection and WatchCollections are streams to which
// the table pushes messages, without a thread. SuspendCollection and
// ResumeCollection wait in one of `threads`.
class CollectionService final : public v1::CollectionService::CallbackService {
 public:
  // The most claims and watches of all clients, shared as FairShare defines.
  static constexpr uint64_t kMaxStreams = 4096;

  // All arguments must outlive the service.
  CollectionService(collections::CollectionTable& table,
                    collections::CollectionSuspension& suspension,
                    const supervisor::SessionRegistry& sessions,
                    const Callers& callers, CallThreads& threads);
  ~CollectionService() override;

  grpc::ServerUnaryReactor* ListCollections(
      grpc::CallbackServerContext* context,
      const v1::ListCollectionsRequest* request,
      v1::ListCollectionsResponse* response) override;
  grpc::ServerUnaryReactor* DescribeCollection(
      grpc::CallbackServerContext* context,
      const v1::DescribeCollectionRequest* request,
      v1::DescribeCollectionResponse* response) override;
  grpc::ServerUnaryReactor* DeleteCollection(
      grpc::CallbackServerContext* context,
      const v1::DeleteCollectionRequest* request,
      v1::DeleteCollectionResponse* response) override;
  grpc::ServerUnaryReactor* ConfigureCollection(
      grpc::CallbackServerContext* context,
      const v1::ConfigureCollectionRequest* request,
      v1::ConfigureCollectionResponse* response) override;
  grpc::ServerUnaryReactor* SuspendCollection(
      grpc::CallbackServerContext* context,
      const v1::SuspendCollectionRequest* request,
      v1::SuspendCollectionResponse* response) override;
  grpc::ServerUnaryReactor* ResumeCollection(
      grpc::CallbackServerContext* context,
      const v1::ResumeCollectionRequest* request,
      v1::ResumeCollectionResponse* response) override;
  grpc::ServerWriteReactor<v1::ClaimCollectionResponse>* ClaimCollection(
      grpc::CallbackServerContext* context,
      const v1::ClaimCollectionRequest* request) override;
  grpc::ServerWriteReactor<v1::CollectionChange>* WatchCollections(
      grpc::CallbackServerContext* context,
      const v1::WatchCollectionsRequest* request) override;

 private:
  absl::StatusOr<collections::CollectionTable::Viewer> ViewerOf(
      const grpc::ServerContextBase& context) const;
  // Answers the call with the result of `move`, which moves a version's memory
  // and may wait. `act` names the call.
  template <typename Request, typename Response, typename Move>
  grpc::ServerUnaryReactor* AnswerMove(grpc::CallbackServerContext* context,
                                       const char* act, const Request* request,
                                       Response* response, Move move);

  collections::CollectionTable& table_;
  collections::CollectionSuspension& suspension_;
  const supervisor::SessionRegistry& sessions_;
  const Callers& callers_;
  CallThreads& threads_;
  FairShare streams_{"claims and watches of collections", kMaxStreams};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_COLLECTION_SERVICE_H_
