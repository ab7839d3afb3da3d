// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/wire_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "client/cpp/launch_attributes.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {
namespace {

template <typename Message>
Message Parse(const WireWriter& writer) {
  Message message;
  EXPECT_TRUE(
      message.ParseFromArray(writer.data(), static_cast<int>(writer.size())));
  return message;
}

TEST(WireWriterTest, EveryKindOfFieldComesBack) {
  WireWriter writer(1);
  writer.Write(v1::fields::Argument::kU64,
               std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Parse<v1::Argument>(writer).u64(),
            std::numeric_limits<uint64_t>::max());
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kI32, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(Parse<v1::Argument>(writer).i32(),
            std::numeric_limits<int32_t>::min());
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kI64, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Parse<v1::Argument>(writer).i64(),
            std::numeric_limits<int64_t>::min());
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kF32, -0.5f);
  EXPECT_EQ(Parse<v1::Argument>(writer).f32(), -0.5f);
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kF64, 1e300);
  EXPECT_EQ(Parse<v1::Argument>(writer).f64(), 1e300);
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kTexture, 0x0123456789abcdef);
  EXPECT_EQ(Parse<v1::Argument>(writer).texture(), 0x0123456789abcdefu);
  writer.Truncate(0);
  writer.Write(v1::fields::FillBuffer::kWord, 0xdeadbeef);
  EXPECT_EQ(Parse<v1::FillBuffer>(writer).word(), 0xdeadbeefu);
  writer.Truncate(0);
  writer.Write(v1::fields::Argument::kRaw, nullptr, 0);
  EXPECT_TRUE(Parse<v1::Argument>(writer).has_raw());
}

// Lengths of one, two, three and four bytes, at the edges between them.
TEST(WireWriterTest, LengthsOfMessagesMayGrowTheirPlace) {
  for (const size_t size : {0, 1, 100, 124, 125, 126, 127, 128, 200, 16378,
                            16379, 16380, 16381, 16384, 20000, 2'100'000}) {
    const std::string data(size, 'x');
    WireWriter writer(8);
    writer.Message(v1::fields::Command::kWriteBuffer, [&] {
      writer.Write(v1::fields::WriteBuffer::kStream, 7);
      writer.Write(v1::fields::WriteBuffer::kData, data.data(), size);
    });
    writer.Message(v1::fields::Command::kWriteBuffer,
                   [&] { writer.Write(v1::fields::WriteBuffer::kBuffer, 9); });
    // Two of one message are merged: what follows the first is in its place.
    const auto command = Parse<v1::Command>(writer);
    EXPECT_EQ(command.write_buffer().stream(), 7u) << size;
    EXPECT_EQ(command.write_buffer().buffer(), 9u) << size;
    EXPECT_EQ(command.write_buffer().data(), data) << size;
  }
}

TEST(WireWriterTest, LastBytesCountInTheLengthsOfAllMessagesThatTheyAreIn) {
  for (const size_t size :
       {0, 1, 100, 121, 122, 123, 127, 128, 16376, 16384, 65536, 2'100'000}) {
    const std::string data(size, 'x');
    WireWriter writer(8);
    for (uint64_t buffer : {1, 2}) {
      writer.Message(v1::fields::CommandBatch::kCommands, [&] {
        writer.Message(v1::fields::Command::kWriteBuffer, [&] {
          writer.Write(v1::fields::WriteBuffer::kBuffer, buffer);
          writer.WriteLast(v1::fields::WriteBuffer::kData, data);
        });
      });
    }
    const auto batch = Parse<v1::CommandBatch>(writer);
    ASSERT_EQ(batch.commands_size(), 2) << size;
    for (int i : {0, 1}) {
      EXPECT_EQ(batch.commands(i).write_buffer().buffer(), i + 1u) << size;
      EXPECT_EQ(batch.commands(i).write_buffer().data(), data) << size;
    }
  }
}

