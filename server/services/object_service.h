// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_

#include "holdfast/v1/objects.grpc.pb.h"
#include "server/compile/object_store.h"

namespace holdfast {

class ObjectService final : public v1::ObjectService::Service {
 public:
  // `store` must outlive the service.
  explicit ObjectService(ObjectStore& store) : store_(store) {}

  grpc::Status PutObject(grpc::ServerContext* context,
                         grpc::ServerReader<v1::PutObjectRequest>* reader,
                         v1::PutObjectResponse* response) override;
  grpc::Status GetObject(
      grpc::ServerContext* context, const v1::GetObjectRequest* request,
      grpc::ServerWriter<v1::GetObjectResponse>* writer) override;
  grpc::Status HasObjects(grpc::ServerContext* context,
                          const v1::HasObjectsRequest* request,
                          v1::HasObjectsResponse* response) override;

 private:
  ObjectStore& store_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_SERVICE_H_
