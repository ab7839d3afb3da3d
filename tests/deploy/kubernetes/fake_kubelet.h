// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_DEPLOY_KUBERNETES_FAKE_KUBELET_H_
#define HOLDFAST_TESTS_DEPLOY_KUBERNETES_FAKE_KUBELET_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "kubelet/device_plugin.grpc.pb.h"
#include "kubelet/pod_resources.grpc.pb.h"

namespace holdfast::kubernetes {

// The kubelet's side of both protocols: listens on kubelet.sock and pods.sock
// in a directory, and lists the pods that the test has added. Thread-safe.
class FakeKubelet final : public v1beta1::Registration::Service,
                          public ::v1::PodResourcesLister::Service {
 public:
  explicit FakeKubelet(const std::string& directory) {
    grpc::ServerBuilder builder;
    for (const char* name : {"/kubelet.sock", "/pods.sock"}) {
      builder.AddListeningPort("unix:" + directory + name,
                               grpc::InsecureServerCredentials());
    }
    builder.RegisterService(static_cast<v1beta1::Registration::Service*>(this));
    builder.RegisterService(
        static_cast<::v1::PodResourcesLister::Service*>(this));
    server_ = builder.BuildAndStart();
  }

  grpc::Status Register(grpc::ServerContext*,
                        const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    absl::MutexLock lock(&mutex_);
    registered_.push_back(*request);
    return grpc::Status::OK;
  }
  grpc::Status List(grpc::ServerContext*, const ::v1::ListPodResourcesRequest*,
                    ::v1::ListPodResourcesResponse* response) override {
    absl::MutexLock lock(&mutex_);
    *response = pods_;
    return grpc::Status::OK;
  }

  std::vector<v1beta1::RegisterRequest> registered() {
    absl::MutexLock lock(&mutex_);
    return registered_;
  }
  void AddPod(const std::string& resource, const std::string& device) {
    absl::MutexLock lock(&mutex_);
    auto& devices = *pods_.add_pod_resources()->add_containers()->add_devices();
    devices.set_resource_name(resource);
    devices.add_device_ids(device);
  }
  void RemovePods() {
    absl::MutexLock lock(&mutex_);
    pods_.Clear();
  }

 private:
  absl::Mutex mutex_;
  std::vector<v1beta1::RegisterRequest> registered_;
  ::v1::ListPodResourcesResponse pods_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_TESTS_DEPLOY_KUBERNETES_FAKE_KUBELET_H_
