// SPDX-License-Identifier: Apache-2.0
#include "server/executor/executor_main.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/address_limit.h"
#include "core/base/code_store.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/malloc_tuning.h"
#include "core/base/status_macros.h"
#include "core/cuda/context.h"
#include "core/cuda/device.h"
#include "core/memory/device_allocator.h"
#include "proto/protocol_limits.h"
#include "proto/transport.h"
#include "server/account/account.h"
#include "server/account/tenant_share.h"
#include "server/counters/counter_page.h"
#include "server/executor/journal/session_journal.h"
#include "server/executor/link/supervisor_link.h"
#include "server/executor/memory/arena_places.h"
#include "server/executor/memory/chunk_copy.h"
#include "server/executor/output/kernel_output.h"
#include "server/executor/recovery/fault_exit.h"
#include "server/executor/recovery/module_variables.h"
#include "server/executor/recovery/restore.h"
#include "server/executor/service/client_entrance.h"
#include "server/executor/service/command_service.h"
#include "server/executor/service/fd_receiver.h"
#include "server/executor/session/session.h"
#include "server/executor/submission/kernel_watch.h"
#include "server/executor/transfer/transfer_service.h"
#include "server/journal/journal_reader.h"
#include "server/journal/journal_writer.h"
#include "server/rpc/accept_thread.h"
#include "server/rpc/callback_thread.h"
#include "server/rpc/connection_limits.h"
#include "server/rpc/malformed_request.h"

