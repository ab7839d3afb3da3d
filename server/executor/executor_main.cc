// SPDX-License-Identifier: Apache-2.0
#include "server/executor/executor_main.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/code_store.h"
#include "core/base/freed_memory.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cuda/context.h"
#include "core/cuda/device.h"
#include "proto/protocol_limits.h"
#include "proto/transport.h"
#include "server/executor/account.h"
#include "server/executor/command_service.h"
#include "server/executor/descriptor_inbox.h"
#include "server/executor/kernel_output.h"
#include "server/executor/session.h"
#include "server/executor/supervisor_link.h"
#include "server/executor/transfer_service.h"
#include "server/relay/shared_blocks.h"
#include "server/rpc/accept_thread.h"
#include "server/rpc/malformed_request.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

using executor::KernelOutput;
using executor::Session;
using executor::SupervisorLink;

absl::Status DescribeDevice(const cuda::Driver& driver, int ordinal,
                            v1::Device* message) {
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(driver.api, ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::DeviceDescription description,
                            device.Describe());
  message->set_ordinal(ordinal);
  message->set_name(description.name);
  message->set_uuid(description.uuid.data(), description.uuid.size());
  message->set_pci_bus_id(description.pci_bus_id);
  message->set_compute_capability_major(description.compute_capability_major);
  message->set_compute_capability_minor(description.compute_capability_minor);
  message->set_total_memory(description.total_memory);
  for (const auto& [name, value] : description.attributes) {
    (*message->mutable_attributes())[name] = value;
  }
  return absl::OkStatus();
}

// Whose memory can its kernels be given access to?
absl::Status DescribePeers(const cuda::DriverApi& api, v1::Device* message,
                           int count) {
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(api, message->ordinal()));
  for (int i = 0; i < count; ++i) {
    if (i == device.ordinal()) continue;
    HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device peer,
                              cuda::Device::Get(api, i));
    HOLDFAST_ASSIGN_OR_RETURN(const bool can, device.CanAccessPeer(peer));
    if (can) message->add_peers(static_cast<uint32_t>(i));
  }
  return absl::OkStatus();
}

// What only a context can tell.
absl::Status DescribeContext(const cuda::Context& context,
                             internal::Ready* ready) {
  const int ordinal = context.device().ordinal();
  HOLDFAST_ASSIGN_OR_RETURN(const auto memory, context.GetMemoryInfo());
  ready->mutable_devices(ordinal)->set_free_memory(memory.free);
  const std::string& name = ready->devices(ordinal).name();
  for (v1::Device& device : *ready->mutable_devices()) {
    if (device.name() != name) continue;
    device.set_least_stream_priority(context.least_stream_priority());
    device.set_greatest_stream_priority(context.greatest_stream_priority());
  }
  return absl::OkStatus();
}

// A driver that is ready for a session, with one device's context made: what
// takes time when an executor starts.
struct WarmDriver {
  std::unique_ptr<KernelOutput> output;
  std::unique_ptr<const cuda::Driver> driver;
  std::shared_ptr<const cuda::Context> context;
  internal::Ready ready;
};

