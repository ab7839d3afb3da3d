// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/kept_sessions.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/launch.h"
#include "holdfast/v1/admin.pb.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void count(unsigned* sum) { atomicAdd(sum, 1u); }
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void check(const unsigned* x, unsigned long long count,
                                 unsigned value, unsigned* wrong) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  for (; i < count; i += gridDim.x * (unsigned long long)blockDim.x)
    if (x[i] != value) atomicAdd(wrong, 1u);
}
)";
constexpr uint64_t kBytes = kCount * sizeof(int);
const LaunchConfig kOneThread = {.grid = 1, .block = 1};
const LaunchConfig kAll = {.grid = kCount / 256, .block = 256};

// The start of the daemon that answers a new connection, since 1970; zero: none
// does.
absl::Duration StartOf(const std::string& address) {
  const auto connection = Daemon::Connect(address);
  if (!connection.ok()) return absl::ZeroDuration();
  const auto info = (*connection)->Info();
  return info.ok() ? TimeOf(info->started()) : absl::ZeroDuration();
}

}  // namespace

Client::Client(const SessionOptions& options)
    : session_(Session::Open(options).value()),
      module_(session_
                  ->Load(Program(kSource, {.name = "restart.cu"})
                             .Compile(session_->daemon())
                             .value()
                             .object)
                  .value()),
      stream_(session_->device(0).CreateStream().value()),
      sum_(session_->device(0).Allocate(sizeof(unsigned), stream_).value()),
      numbers_(session_->device(0).Allocate(kBytes, stream_).value()),
      expected_(kCount) {
  std::iota(expected_.begin(), expected_.end(), 7);
  EXPECT_EQ(numbers_.Upload(expected_, stream_), absl::OkStatus());
  EXPECT_EQ(sum_.Upload(std::vector<unsigned>{0}, stream_), absl::OkStatus());
  EXPECT_EQ(session_->Synchronize(), absl::OkStatus());
}

absl::Status Client::Count() {
  ++launches_;
  return Launch(stream_, kOneThread, Get("count"), sum_);
}

absl::Status Client::Add(int value) {
  NoteAdded(value);
  return Launch(stream_, kAll, Get("add"), numbers_, value);
}

unsigned Client::Sum() {
  std::vector<unsigned> sum(1);
  EXPECT_EQ(sum_.Download(sum, stream_), absl::OkStatus());
  return sum[0];
}

void Client::NoteAdded(int value) {
  for (int& number : expected_) number += value;
}

unsigned Client::Wrong(const Buffer& buffer, uint64_t words, uint32_t value) {
  const Buffer wrong =
      session_->device(0).Allocate(sizeof(unsigned), stream_).value();
  EXPECT_EQ(wrong.Fill(uint32_t{0}, stream_), absl::OkStatus());
  EXPECT_EQ(Launch(stream_, {.grid = 64, .block = 256}, Get("check"), buffer,
                   words, value, wrong),
            absl::OkStatus());
  std::vector<unsigned> count(1);
  EXPECT_EQ(wrong.Download(count, stream_), absl::OkStatus());
  return count[0];
}

void Client::ExpectNumbers() {
  std::vector<int> numbers(kCount);
  EXPECT_EQ(numbers_.Download(numbers, stream_), absl::OkStatus());
  EXPECT_EQ(numbers, expected_);
}