namespace holdfast {
namespace {

using executor::KernelOutput;
using executor::KernelWatch;
using executor::Session;
using executor::SessionJournal;
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

// Facts that need a context.
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
  std::shared_ptr<executor::ArenaPlaces> arena_places;
  std::shared_ptr<const cuda::Context> context;
  internal::Ready ready;
};

absl::StatusOr<WarmDriver> WarmUp(const cuda::DriverOptions& options,
                                  const ExecutorDevices& devices) {
  WarmDriver warm;
  HOLDFAST_ASSIGN_OR_RETURN(warm.output, KernelOutput::Capture());
  HOLDFAST_ASSIGN_OR_RETURN(warm.driver, cuda::LoadDriver(options));
  // A software driver that has not got the addresses has no use for them.
  if (!warm.driver->software || warm.driver->has_arena_range) {
    warm.arena_places =
        executor::ArenaPlaces::Make(warm.driver->has_arena_range);
  }
  const int count = warm.driver->device_count;
  if (devices.expected != 0 && devices.expected != static_cast<size_t>(count)) {
    return absl::NotFoundError(absl::StrCat(
        "--devices names ", devices.expected, ", of which the driver shows ",
        count, ": one does not exist, or is named twice"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(warm.driver->api, devices.warm));
  HOLDFAST_ASSIGN_OR_RETURN(warm.context, cuda::Context::RetainPrimary(device));
  // A session's memory needs addresses, which `ulimit -v` may deny: better now
  // than when there is a session. They are given back at once.
  HOLDFAST_RETURN_IF_ERROR(
      memory::DeviceAllocator::Create(warm.context, {}).status());
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

// nullptr: the session's tenant has no quota.
absl::StatusOr<std::shared_ptr<TenantShare>> MapTenantShare(
    const SupervisorLink::Assigned& assigned) {
  if (!assigned.tenant_page.valid()) return nullptr;
  return TenantShare::Map(assigned.tenant_page.get(), assigned.tenant_slot,
                          assigned.message.tenant());
}

executor::DevicePlacement PlacementOf(const internal::Assign& assign) {
  if (!assign.has_moved_to() || assign.devices_size() != 1) return {};
  return {assign.devices(0), assign.moved_to()};
}

// As the supervisor numbers devices.
internal::MemoryPlace InDriver(const executor::DevicePlacement& placement,
                               internal::MemoryPlace place) {
  if (place.has_device()) place.set_device(placement.InDriver(place.device()));
  return place;
}

// `link` must outlive it.
std::shared_ptr<Account> MakeAccount(const internal::Assign& assign,
                                     std::shared_ptr<TenantShare> tenant,
                                     SupervisorLink& link) {
  const executor::DevicePlacement placement = PlacementOf(assign);
  return std::make_shared<Account>(Account::Options{
      .limits = assign.limits(),
      .reserve =
          [&link, placement](const internal::MemoryPlace& place,
                             uint64_t bytes) {
            return link.Reserve(InDriver(placement, place), bytes);
          },
      .release =
          [&link, placement](const internal::MemoryPlace& place,
                             uint64_t bytes) {
            link.Release(InDriver(placement, place), bytes);
          },
      .tenant = std::move(tenant)});
}

// Null: kernels may run for as long as they like.
std::shared_ptr<KernelWatch> MakeKernelWatch(
    const internal::Assign& assign,
    const std::shared_ptr<SessionJournal>& journal) {
  if (assign.kernel_time_limit_ns() <= 0) return nullptr;
  const absl::Duration limit = absl::Nanoseconds(assign.kernel_time_limit_ns());
  return std::make_shared<KernelWatch>(KernelWatch::Options{
      .limit = limit,
      .exceeded =
          [limit, set_by = assign.kernel_time_limit_set_by()](
              const KernelWatch::Overrun& overrun) {
            executor::ExitWith(
                executor::TimeLimitFault(overrun, limit, set_by));
          },
      .looked =
          [journal](std::optional<KernelWatch::Clock::time_point> at) {
            if (journal == nullptr) return;
            const auto now = at.value_or(KernelWatch::Clock::time_point());
            journal->SetLooked(static_cast<uint64_t>(absl::ToInt64Nanoseconds(
                absl::FromChrono(now.time_since_epoch()))));
          }});
}

// Code that the software driver generates goes to the supervisor, since this
// process can open no file; see core/base/code_store.h.
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

// State that outlives this process goes to the supervisor, and into the
// journal.
void KeepForSuccessor(const std::shared_ptr<SessionJournal>& journal,
                      SupervisorLink& link, Session::Options* options) {
  options->journal = journal;
  executor::ResourceOptions& resources = options->resources;
  if (journal != nullptr) {
    resources.device_opened = [journal](uint32_t device, CUdeviceptr base) {
      journal->DeviceOpened(device, base);
    };
    resources.completed = [journal](uint64_t sequence) {
      journal->SetCompleted(sequence);
    };
    resources.host_memory_created =
        [journal, &link](const internal::HostMemoryCreated& created,
                         int memory) {
          link.SendHostMemoryCreated(created, memory);
          journal->ArenaRegistered(created);
        };
    resources.host_memory_released = [&link](uint64_t handle) {
      link.SendHostMemoryReleased(handle);
    };
  }
}

// Numbers of chunks begin anew for each executor of a session: a chunk that the
// session has freed, and that a collection or another session has still, is
// kept under its number. 2^20 chunks an executor; after 4096 executors they
// come again.
uint32_t FirstChunk(uint64_t epoch) {
  return 1 + static_cast<uint32_t>((epoch - 1) % 4096) * (1 << 20);
}

Session::Options SessionOptions(const internal::Assign& assign,
                                const cuda::DriverApi& api,
                                std::shared_ptr<TenantShare> tenant,
                                SupervisorLink& link, KernelOutput& output,
                                const std::shared_ptr<CounterPage>& counters) {
  Session::Options options;
  // All keep the page.
  options.counts = {counters, &counters->commands};
  options.resources.copies = {counters, &counters->copies};
  options.resources.times = {counters, &counters->times};
  options.resources.turns = {counters, &counters->turns};
  options.epoch = assign.epoch();
  options.received_through = assign.received_through();
  options.token = assign.token();
  options.output = &output;
  options.resources.hand_on_output = [&output] { output.Flush(); };
  options.resources.api = &api;
  options.resources.devices.assign(assign.devices().begin(),
                                   assign.devices().end());
  options.resources.placement = PlacementOf(assign);
  const auto account = MakeAccount(assign, std::move(tenant), link);
  link.OnLimitsChanged([account](const internal::AccountLimits& limits) {
    account->SetLimits(limits);
  });
  options.resources.account = account;
  options.resources.stream_priorities = assign.stream_priorities();
  options.resources.foreign_exports = !assign.no_foreign_exports();
  options.resources.first_chunk = FirstChunk(assign.epoch());
  options.resources.chunk_created = [&link, placement = PlacementOf(assign)](
                                        uint32_t device,
                                        const memory::Chunk& chunk) {
    link.SendChunkCreated(device, placement.InDriver(device), chunk);
  };
  options.resources.chunk_released = [&link](uint32_t device,
                                             const memory::Chunk& chunk) {
    link.SendChunkReleased(device, chunk);
  };
  options.resources.sharing = {
      .ask =
          [&link](const internal::SharingRequest& request, int descriptor) {
            return link.AskSharing(request, descriptor);
          },
      .released =
          [&link](uint64_t import) { link.SendImportReleased(import); }};
  options.fetch_object = [&link](absl::string_view sha256) {
    return link.FetchObject(sha256);
  };
  options.usage_changed = [&link, account] {
    internal::Usage usage;
    account->device_memory()->Report(
        usage.mutable_usage()->mutable_device_bytes());
    link.SendUsage(usage);
  };
  link.OnUsageAsked([copies = options.resources.copies,
                     waits = options.resources.waits,
                     account](internal::Usage* usage) {
    copies->Report(usage->mutable_copies());
    account->Report(usage->mutable_usage());
    waits->Report(usage->mutable_usage());
  });
  return options;
}

// Has no address of its own: connections are accepted and handed to it.
std::unique_ptr<grpc::Server> BuildServer(grpc::Service& commands,
                                          grpc::Service& transfers) {
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("executor");
  builder.SetResourceQuota(quota.Resize(kMaxConnectionBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxConcurrentStreams);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
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

// gRPC's initialisation, once in a process, takes longer than the rest of
// opening a session, and so do its threads: done while no client waits.
void StartGrpc() {
  StartCallbackThread();
  grpc::CallbackGenericService nothing;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&nothing);
  const auto server = builder.BuildAndStart();
  if (server != nullptr) server->Shutdown();
}

// nullptr: the supervisor keeps no journal.
absl::StatusOr<std::shared_ptr<SessionJournal>> OpenJournal(
    const SupervisorLink::Assigned& assigned) {
  if (!assigned.journal.valid()) return nullptr;
  HOLDFAST_ASSIGN_OR_RETURN(
      auto writer, journal::JournalWriter::Map(assigned.journal.get()));
  return std::make_shared<SessionJournal>(std::move(writer),
                                          assigned.message.received_through());
}

absl::Status RestoreArena(executor::Resources& resources,
                          const internal::HostMemoryCreated& created,
                          UniqueFd memory) {
  const uint64_t handle = created.handle();
  HOLDFAST_RETURN_IF_ERROR(resources.arenas.CheckNew(handle));
  HOLDFAST_ASSIGN_OR_RETURN(auto* device, resources.devices.OpenFirst());
  HOLDFAST_ASSIGN_OR_RETURN(Charge charge, resources.arenas.Reserve());
  HOLDFAST_ASSIGN_OR_RETURN(
      auto arena,
      executor::Arena::Create(
          device->context, std::move(memory), created.size(),
          *resources.account().arena_memory(),
          resources.options().arena_places.get(), created.address()));
  // Pointers to it may lie anywhere in the session's memory.
  if (created.address() != 0 && arena->lasting_address() != created.address()) {
    return absl::DataLossError(absl::StrCat(
        "its address, 0x", absl::Hex(created.address()), ", is not free"));
  }
  PutArena(resources, handle, std::move(arena), std::move(charge));
  return absl::OkStatus();
}

// Makes what the executor before this one had, if there was one; the session
// then waits for its client to acknowledge the fault.
absl::StatusOr<executor::Losses> RestoreSession(
    SupervisorLink::Assigned& assigned, SessionJournal& journal,
    const executor::ObjectFetcher& fetch_object, SupervisorLink& link,
    Session& session) {
  session.Pause();
  HOLDFAST_ASSIGN_OR_RETURN(const std::string records,
                            journal::ReadRecords(assigned.old_journal.get()));
  if (assigned.variables.valid()) {
    HOLDFAST_ASSIGN_OR_RETURN(
        assigned.inheritance.variables,
        executor::ReadVariables(assigned.variables.get()));
  }
  absl::StatusOr<executor::Losses> losses =
      absl::UnavailableError("the session is being closed");
  session.Run([&](executor::Resources& resources) {
    losses = executor::Restore(
        resources, std::move(assigned.inheritance), records,
        {.fetch_object = fetch_object,
         .journal = journal,
         .restore_arena = RestoreArena,
         .chunk_released =
             [&link](uint64_t chunk) { link.SendChunkReleased(chunk); },
         .host_memory_released =
             [&link](uint64_t handle) {
               link.SendHostMemoryReleased(handle);
             }});
  });
  return losses;
}

internal::Serving ServingWith(const executor::Losses& losses) {
  internal::Serving serving;
  for (const v1::LostResource& lost : losses.named) *serving.add_lost() = lost;
  serving.set_lost_count(losses.count);
  return serving;
}

// A stream that waits for a semaphore may wait for ever, and all that frees
// memory waits for streams: the end of the process frees it as well.
void ExitIfBlocked(executor::SemaphoreWaits& waits) {
  if (!waits.AnyPending()) return;
  LogInfo("ends with streams that wait for a semaphore");
  _exit(0);
}

// Returns when the supervisor says stop.
void CarryOutRequests(SupervisorLink& link, Session& session) {
  while (const auto request = link.AwaitRequest()) {
    const internal::ToExecutor& message = request->message;
    if (message.has_quiesce()) {
      const auto variables = session.Quiesce(
          message.quiesce().memory_stays(),
          absl::Now() + absl::Nanoseconds(message.quiesce().timeout_ns()));
      link.Answer(message, variables.status(),
                  variables.ok() ? variables->get() : -1);
    } else {
      link.Answer(message, session.SaveMemory(message.save_memory(),
                                              request->file.get()));
    }
  }
}

// Serves the session until the supervisor says stop; returns why it cannot.
absl::Status Serve(SupervisorLink::Assigned assigned, const WarmDriver& warm,
                   SupervisorLink& link, absl::Duration stall_limit) {
  KernelOutput& output = *warm.output;
  const internal::Assign& assign = assigned.message;
  SetProcessLogFields({.session = assign.session_id(),
                       .tenant = assign.tenant(),
                       .trace_id = assign.trace_id()});
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto inbox, executor::FdReceiver::Serve(
                            std::move(assigned.descriptors), assign.token()));
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd counter_memory, CreateCounterPage());
  HOLDFAST_ASSIGN_OR_RETURN(const auto counters,
                            MapCounterPage(counter_memory.get()));
  HOLDFAST_ASSIGN_OR_RETURN(auto tenant, MapTenantShare(assigned));
  Session::Options options = SessionOptions(
      assign, warm.driver->api, std::move(tenant), link, output, counters);
  options.resources.arena_places = warm.arena_places;
  const auto waits = options.resources.waits;
  options.resources.sharing.claim = [&inbox](absl::string_view token) {
    return inbox->Claim(token);
  };
  HOLDFAST_ASSIGN_OR_RETURN(const auto journal, OpenJournal(assigned));
  KeepForSuccessor(journal, link, &options);
  options.resources.kernel_watch = MakeKernelWatch(assign, journal);
  executor::ExitOnFault(link, output);
  const auto fetch_object = options.fetch_object;
  executor::ClientEntrance entrance;
  options.authenticated = [&entrance](const std::string& peer) {
    entrance.Welcome(peer);
  };
  Session session(std::move(options));
  link.OnResume([&session] { session.Resume(); });
  const auto no_more = absl::MakeCleanup([&link] { link.OnResume(nullptr); });
  internal::Serving serving;
  if (assigned.old_journal.valid() && journal != nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const executor::Losses losses,
        RestoreSession(assigned, *journal, fetch_object, link, session));
    serving = ServingWith(losses);
  }
  executor::CommandService commands(session, *inbox, kMaxMessageBytes);
  executor::TransferService transfers(session, *inbox, stall_limit);
  // A client is told at once: until the server has been built, its connection
  // waits in the socket, which listens already.
  link.SendServing(serving, counter_memory.get());
  const auto server = BuildServer(commands, transfers);
  if (server == nullptr) {
    return absl::InternalError("the gRPC server could not be built");
  }
  auto accepting = std::make_unique<AcceptThread>(
      std::move(assigned.calls), assign.session_id(),
      [&server, &entrance](UniqueFd connection) {
        if (!entrance.Admit(connection.get())) return;
        grpc::AddInsecureChannelFromFd(server.get(), connection.Release());
      });
  LogDebug("serving ", assign.session_id());
  CarryOutRequests(link, session);
  accepting.reset();
  session.Stop();
  ExitIfBlocked(*waits);
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
  return absl::OkStatus();
}

// The same; a thread that the system refuses is an error, and not the end of
// the process.
absl::Status ServeOrSay(SupervisorLink::Assigned assigned,
                        const WarmDriver& warm, SupervisorLink& link,
                        absl::Duration stall_limit) {
  try {
    return Serve(std::move(assigned), warm, link, stall_limit);
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread for the session: ", error.what()));
  }
}

absl::Status CarryOutCopy(SupervisorLink::Request& request,
                          const std::shared_ptr<const cuda::Context>& context,
                          SupervisorLink& link) {
  const internal::ToExecutor& message = request.message;
  const bool save = message.has_save_chunk();
  const internal::CopiedChunk& chunk =
      save ? message.save_chunk() : message.load_chunk();
  if (chunk.device() != static_cast<uint32_t>(context->device().ordinal())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a chunk of device ", chunk.device(), " for an executor on device ",
        context->device().ordinal()));
  }
  if (save) {
    HOLDFAST_RETURN_IF_ERROR(executor::SaveChunk(
        context, std::move(request.chunk), chunk.size(), request.file.get()));
    link.Answer(message, absl::OkStatus());
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto loaded,
      executor::LoadedChunk::Load(context, chunk.size(), request.file.get()));
  link.Answer(message, absl::OkStatus(), loaded.descriptor());
  return absl::OkStatus();
}