// Some command, as an object and as it is written field by field.
void MakeRandom(std::mt19937_64& random, v1::CommandBatch* batch,
                WireWriter& writer) {
  const uint64_t handle = random(), stream = random();
  const uint64_t value = random() >> (random() % 64);
  const std::string raw(random() % 300, 'r');
  v1::Launch& launch = *batch->add_commands()->mutable_launch();
  launch.set_kernel(handle);
  launch.set_stream(stream);
  launch.mutable_grid()->set_x(static_cast<uint32_t>(value));
  launch.add_arguments()->set_u64(value);
  launch.add_arguments()->set_raw(raw);
  writer.Message(v1::fields::CommandBatch::kCommands, [&] {
    writer.Message(v1::fields::Command::kLaunch, [&] {
      writer.Write(v1::fields::Launch::kKernel, handle);
      writer.Write(v1::fields::Launch::kStream, stream);
      writer.Message(v1::fields::Launch::kGrid, [&] {
        writer.Write(v1::fields::Dim3::kX, static_cast<uint32_t>(value));
      });
      writer.Message(v1::fields::Launch::kArguments,
                     [&] { writer.Write(v1::fields::Argument::kU64, value); });
      writer.Message(v1::fields::Launch::kArguments, [&] {
        writer.Write(v1::fields::Argument::kRaw, raw.data(), raw.size());
      });
    });
  });
}

TEST(WireWriterTest, WritesWhatProtobufWrites) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    v1::CommandBatch batch;
    WireWriter writer(64);
    for (uint64_t i = random() % 20; i > 0; --i) {
      MakeRandom(random, &batch, writer);
    }
    // Zeros are written here and left out there: compare the messages.
    EXPECT_EQ(Parse<v1::CommandBatch>(writer).SerializeAsString(),
              batch.SerializeAsString());
  }
}

TEST(WireWriterTest, FieldsOfObjectsAndOwnOnesMakeOneMessage) {
  v1::Launch attributes;
  attributes.add_attributes()->set_priority(-1);
  WireWriter writer(4);
  writer.Write(v1::fields::Launch::kStream, 3);
  writer.Fields(attributes);
  writer.Write(v1::fields::Launch::kCooperative, true);
  const auto launch = Parse<v1::Launch>(writer);
  EXPECT_EQ(launch.stream(), 3u);
  EXPECT_EQ(launch.attributes(0).priority(), -1);
  EXPECT_TRUE(launch.cooperative());
}

TEST(WireWriterTest, LaunchAttributesAreWrittenIfTheyAreSet) {
  LaunchAttributes attributes;
  WireWriter writer(4);
  attributes.Encode(writer);
  EXPECT_FALSE(attributes.any());
  EXPECT_EQ(writer.size(), 0u);
  attributes.launch_completion_event = nullptr;  // No event: not set.
  EXPECT_FALSE(attributes.any());

  attributes.programmatic_stream_serialization = false;
  attributes.priority = -1;
  attributes.mem_sync_domain = MemSyncDomain::kRemote;
  attributes.mem_sync_domain_map = {.remote_domain = 3};
  attributes.preferred_cluster = {4, 2, 1};
  attributes.preferred_shared_memory_carveout = 50;
  EXPECT_TRUE(attributes.any());
  attributes.Encode(writer);
  const auto launch = Parse<v1::Launch>(writer);
  ASSERT_EQ(launch.attributes_size(), 6);
  EXPECT_TRUE(launch.attributes(0).has_programmatic_stream_serialization());
  EXPECT_FALSE(launch.attributes(0).programmatic_stream_serialization());
  EXPECT_EQ(launch.attributes(1).priority(), -1);
  EXPECT_EQ(launch.attributes(2).mem_sync_domain(), v1::MEM_SYNC_DOMAIN_REMOTE);
  EXPECT_EQ(launch.attributes(3).mem_sync_domain_map().remote_domain(), 3u);
  EXPECT_EQ(launch.attributes(4).preferred_cluster().x(), 4u);
  EXPECT_EQ(launch.attributes(4).preferred_cluster().y(), 2u);
  EXPECT_EQ(launch.attributes(4).preferred_cluster().z(), 1u);
  EXPECT_EQ(launch.attributes(5).preferred_shared_memory_carveout(), 50u);
}

}  // namespace
}  // namespace holdfast