Everything::Everything(const std::string& address)
    : owner_({.address = address}),
      client_({.address = address}),
      shared_(owner_.session().device(0).AllocateShared(kBytes).value()),
      counter_(owner_.session().device(0).CreateSemaphore(3).value()),
      imported_(
          client_.session()
              .device(0)
              .Import(shared_.Export({.rights = Rights::kReadWrite}).value())
              .value()),
      imported_counter_(
          client_.session()
              .device(0)
              .ImportSemaphore(
                  counter_.Export({.rights = Rights::kReadWrite}).value())
              .value()),
      arena_(client_.session().CreateArena(kBytes).value()),
      span_(arena_->Allocate(kBytes).value()) {
  GraphDefinition definition;
  EXPECT_TRUE(
      definition.Add(KernelNode(kAll, client_.Get("add"), client_.numbers(), 5))
          .ok());
  graph_.emplace(Graph::Create(client_.session(), definition)
                     .value()
                     .Instantiate()
                     .value());
  EXPECT_EQ(shared_.Fill(uint32_t{9}, owner_.stream()), absl::OkStatus());
  EXPECT_EQ(counter_.Signal(7, owner_.stream()), absl::OkStatus());
  EXPECT_EQ(owner_.session().Synchronize(), absl::OkStatus());
  EXPECT_EQ(client_.session().Synchronize(), absl::OkStatus());
}

void Everything::ExpectAll() {
  client_.ExpectNumbers();
  ASSERT_EQ(graph_->Launch(client_.stream()), absl::OkStatus());
  client_.NoteAdded(5);
  client_.ExpectNumbers();
  ASSERT_EQ(client_.numbers().CopyTo(span_, client_.stream()),
            absl::OkStatus());
  ASSERT_EQ(client_.stream().Synchronize(), absl::OkStatus());
  EXPECT_EQ(std::memcmp(span_.data(), client_.expected().data(), kBytes), 0);
  ExpectShared();
  owner_.ExpectNumbers();
}

void Everything::ExpectShared() {
  std::vector<uint32_t> found(kBytes / sizeof(uint32_t));
  ASSERT_EQ(imported_.Download(found, client_.stream()), absl::OkStatus());
  EXPECT_EQ(found, std::vector<uint32_t>(found.size(), value_));
  EXPECT_EQ(imported_counter_.Value().value(), count_);
  ASSERT_EQ(imported_.Fill(++value_, client_.stream()), absl::OkStatus());
  ASSERT_EQ(imported_counter_.Signal(++count_, client_.stream()),
            absl::OkStatus());
  ASSERT_EQ(counter_.Wait(count_, owner_.stream()), absl::OkStatus());
  ASSERT_EQ(shared_.Download(found, owner_.stream()), absl::OkStatus());
  EXPECT_EQ(found, std::vector<uint32_t>(found.size(), value_));
}

Reader::Reader(const std::string& address)
    : session_(Session::Open({.address = address}).value()),
      stream_(session_->device(0).CreateStream().value()),
      collection_(Collection::Open(*session_, "model").value()) {}

void Reader::ExpectWeights(const std::vector<int>& weights) {
  EXPECT_EQ(collection_.version(), 1u);
  std::vector<int> back(weights.size());
  EXPECT_EQ(collection_.Array("weights")->Download(back, stream_),
            absl::OkStatus());
  EXPECT_EQ(back, weights);
}

void Write(const std::string& address, const std::vector<int>& weights) {
  const auto session = Session::Open({.address = address}).value();
  const Stream stream = session->device(0).CreateStream().value();
  auto writer = CollectionWriter::Create(
      *session, {{"weights", "I32", {weights.size()}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ(writer->Array(0)->Upload(weights, stream), absl::OkStatus());
  const auto version = writer->Commit("model");
  ASSERT_TRUE(version.ok()) << version.status();
}

void UpgradeOnce(const DaemonProcess& daemon) {
  const absl::Duration before = StartOf(daemon.address());
  ASSERT_GT(before, absl::ZeroDuration());
  auto connection = Daemon::Connect(daemon.address());
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto upgraded = Upgrade(**connection);
  ASSERT_TRUE(upgraded.ok()) << upgraded.status();
  EXPECT_FALSE(upgraded->version.empty());
  for (const std::string& address : {daemon.address(), daemon.tcp_address()}) {
    EXPECT_TRUE(Eventually([&] { return StartOf(address) > before; }))
        << address;
  }
}

std::string TestFile(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace holdfast::e2e