// Copies chunks of no session until the executor has a session of its own.
void CarryOutCopies(SupervisorLink& link,
                    const std::shared_ptr<const cuda::Context>& context) {
  while (auto request = link.AwaitCopy()) {
    const absl::Status copied = CarryOutCopy(*request, context, link);
    if (!copied.ok()) link.Answer(request->message, copied);
  }
}

// The policy, with the driver's file resolved while all files can be seen.
SandboxPolicy PolicyOf(SandboxRole role, const std::string& mps_pipe_directory,
                       cuda::DriverOptions* driver) {
  std::string software;
  if (driver->choice != cuda::DriverChoice::kCuda) {
    software = cuda::FindSoftwareDriver(*driver);
  }
  // Where there is none, loading it says where it was looked for.
  if (!software.empty()) driver->software_driver_path = software;
  return role == SandboxRole::kCudaExecutor
             ? CudaExecutorPolicy(software, mps_pipe_directory)
             : SoftwareExecutorPolicy(software);
}

int Fail(SupervisorLink& link, const absl::Status& status) {
  link.SendReady(status);
  return 1;
}

}  // namespace

int ExecutorMain(UniqueFd channel, const ExecutorOptions& options) {
  cuda::DriverOptions driver = options.driver;
  Sandbox sandbox(PolicyOf(options.role, options.mps_pipe_directory, &driver),
                  options.sandbox);
  KeepFreedMemoryOfManyReads();
  // Kept up until the process ends: gRPC's full shutdown may wait 10 s for a
  // poller that a large write has left behind.
  grpc_init();
  SupervisorLink link(std::move(channel));
  auto warm = WarmUp(driver, options.devices);
  if (!warm.ok()) return Fail(link, ExplainAddressLimit(warm.status()));
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
  CarryOutCopies(link, warm->context);
  auto assigned = link.AwaitAssign();
  if (!assigned.ok()) return 0;
  const absl::Status served =
      ServeOrSay(*std::move(assigned), *warm, link, options.stall_limit);
  if (served.ok()) return 0;
  link.SendServing(served);
  return 1;
}

}  // namespace holdfast