absl::StatusOr<WarmDriver> WarmUp(const cuda::DriverOptions& options,
                                  const ExecutorDevices& devices) {
  WarmDriver warm;
  HOLDFAST_ASSIGN_OR_RETURN(warm.output, KernelOutput::Capture());
  HOLDFAST_ASSIGN_OR_RETURN(warm.driver, cuda::LoadDriver(options));
  const int count = warm.driver->device_count;
  if (devices.expected != 0 && devices.expected != static_cast<size_t>(count)) {
    return absl::NotFoundError(absl::StrCat(
        "--devices names ", devices.expected, ", of which the driver shows ",
        count, ": one does not exist, or is named twice"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(warm.driver->api, devices.warm));
  HOLDFAST_ASSIGN_OR_RETURN(warm.context, cuda::Context::RetainPrimary(device));
  v1::Driver& driver = *warm.ready.mutable_driver();
  driver.set_kind(warm.driver->software ? v1::Driver::KIND_SOFTWARE
                                        : v1::Driver::KIND_CUDA);
  driver.set_version(warm.driver->api.version);
  driver.set_path(warm.driver->path);
  for (int i = 0; i < count; ++i) {
    v1::Device& message = *warm.ready.add_devices();
    HOLDFAST_RETURN_IF_ERROR(DescribeDevice(*warm.driver, i, &message));
    HOLDFAST_RETURN_IF_ERROR(DescribePeers(warm.driver->api, &message, count));
  }
  HOLDFAST_RETURN_IF_ERROR(DescribeContext(*warm.context, &warm.ready));
  return warm;
}

// `link` must outlive it.
std::shared_ptr<executor::Account> MakeAccount(const internal::Assign& assign,
                                               SupervisorLink& link) {
  return std::make_shared<executor::Account>(executor::Account::Options{
      .limits = assign.limits(),
      .reserve = [&link](const internal::MemoryPlace& place,
                         uint64_t bytes) { return link.Reserve(place, bytes); },
      .release = [&link](const internal::MemoryPlace& place,
                         uint64_t bytes) { link.Release(place, bytes); }});
}

// Code that the software driver generates goes to the supervisor, since this
// process can open no file; see supervisor/code_store.h.
void KeepCodeWith(SupervisorLink& link, const cuda::Driver& driver) {
  if (driver.set_code_store == nullptr) return;
  CodeStore store;
  store.context = &link;
  store.load = [](void* context, const char* key,
                  void (*append)(void*, const char*, size_t), void* sink) {
    const std::string code =
        static_cast<SupervisorLink*>(context)->LoadCode(key);
    if (!code.empty()) append(sink, code.data(), code.size());
  };
  store.store = [](void* context, const char* key, const char* bytes,
                   size_t size) {
    static_cast<SupervisorLink*>(context)->StoreCode(key, {bytes, size});
  };
  driver.set_code_store(&store);
}

Session::Options SessionOptions(const internal::Assign& assign,
                                const cuda::DriverApi& api,
                                SupervisorLink& link, KernelOutput& output) {
  Session::Options options;
  options.token = assign.token();
  options.output = &output;
  options.resources.work_completed = [&output] { output.Flush(); };
  options.resources.api = &api;
  options.resources.devices.assign(assign.devices().begin(),
                                   assign.devices().end());
  const auto account = MakeAccount(assign, link);
  options.resources.account = account;
  options.resources.chunk_created = [&link](uint32_t device,
                                            const memory::Chunk& chunk) {
    link.SendChunkCreated(device, chunk);
  };
  options.resources.chunk_released = [&link](uint32_t device,
                                             const memory::Chunk& chunk) {
    link.SendChunkReleased(device, chunk);
  };
  options.fetch_object = [&link](absl::string_view sha256) {
    return link.FetchObject(sha256);
  };
  options.usage_changed = [&link, account] {
    internal::Usage usage;
    account->device_memory()->Report(
        usage.mutable_usage()->mutable_device_bytes());
    link.SendUsage(usage);
  };
  link.OnUsageAsked(
      [copies = options.resources.copies, account](internal::Usage* usage) {
        copies->Report(usage->mutable_copies());
        account->Report(usage->mutable_usage());
      });
  return options;
}

// Has no address of its own: connections are accepted and handed to it.
std::unique_ptr<grpc::Server> BuildServer(grpc::Service& commands,
                                          grpc::Service& transfers) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Of threads that wait for new calls: by default there is one a processor,
  // which takes longer to make than all else that opening a session is.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  for (const auto& [name, value] : kTransportArguments) {
    builder.AddChannelArgument(name, value);
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(std::make_unique<MalformedRequestFactory>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  builder.RegisterService(&commands);
  builder.RegisterService(&transfers);
  return builder.BuildAndStart();
}

// What gRPC does once in a process, before its first server, takes longer than
// all else that opening a session is: done while nobody waits.
void StartGrpc() {
  grpc::Service nothing;
  grpc::ServerBuilder builder;
  builder.RegisterService(&nothing);
  const auto server = builder.BuildAndStart();
  if (server != nullptr) server->Shutdown();
}

// nullptr: the supervisor relays nothing.
absl::StatusOr<std::shared_ptr<SharedBlocks>> MapBlocks(const UniqueFd& fd) {
  if (!fd.valid()) return nullptr;
  return SharedBlocks::Map(fd.get(), SharedBlocks::End::kExecutor);
}

// Serves the session until the supervisor says stop; returns why it cannot.
absl::Status Serve(SupervisorLink::Assigned assigned,
                   const cuda::DriverApi& api, SupervisorLink& link,
                   KernelOutput& output, absl::Duration stall_limit) {
  const internal::Assign& assign = assigned.message;
  HOLDFAST_ASSIGN_OR_RETURN(const auto blocks, MapBlocks(assigned.blocks));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto inbox, executor::DescriptorInbox::Serve(
                            std::move(assigned.descriptors), assign.token()));
  Session session(SessionOptions(assign, api, link, output));
  executor::CommandService commands(session, *inbox, kMaxMessageBytes);
  executor::TransferService transfers(session, *inbox, blocks, stall_limit);
  const auto server = BuildServer(commands, transfers);
  if (server == nullptr) {
    return absl::InternalError("the gRPC server could not be built");
  }
  auto accepting = std::make_unique<AcceptThread>(
      std::move(assigned.calls), assign.session_id(),
      [&server](UniqueFd connection) {
        grpc::AddInsecureChannelFromFd(server.get(), connection.Release());
      });
  link.SendServing(absl::OkStatus());
  LogDebug("serving ", assign.session_id());
  link.AwaitShutdown();
  accepting.reset();
  session.Stop();
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
  return absl::OkStatus();
}

// The policy, with the driver's file resolved while all files can be seen.
SandboxPolicy PolicyOf(SandboxRole role, cuda::DriverOptions* driver) {
  std::string software;
  if (driver->choice != cuda::DriverChoice::kCuda) {
    software = cuda::FindSoftwareDriver(*driver);
  }
  // Where there is none, loading it says where it was looked for.
  if (!software.empty()) driver->software_driver_path = software;
  return role == SandboxRole::kCudaExecutor ? CudaExecutorPolicy(software)
                                            : SoftwareExecutorPolicy(software);
}

int Fail(SupervisorLink& link, const absl::Status& status) {
  internal::Ready ready;
  *ready.mutable_error() = ToError(status);
  link.SendReady(ready);
  return 1;
}

}  // namespace

