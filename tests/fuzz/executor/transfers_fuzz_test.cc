// SPDX-License-Identifier: Apache-2.0
//
// Upload and Download, and the daemon's pipes: streams of messages in any
// order, of any bytes, with and without the token, given up at any point,
// several at a time. A good transfer moves its bytes, whatever was tried
// before.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "core/base/handle.h"
#include "core/base/ring_pair.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/metadata.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"
#include "tests/fuzz/engine/byte_mutator.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/message_mutator.h"
#include "tests/fuzz/executor/hosted_executor.h"
#include "tests/fuzz/executor/neighbour.h"

namespace holdfast::fuzz {
namespace {

constexpr uint64_t kStream = Handle{HandleKind::kStream, 1, 0}.Pack();
constexpr uint64_t kBuffer = Handle{HandleKind::kBuffer, 1, 0}.Pack();
constexpr uint64_t kHost = Handle{HandleKind::kBuffer, 1, 1}.Pack();
// Hostile calls do not name it, since those that are open may write at any
// time.
constexpr uint64_t kOwn = Handle{HandleKind::kBuffer, 77, 900}.Pack();
constexpr uint64_t kSize = (uint64_t{2} << 20) + 5;
constexpr uint64_t kLastSequence = 4;
constexpr std::chrono::milliseconds kCallLimit{60'000};
constexpr std::chrono::milliseconds kWaitLimit{50};

v1::TransferRange Range(uint64_t buffer, uint64_t offset, uint64_t size) {
  v1::TransferRange range;
  range.set_buffer(buffer);
  range.set_offset(offset);
  range.set_size(size);
  range.set_stream(kStream);
  range.set_after_sequence(kLastSequence);
  return range;
}

std::string Header(const v1::TransferRange& range) {
  v1::UploadRequest request;
  *request.mutable_header() = range;
  return request.SerializeAsString();
}

std::string Data(std::string bytes) {
  v1::UploadRequest request;
  request.set_data(std::move(bytes));
  return request.SerializeAsString();
}

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// A call whose messages are any bytes. Operations are waited for one by one.
class RawCall {
 public:
  RawCall(grpc::GenericStub& stub, const std::string& method,
          std::unique_ptr<grpc::ClientContext> context)
      : context_(std::move(context)),
        call_(stub.PrepareCall(context_.get(),
                               "/holdfast.v1.TransferService/" + method,
                               &queue_)) {
    call_->StartCall(nullptr);
    Await();
  }
  ~RawCall() {
    if (!finished_) {
      context_->TryCancel();
      Finish();
    }
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;

  bool Write(const std::string& message) {
    call_->Write(Buffer(message), nullptr);
    return Await();
  }
  bool WritesDone() {
    call_->WritesDone(nullptr);
    return Await();
  }
  bool Read(grpc::ByteBuffer* message) {
    call_->Read(message, nullptr);
    return Await();
  }
  void Cancel() { context_->TryCancel(); }
  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Await();
    finished_ = true;
    return status;
  }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    return ok;
  }

  const std::unique_ptr<grpc::ClientContext> context_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

// One client and its executor.
class Client {
 public:
  explicit Client(Random& random)
      : random_(random), stub_(executor_.channel()) {}

  absl::Status SetUp() {
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    batch.add_commands()->mutable_create_stream()->set_stream(kStream);
    for (const uint64_t buffer : {kBuffer, kHost, kOwn}) {
      auto& allocate = *batch.add_commands()->mutable_allocate_buffer();
      allocate.set_buffer(buffer);
      allocate.set_size(kSize);
      if (buffer != kHost) {
        allocate.set_device(0);
      } else {
        allocate.mutable_host();
      }
    }
    HOLDFAST_ASSIGN_OR_RETURN(const v1::ResultBatch results,
                              executor_.session().Run(batch));
    HOLDFAST_FUZZ_EXPECT(results.results_size() == 0, results.DebugString());
    return absl::OkStatus();
  }

  absl::Status Act() {
    if (open_.size() > 8) open_.erase(open_.begin());
    switch (random_.Below(4)) {
      case 0:
        return HostileDownload();
      case 1:
        return HostilePipe();
      default:
        return HostileUpload();
    }
  }

  // The daemon, if it were hostile, or a client that plays the daemon.
  absl::Status HostilePipe() {
    const size_t slots = TransferPipe::kSlots * TransferPipe::kSlotBytes;
    const size_t behind = random_.OneIn(8) ? random_.Below(2 * slots) : slots;
    HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                              RingPair::CreateMemory(behind));
    HOLDFAST_ASSIGN_OR_RETURN(
        const std::shared_ptr<RingPair> rings,
        RingPair::Map(memory.get(), RingPair::End::kClient, 64 << 10, behind));
    HOLDFAST_ASSIGN_OR_RETURN(const std::string token,
                              SendFd(executor_.descriptor_path(),
                                     HostedSession::token(), memory.get()));
    const auto call = std::make_shared<RingCall>(executor_.channel());
    if (!random_.OneIn(12)) HostedExecutor::Authorize(&call->context());
    call->Start(TransferPipe::kMethod, absl::BytesToHexString(token),
                [rings] { rings->Close(); });
    if (!call->AwaitTaken()) {
      call->EndUp();
      return Check(call->AwaitEnd());
    }
    for (uint64_t count = random_.Below(12); count > 0; --count) {
      const std::string message =
          random_.OneIn(3) ? BeginPipe() : HostilePipeMessage();
      if (!rings->writer().TryWrite(message).value_or(false)) break;
      if (random_.OneIn(4)) rings->reader().Await(absl::Milliseconds(1));
      static_cast<void>(rings->reader().Read());
    }
    if (random_.OneIn(4) && open_pipes_.size() < 8) {
      open_pipes_.push_back(call);
      return absl::OkStatus();
    }
    call->Cancel();
    return Check(call->AwaitEnd());
  }

  // Bytes that go up and come down again, beside what is still open.
  absl::Status CheckServes() {
    const uint64_t size = 1 + random_.Below(kSize);
    const uint64_t offset = random_.Below(kSize - size + 1);
    std::string bytes = random_.Bytes(std::min<uint64_t>(size, 4096));
    bytes.resize(size, static_cast<char>(random_.Next()));
    RawCall up(stub_, "Upload", Context(/*hostile=*/false));
    up.Write(Header(Range(kOwn, offset, size)));
    for (uint64_t at = 0; at < size;) {
      const uint64_t piece = 1 + random_.Below(uint64_t{1} << 20);
      up.Write(Data(bytes.substr(at, piece)));
      at += piece;
    }
    up.WritesDone();
    grpc::ByteBuffer answer;
    up.Read(&answer);
    grpc::Status status = up.Finish();
    HOLDFAST_FUZZ_EXPECT(status.ok(), status.error_message());
    v1::DownloadRequest request;
    *request.mutable_range() = Range(kOwn, offset, size);
    std::string back;
    status = Download(request.SerializeAsString(), Context(false), &back);
    HOLDFAST_FUZZ_EXPECT(status.ok(), status.error_message());
    HOLDFAST_FUZZ_EXPECT(back == bytes, "other bytes came back: ", size, " at ",
                         offset);
    return absl::OkStatus();
  }

  uint64_t refused() const { return refused_; }

  absl::Status End() {
    open_.clear();
    for (const auto& pipe : open_pipes_) {
      pipe->Cancel();
      pipe->AwaitEnd();
    }
    open_pipes_.clear();
    return executor_.End();
  }

 private:
  // `waits`: the call waits for a command that never comes.
  std::unique_ptr<grpc::ClientContext> Context(bool hostile,
                                               bool waits = false) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() +
                          (waits ? kWaitLimit : kCallLimit));
    if (!hostile || !random_.OneIn(12)) {
      HostedExecutor::Authorize(context.get());
    } else if (random_.OneIn(2)) {
      context->AddMetadata(kSessionTokenKey.name,
                           std::string(random_.Below(70), 'a'));
    }
    return context;
  }

