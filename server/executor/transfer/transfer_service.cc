// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/transfer_service.h"

#include <fcntl.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/base/status_macros.h"
#include "server/executor/memory/arena.h"
#include "server/executor/transfer/pipe_transfers.h"
#include "server/relay/transfer_pipe.h"
#include "server/rpc/metadata.h"
#include "server/rpc/unary_call.h"

namespace holdfast::executor {
namespace {

// INVALID_ARGUMENT, FAILED_PRECONDITION: the call has handed over no pipe.
absl::StatusOr<std::unique_ptr<TransferPipe>> ClaimPipe(
    const grpc::ServerContextBase& context, FdReceiver& inbox) {
  const auto digits = FindMetadata(context, kRingsKey);
  if (!digits.has_value() || digits->size() > kRingsKey.max_bytes) {
    return absl::InvalidArgumentError("a pipe without its memory");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                            inbox.Claim(absl::HexStringToBytes(*digits)));
  return TransferPipe::Map(memory.get(), TransferPipe::End::kExecutor);
}

// Page-locking takes long, so it does not happen on the submission thread.
absl::Status MakeArena(Session& session, const std::stop_token& cancelled,
                       const v1::RegisterArenaRequest& request,
                       UniqueFd descriptor, uint64_t* address) {
  std::shared_ptr<const cuda::Context> context;
  std::shared_ptr<Quota> quota;
  std::shared_ptr<ArenaPlaces> places;
  absl::StatusOr<Charge> charge;
  absl::Status status = absl::UnavailableError("the session is being closed");
  (void)session.Run([&](Resources& resources) {
    status = resources.arenas.CheckNew(request.arena());
    const auto device = resources.devices.OpenFirst();
    if (status.ok()) status = device.status();
    if (status.ok()) charge = resources.arenas.Reserve();
    if (status.ok()) status = charge.status();
    if (!status.ok()) return;
    context = (*device)->context;
    quota = resources.account().arena_memory();
    places = resources.options().arena_places;
  });
  HOLDFAST_RETURN_IF_ERROR(status);
  // There may be room only without arenas that were freed and that a device
  // still uses.
  if (!quota->AwaitSettled(request.size(), cancelled)) {
    return absl::CancelledError("given up");
  }
  const int memory = descriptor.get();
  const UniqueFd kept(memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0));
  HOLDFAST_ASSIGN_OR_RETURN(
      auto arena,
      Arena::Create(std::move(context), std::move(descriptor), request.size(),
                    *quota, places.get(), request.address()));
  *address = arena->lasting_address();
  status = absl::UnavailableError("the session is being closed");
  (void)session.Run([&](Resources& resources) {
    // Another call may have taken the handle meanwhile.
    status = resources.arenas.CheckNew(request.arena());
    if (!status.ok()) return;
    const auto& created = resources.options().host_memory_created;
    internal::HostMemoryCreated memory;
    memory.set_handle(request.arena());
    memory.set_size(request.size());
    memory.set_address(*address);
    if (created) created(memory, kept.get());
    PutArena(resources, request.arena(), std::move(arena), *std::move(charge));
  });
  return status;
}

ServedStream* RefuseBytes(grpc::CallbackServerContext* context) {
  auto* const call = new ServedStream(*context, /*stall_guard=*/nullptr);
  call->End(absl::UnimplementedError(
      "an executor takes no bytes in messages of their own: a client on its "
      "machine sends them with commands or by an arena, and any other client "
      "calls the daemon"));
  return call;
}

}  // namespace

TransferService::TransferService(Session& session, FdReceiver& inbox,
                                 absl::Duration stall_limit)
    : session_(session), inbox_(inbox), stall_guard_(stall_limit) {
  AddStream(0, "/holdfast.v1.TransferService/Upload", RefuseBytes);
  AddStream(1, "/holdfast.v1.TransferService/Download", RefuseBytes);
  AddStream(2, TransferPipe::kMethod,
            [this](auto* context) { return StartPipe(context); });
  AddMethod(new grpc::internal::RpcServiceMethod(
      "/holdfast.v1.TransferService/RegisterArena",
      grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
  MarkMethodCallback(
      3, new grpc::internal::CallbackUnaryHandler<v1::RegisterArenaRequest,
                                                  v1::RegisterArenaResponse>(
             [this](auto* context, const auto* request, auto* response) {
               return RegisterArena(context, request, response);
             }));
}

void TransferService::AddStream(int index, const char* method, Start start) {
  AddMethod(new grpc::internal::RpcServiceMethod(
      method, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(
      index, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer,
                                                     grpc::ByteBuffer>(
                 std::move(start)));
}

absl::StatusOr<std::shared_ptr<void>> TransferService::Admit(
    const grpc::ServerContextBase& context) {
  HOLDFAST_RETURN_IF_ERROR(session_.Authenticate(context));
  return calls_.Take();
}

ServedStream* TransferService::StartPipe(grpc::CallbackServerContext* context) {
  auto* const call = new ServedStream(*context, &stall_guard_);
  auto admitted = Admit(*context);
  if (!admitted.ok()) {
    call->End(admitted.status());
    return call;
  }
  call->Serve(threads_, [this, call, count = *std::move(admitted)] {
    return ServePipe(*call);
  });
  return call;
}

absl::Status TransferService::ServePipe(ServedStream& call) {
  HOLDFAST_ASSIGN_OR_RETURN(std::shared_ptr<TransferPipe> pipe,
                            ClaimPipe(call.context(), inbox_));
  call.context().AddInitialMetadata(kRingsKey.name, "taken");
  call.StartSendInitialMetadata();
  return PipeTransfers(session_, call, tries_, stall_guard_, std::move(pipe))
      .Serve();
}

grpc::ServerUnaryReactor* TransferService::RegisterArena(
    grpc::CallbackServerContext* context,
    const v1::RegisterArenaRequest* request,
    v1::RegisterArenaResponse* response) {
  auto admitted = Admit(*context);
  if (!admitted.ok()) return Answer(context, admitted.status());
  return AnswerInThread(
      context, threads_, /*client=*/"",
      [this, request, response, count = *std::move(admitted)](
          const std::stop_token& cancelled) -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const SessionGate::Pass pass,
                                  session_.gate().Enter(cancelled));
        HOLDFAST_ASSIGN_OR_RETURN(UniqueFd descriptor,
                                  inbox_.Claim(request->descriptor_token()));
        uint64_t address = 0;
        HOLDFAST_RETURN_IF_ERROR(MakeArena(session_, cancelled, *request,
                                           std::move(descriptor), &address));
        response->set_address(address);
        return absl::OkStatus();
      });
}

}  // namespace holdfast::executor