int ExecutorMain(UniqueFd channel, const ExecutorOptions& options) {
  cuda::DriverOptions driver = options.driver;
  Sandbox sandbox(PolicyOf(options.role, &driver), options.sandbox);
  KeepFreedMemoryOfManyReads();
  // The thread that waits for a message is woken by it, not by another thread
  // that waits for all.
  setenv("GRPC_POLL_STRATEGY", "poll", /*overwrite=*/0);
  // Kept up until the process ends: gRPC's full shutdown may wait 10 s for a
  // poller that a large write has left behind.
  grpc_init();
  SupervisorLink link(std::move(channel));
  auto warm = WarmUp(driver, options.devices);
  if (!warm.ok()) return Fail(link, warm.status());
  KeepCodeWith(link, *warm->driver);
  StartGrpc();
  sandbox.Close(warm->driver->software ? SandboxRole::kSoftwareExecutor
                                       : SandboxRole::kCudaExecutor);
  if (const absl::Status status = sandbox.Check(); !status.ok()) {
    return Fail(link, status);
  }
  warm->ready.set_confinement(sandbox.ToString());
  warm->ready.set_confined(sandbox.complete());
  link.SendReady(warm->ready);
  auto assigned = link.AwaitAssign();
  if (!assigned.ok()) return 0;
  const absl::Status served = Serve(*std::move(assigned), warm->driver->api,
                                    link, *warm->output, options.stall_limit);
  if (served.ok()) return 0;
  link.SendServing(served);
  return 1;
}

}  // namespace holdfast
