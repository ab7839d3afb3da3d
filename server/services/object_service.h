// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_

#include "holdfast/v1/objects.grpc.pb.h"
#include "server/objects/object_store.h"
#include "server/services/object_transfers.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Serves the object store. Uploads and downloads take no thread while they wait
// for their client; ObjectTransfers limits their number and bytes for each
// client.
class ObjectService final : public v1::ObjectService::CallbackService {
 public:
  // `store` and `callers` must outlive the service.
  ObjectService(ObjectStore& store, const Callers& callers);
  ~ObjectService() override;

  grpc::ServerReadReactor<v1::PutObjectRequest>* PutObject(
      grpc::CallbackServerContext* context,
      v1::PutObjectResponse* response) override;
  // Sends an object. NOT_FOUND: the store does not have the object.
  grpc::ServerWriteReactor<v1::GetObjectResponse>* GetObject(
      grpc::CallbackServerContext* context,
      const v1::GetObjectRequest* request) override;
  // Answers at once, for at most 1024 objects.
  grpc::ServerUnaryReactor* HasObjects(
      grpc::CallbackServerContext* context,
      const v1::HasObjectsRequest* request,
      v1::HasObjectsResponse* response) override;

 private:
  ObjectStore& store_;
  const Callers& callers_;
  ObjectTransfers transfers_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_
