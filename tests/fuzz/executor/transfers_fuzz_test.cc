// SPDX-License-Identifier: Apache-2.0
//
// The daemon's pipes: messages in any order, of any bytes, with and without the
// token, given up at any point, several pipes at a time. A good transfer moves
// its bytes, whatever was tried before.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/descriptor_socket.h"
#include "core/base/handle.h"
#include "core/base/ring_pair.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "server/relay/ring_call.h"
#include "server/relay/transfer_pipe.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/message_mutator.h"
#include "tests/fuzz/executor/hosted_executor.h"
#include "tests/fuzz/executor/neighbour.h"
#include "tests/testing/pipe_client.h"

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

v1::TransferRange Range(uint64_t buffer, uint64_t offset, uint64_t size) {
  v1::TransferRange range;
  range.set_buffer(buffer);
  range.set_offset(offset);
  range.set_size(size);
  range.set_stream(kStream);
  range.set_after_sequence(kLastSequence);
  return range;
}

// One client and its executor.
class Client {
 public:
  explicit Client(Random& random) : random_(random) {}

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
    const auto pipes =
        testing::PipesTo(executor_.channel(), executor_.descriptor_path(),
                         HostedSession::token());
    HOLDFAST_ASSIGN_OR_RETURN(const auto lease, pipes->Take());
    HOLDFAST_RETURN_IF_ERROR(lease->Open({}, absl::InfiniteFuture()));
    const v1::TransferRange range = Range(kOwn, offset, size);
    HOLDFAST_RETURN_IF_ERROR(
        testing::UploadBytes(lease->pipe(), range, bytes,
                             1 + random_.Below(TransferPipe::kSlotBytes)));
    HOLDFAST_ASSIGN_OR_RETURN(const std::string back,
                              testing::DownloadBytes(lease->pipe(), range));
    HOLDFAST_FUZZ_EXPECT(back == bytes, "other bytes came back: ", size, " at ",
                         offset);
    return absl::OkStatus();
  }

  uint64_t refused() const { return refused_; }

  absl::Status End() {
    for (const auto& pipe : open_pipes_) {
      pipe->Cancel();
      pipe->AwaitEnd();
    }
    open_pipes_.clear();
    return executor_.End();
  }

 private:
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

  Random& random_;
  HostedExecutor executor_;
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
      status = client.HostilePipe();
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
