// SPDX-License-Identifier: Apache-2.0
//
// The client's part of a command: a name for what it makes, and its bytes.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "client/cpp/submission/handle_pool.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/message_ring.h"
#include "google/protobuf/arena.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {
namespace {

constexpr int kBatch = 512;

void WriteDim3(wire::MessageField field, WireWriter& writer) {
  writer.Message(field, [&] {
    writer.Write(v1::fields::Dim3::kX, 196);
    writer.Write(v1::fields::Dim3::kY, 1);
    writer.Write(v1::fields::Dim3::kZ, 1);
  });
}

// A launch with so many buffers as arguments, field by field.
void WriteLaunch(int arguments, WireWriter& writer) {
  writer.Message(v1::fields::Command::kLaunch, [&] {
    writer.Write(v1::fields::Launch::kKernel, 0x0500000100000001);
    writer.Write(v1::fields::Launch::kStream, 0x0100000100000001);
    WriteDim3(v1::fields::Launch::kGrid, writer);
    WriteDim3(v1::fields::Launch::kBlock, writer);
    for (int i = 0; i < arguments; ++i) {
      writer.Message(v1::fields::Launch::kArguments, [&] {
        writer.Message(v1::fields::Argument::kBuffer, [&] {
          writer.Write(v1::fields::BufferArgument::kBuffer, 0x0300000100000001);
        });
      });
    }
  });
}

void BM_EncodeLaunch(benchmark::State& state) {
  WireWriter writer(256 << 10);
  for (auto _ : state) {
    writer.Truncate(0);
    for (int i = 0; i < kBatch; ++i) {
      writer.Message(v1::fields::CommandBatch::kCommands, [&] {
        WriteLaunch(static_cast<int>(state.range(0)), writer);
      });
    }
    benchmark::DoNotOptimize(writer.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_EncodeLaunch)->Arg(0)->Arg(4)->Arg(16);

// The same by way of message objects.
void BM_EncodeLaunchAsMessages(benchmark::State& state) {
  google::protobuf::ArenaOptions options;
  options.start_block_size = options.max_block_size = 1 << 20;
  google::protobuf::Arena arena(options);
  std::string bytes;
  for (auto _ : state) {
    arena.Reset();
    auto* batch =
        google::protobuf::Arena::CreateMessage<v1::CommandBatch>(&arena);
    for (int i = 0; i < kBatch; ++i) {
      v1::Launch& launch = *batch->add_commands()->mutable_launch();
      launch.set_kernel(0x0500000100000001);
      launch.set_stream(0x0100000100000001);
      launch.mutable_grid()->set_x(196);
      launch.mutable_block()->set_x(196);
      for (int j = 0; j < state.range(0); ++j) {
        launch.add_arguments()->mutable_buffer()->set_buffer(
            0x0300000100000001);
      }
    }
    batch->SerializeToString(&bytes);
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_EncodeLaunchAsMessages)->Arg(4);

void BM_HandleAllocateAndFree(benchmark::State& state) {
  HandlePool handles(1 << 18);
  for (auto _ : state) handles.Free(*handles.Allocate(HandleKind::kBuffer));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_HandleAllocateAndFree)->ThreadRange(1, 2);

// One message through a ring, in one thread: both copies, no waiting.
void BM_RingMessage(benchmark::State& state) {
  constexpr size_t kCapacity = size_t{256} << 10;
  RingCounts counts = {};
  const auto bytes = std::make_unique<char[]>(kCapacity);
  RingWriter writer({&counts, bytes.get(), kCapacity});
  RingReader reader({&counts, bytes.get(), kCapacity}, kCapacity);
  const std::string message(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    if (!writer.Write(message).ok() || !reader.Read().ok()) {
      state.SkipWithError("the ring failed");
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RingMessage)->Arg(64)->Arg(64 << 10);

}  // namespace
}  // namespace holdfast

BENCHMARK_MAIN();