  static bool Waits(const v1::TransferRange& range) {
    return range.after_sequence() > kLastSequence;
  }

  v1::TransferRange HostileRange() {
    v1::TransferRange range =
        Range(random_.OneIn(2) ? kBuffer : kHost, random_.Below(kSize),
              random_.Below(2 * kSize));
    if (random_.OneIn(2)) {
      MessageMutator::Mutate(&range, 1 + random_.Below(3), random_);
    }
    // It would wait for commands that do not come, and be found to be well.
    if (Waits(range) && !random_.OneIn(8)) {
      range.set_after_sequence(random_.Below(kLastSequence + 1));
    }
    return range;
  }

  std::string HostileMessage(const v1::TransferRange& range) {
    switch (random_.Below(8)) {
      case 0:
        return Header(HostileRange());
      case 1:
        return random_.Bytes(random_.Below(64));
      case 2: {
        std::string bytes = Header(range);
        ByteMutator({bytes, Data("bytes")}).Edit(&bytes, random_);
        return bytes;
      }
      case 3:
        return Data("");
      case 4:  // More than a message may have.
        return Data(std::string((1 << 20) + random_.Below(3), 'x'));
      default:
        return Data(std::string(random_.Below(200'000), 'y'));
    }
  }

  absl::Status HostileUpload() {
    const v1::TransferRange range = HostileRange();
    auto call = std::make_unique<RawCall>(
        stub_, "Upload", Context(/*hostile=*/true, Waits(range)));
    bool open = random_.OneIn(10) || call->Write(Header(range));
    for (uint64_t count = random_.Below(8); open && count > 0; --count) {
      open = call->Write(HostileMessage(range));
    }
    return Leave(std::move(call), range);
  }

  // A call is left open, given up, or ended and its status looked at.
  absl::Status Leave(std::unique_ptr<RawCall> call,
                     const v1::TransferRange& range) {
    if (random_.OneIn(4)) {
      open_.push_back(std::move(call));
      return absl::OkStatus();
    }
    if (random_.OneIn(4)) call->Cancel();
    call->WritesDone();
    ReadAll(*call, UINT64_MAX);
    return Check(call->Finish());
  }

  void ReadAll(RawCall& call, uint64_t messages) {
    for (grpc::ByteBuffer message; messages > 0 && call.Read(&message);
         --messages) {
    }
  }

  std::string HostilePipeMessage() {
    internal::PipeMessage message;
    switch (random_.Below(6)) {
      case 0:
        return random_.Bytes(random_.Below(64));
      case 1:
        message = ReturnedSlot(random_.Below(6));
        break;
      case 2:
        message.set_no_more_slots(true);
        break;
      case 3:
        MessageMutator::Mutate(&message, 1 + random_.Below(3), random_);
        break;
      default:
        message = FilledSlot(random_.Below(6), random_.Below(2 << 20));
    }
    return message.SerializeAsString();
  }

  std::string BeginPipe() {
    internal::PipeMessage message;
    internal::BeginTransfer& begin = *message.mutable_begin();
    begin.set_direction(random_.OneIn(2)
                            ? internal::BeginTransfer::DIRECTION_UPLOAD
                            : internal::BeginTransfer::DIRECTION_DOWNLOAD);
    *begin.mutable_range() = HostileRange();
    if (random_.OneIn(4)) begin.set_upload_try(random_.OneIn(2) ? "a/1" : "x");
    return message.SerializeAsString();
  }

  absl::Status Check(const grpc::Status& status) {
    if (status.ok()) return absl::OkStatus();
    ++refused_;
    return CheckError(status.error_code(), status.error_message());
  }

  absl::Status HostileDownload() {
    v1::DownloadRequest request;
    *request.mutable_range() = HostileRange();
    std::string bytes = request.SerializeAsString();
    if (random_.OneIn(6)) ByteMutator({bytes}).Edit(&bytes, random_);
    // Its state decides whether it waits for ever.
    if (!request.ParseFromString(bytes)) request.Clear();
    auto call = std::make_unique<RawCall>(
        stub_, "Download", Context(/*hostile=*/true, Waits(request.range())));
    call->Write(bytes);
    ReadAll(*call, random_.Below(4));
    return Leave(std::move(call), request.range());
  }

  grpc::Status Download(const std::string& request,
                        std::unique_ptr<grpc::ClientContext> context,
                        std::string* bytes) {
    RawCall call(stub_, "Download", std::move(context));
    call.Write(request);
    call.WritesDone();
    grpc::ByteBuffer message;
    while (call.Read(&message)) {
      v1::DownloadResponse response;
      grpc::ProtoBufferReader reader(&message);
      response.ParseFromZeroCopyStream(&reader);
      bytes->append(response.data());
    }
    return call.Finish();
  }

  Random& random_;
  HostedExecutor executor_;
  grpc::GenericStub stub_;
  std::vector<std::unique_ptr<RawCall>> open_;
  std::vector<std::shared_ptr<RingCall>> open_pipes_;
  uint64_t refused_ = 0;
};

class TransfersTarget : public FuzzTarget {
 public:
  // A first client and a first pipe take things for good: those are no finding.
  TransfersTarget() {
    Random random(0);
    static_cast<void>(Play(random));
    Client client(random);
    static_cast<void>(client.HostilePipe());
    static_cast<void>(client.End());
  }

  absl::Status Execute(Random& random) override {
    const Holdings before;
    absl::Status status = Play(random);
    status.Update(before.CheckNothingMore());
    status.Update(neighbour_.Check());
    return status;
  }

  std::string Summary() const override {
    return absl::StrCat(calls_, " calls, ", refused_, " refused; ",
                        neighbour_.rounds(), " rounds of a neighbour verified");
  }

 private:
  absl::Status Play(Random& random) {
    Client client(random);
    absl::Status status = client.SetUp();
    for (uint64_t acts = 2 + random.Below(10); acts > 0 && status.ok();
         --acts) {
      status = client.Act();
      ++calls_;
    }
    if (status.ok()) status = client.CheckServes();
    refused_ += client.refused();
    status.Update(client.End());
    return status;
  }

  Neighbour neighbour_;
  uint64_t calls_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::TransfersTarget>();
  });
}
