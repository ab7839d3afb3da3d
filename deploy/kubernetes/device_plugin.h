// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_KUBERNETES_DEVICE_PLUGIN_H_
#define HOLDFAST_DEPLOY_KUBERNETES_DEVICE_PLUGIN_H_

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "deploy/kubernetes/pod_tenants.h"
#include "deploy/kubernetes/resource.h"
#include "kubelet/device_plugin.grpc.pb.h"

namespace holdfast::kubernetes {

// How a container gets the daemon's sockets.
struct SocketAccess {
  // The directory that has the sockets, holdfast.sock among them. Containers
  // get it at the same path.
  std::string directory;
  // True: by the daemon's CDI device, for container engines that support CDI
  // and have the device's specification. False: by a mount.
  bool by_cdi = false;
};

// The name of the daemon's CDI device, as `holdfast cdi` specifies it.
inline constexpr char kCdiDevice[] = "holdfast.dev/daemon=all";

// Serves one resource to the kubelet. Thread-safe.
class DevicePlugin final : public v1beta1::DevicePlugin::Service {
 public:
  // `tenants` must outlive the object.
  DevicePlugin(Resource resource, SocketAccess access, PodTenants& tenants);
  ~DevicePlugin() override;

  const Resource& resource() const { return resource_; }

  // Listens on `socket`, in place of a socket that is there.
  absl::Status Serve(const std::string& socket);

  // Sets the health that the kubelet sees. It is false while the daemon does
  // not answer, or a device is in quarantine; the kubelet then gives nothing to
  // new pods.
  void SetHealthy(bool healthy);

 private:
  grpc::Status GetDevicePluginOptions(
      grpc::ServerContext* context, const v1beta1::Empty* request,
      v1beta1::DevicePluginOptions* response) override;
  grpc::Status ListAndWatch(
      grpc::ServerContext* context, const v1beta1::Empty* request,
      grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override;
  grpc::Status Allocate(grpc::ServerContext* context,
                        const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override;

  v1beta1::ListAndWatchResponse Devices(bool healthy) const;
  void Stop();

  const Resource resource_;
  const SocketAccess access_;
  PodTenants& tenants_;
  std::unique_ptr<grpc::Server> server_;
  absl::Mutex mutex_;
  bool healthy_ ABSL_GUARDED_BY(mutex_) = true;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_DEVICE_PLUGIN_H_
