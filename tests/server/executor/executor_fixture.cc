// SPDX-License-Identifier: Apache-2.0
#include "tests/server/executor/executor_fixture.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "proto/metadata.h"
#include "server/executor/executor_main.h"
#include "server/rpc/unix_socket.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

constexpr char kExecutorArgument[] = "--executor-channel";
// A GiB of results takes longer than a minute under a sanitizer.
constexpr std::chrono::seconds kHang{240};
constexpr uint64_t kArenaBytes = uint64_t{1} << 32;

}  // namespace

uint64_t Name(HandleKind kind, uint32_t index, uint32_t generation) {
  return holdfast::Handle{kind, generation, index}.Pack();
}

uint64_t Batch::CreateStream(uint64_t stream, int priority) {
  auto& command = *Add().mutable_create_stream();
  command.set_stream(stream);
  command.set_priority(priority);
  return last_sequence();
}

uint64_t Batch::Allocate(uint64_t buffer, uint64_t size) {
  auto& command = *Add().mutable_allocate_buffer();
  command.set_buffer(buffer);
  command.set_size(size);
  command.set_device(0);
  return last_sequence();
}

uint64_t Batch::AllocateHost(uint64_t buffer, uint64_t size) {
  auto& command = *Add().mutable_allocate_buffer();
  command.set_buffer(buffer);
  command.set_size(size);
  command.mutable_host();
  return last_sequence();
}

uint64_t Batch::Free(uint64_t buffer, uint64_t stream) {
  auto& command = *Add().mutable_free_buffer();
  command.set_buffer(buffer);
  command.set_stream(stream);
  return last_sequence();
}

uint64_t Batch::Write(uint64_t stream, uint64_t buffer, uint64_t offset,
                      const std::string& data) {
  auto& command = *Add().mutable_write_buffer();
  command.set_stream(stream);
  command.set_buffer(buffer);
  command.set_offset(offset);
  command.set_data(data);
  return last_sequence();
}

uint64_t Batch::Read(uint64_t stream, uint64_t buffer, uint64_t offset,
                     uint64_t size) {
  auto& command = *Add().mutable_read_buffer();
  command.set_stream(stream);
  command.set_buffer(buffer);
  command.set_offset(offset);
  command.set_size(size);
  return last_sequence();
}

uint64_t Batch::Copy(uint64_t stream, uint64_t destination,
                     uint64_t destination_offset, uint64_t source,
                     uint64_t source_offset, uint64_t size) {
  auto& command = *Add().mutable_copy_buffer();
  command.set_stream(stream);
  command.set_destination(destination);
  command.set_destination_offset(destination_offset);
  command.set_source(source);
  command.set_source_offset(source_offset);
  command.set_size(size);
  return last_sequence();
}

uint64_t Batch::FillWord(uint64_t stream, uint64_t buffer, uint64_t offset,
                         uint64_t size, uint32_t word) {
  auto& command = *Add().mutable_fill_buffer();
  command.set_stream(stream);
  command.set_buffer(buffer);
  command.set_offset(offset);
  command.set_size(size);
  command.set_word(word);
  return last_sequence();
}

uint64_t Batch::Synchronize(uint64_t stream) {
  Add().mutable_synchronize_stream()->set_stream(stream);
  return last_sequence();
}

uint64_t Batch::Fence(bool all_streams) {
  Add().mutable_fence()->set_all_streams(all_streams);
  return last_sequence();
}

uint64_t Batch::LoadInline(uint64_t module, const std::string& image) {
  auto& command = *Add().mutable_load_module();
  command.set_module(module);
  command.set_inline_(image);
  return last_sequence();
}

uint64_t Batch::GetKernel(uint64_t kernel, uint64_t module,
                          const std::string& name) {
  auto& command = *Add().mutable_get_kernel();
  command.set_kernel(kernel);
  command.set_module(module);
  command.set_name(name);
  return last_sequence();
}

std::map<uint64_t, v1::Result> BySequence(const v1::ResultBatch& results) {
  std::map<uint64_t, v1::Result> map;
  for (const v1::Result& result : results.results()) {
    EXPECT_TRUE(map.emplace(result.sequence(), result).second)
        << "two results for command " << result.sequence();
  }
  return map;
}

void ExecutorTest::SetUp() {
  char directory[] = "/tmp/holdfast-executor-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  directory_ = directory;
  ASSERT_NO_FATAL_FAILURE(StartProcess());
  internal::FromExecutor message;
  ASSERT_OK(channel_->Receive(&message));
  ASSERT_TRUE(message.has_ready()) << message.DebugString();
  ASSERT_FALSE(message.has_error()) << message.error().message();
  ready_ = message.ready();

  token_ = "0123456789abcdef";
  ASSERT_NO_FATAL_FAILURE(SendSocket(internal::ListeningSocket::PURPOSE_CALLS,
                                     directory_ + "/socket", SOCK_STREAM));
  ASSERT_NO_FATAL_FAILURE(
      SendSocket(internal::ListeningSocket::PURPOSE_DESCRIPTORS,
                 descriptor_path(), SOCK_SEQPACKET));
  internal::ToExecutor assign;
  assign.mutable_assign()->set_session_id("s-1");
  assign.mutable_assign()->set_token(token_);
  assign.mutable_assign()->mutable_limits()->set_arena_bytes(kArenaBytes);
  for (const uint32_t device : SessionDevices()) {
    assign.mutable_assign()->add_devices(device);
  }
  ASSERT_OK(channel_->Send(assign));
  ASSERT_OK(channel_->Receive(&message));
  ASSERT_TRUE(message.has_serving()) << message.DebugString();
  ASSERT_FALSE(message.has_error());
  supervisor_ = std::thread([this] { Supervise(); });

  connection_ =
      grpc::CreateChannel(absl::StrCat("unix:", directory_, "/socket"),
                          grpc::InsecureChannelCredentials());
  commands_ = v1::CommandService::NewStub(connection_);
  transfers_ = v1::TransferService::NewStub(connection_);
}

void ExecutorTest::SendSocket(internal::ListeningSocket::Purpose purpose,
                              const std::string& path, int type) {
  ASSERT_OK_AND_ASSIGN(const UniqueFd socket,
                       ListenOnUnixSocket(path, type, 0600));
  internal::ToExecutor message;
  message.mutable_listening_socket()->set_purpose(purpose);
  ASSERT_OK(channel_->Send(message, socket.get()));
}

void ExecutorTest::StartProcess() {
  auto pair = Channel::CreatePair();
  ASSERT_OK(pair);
  const int child_end = pair->second.get();
  const std::string number = std::to_string(child_end);
  const std::string limit = absl::FormatDuration(StallLimit());
  const std::string warm =
      std::to_string(SessionDevices().empty() ? 0 : SessionDevices().front());
  const std::string devices = std::to_string(SoftwareDevices());
  setenv("HOLDFAST_SOFTWARE_DEVICES", devices.c_str(), /*overwrite=*/1);
  pid_ = fork();
  ASSERT_GE(pid_, 0);
  if (pid_ == 0) {
    // Only async-signal-safe calls between fork and exec.
    fcntl(child_end, F_SETFD, 0);
    const char* const arguments[] = {"executor",     kExecutorArgument,
                                     number.c_str(), limit.c_str(),
                                     warm.c_str(),   nullptr};
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(127);
  }
  channel_ = std::make_unique<Channel>(std::move(pair->first));
}

void ExecutorTest::TearDown() {
  commands_.reset();
  transfers_.reset();
  connection_.reset();
  if (channel_ != nullptr) channel_->Shutdown();
  if (pid_ > 0) AwaitExit();
  if (supervisor_.joinable()) supervisor_.join();
  unlink((directory_ + "/socket").c_str());
  unlink(descriptor_path().c_str());
  rmdir(directory_.c_str());
}

int ExecutorTest::AwaitExit() {
  int status = 0;
  EXPECT_EQ(waitpid(std::exchange(pid_, -1), &status, 0) > 0, true);
  return status;
}

bool ExecutorTest::EndAfterFault() {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&has_faulted_), absl::Seconds(10));
  kill(pid_, SIGKILL);
  return has_faulted_;
}

std::unique_ptr<grpc::ClientContext> ExecutorTest::Context() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->AddMetadata(kSessionTokenKey.name, absl::BytesToHexString(token_));
  context->set_deadline(std::chrono::system_clock::now() + kHang);
  return context;
}

std::map<uint64_t, v1::Result> ExecutorTest::Run(const Batch& batch) {
  v1::ResultBatch results;
  const grpc::Status status =
      commands_->Run(Context().get(), batch.proto(), &results);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return BySequence(results);
}

grpc::Status ExecutorTest::RunStatus(const v1::CommandBatch& batch) {
  v1::ResultBatch results;
  return commands_->Run(Context().get(), batch, &results);
}

void ExecutorTest::Supervise() {
  for (;;) {
    internal::FromExecutor message;
    auto fd = channel_->Receive(&message);
    if (!fd.ok()) return;
    Handle(message, *std::move(fd));
  }
}

// An executor that ends meanwhile takes no answer, which is no error.
void ExecutorTest::Handle(const internal::FromExecutor& message, UniqueFd fd) {
  absl::MutexLock lock(&mutex_);
  internal::ToExecutor reply;
  reply.set_question(message.question());
  if (message.has_chunk_created()) {
    EXPECT_TRUE(fd.valid());
    chunks_[message.chunk_created().chunk()] = std::move(fd);
    ++chunks_seen_;
  } else if (message.has_chunk_released()) {
    EXPECT_EQ(chunks_.erase(message.chunk_released().chunk()), 1u);
  } else if (message.has_reserve()) {
    reply.mutable_reserve_reply();
    channel_->Send(reply).IgnoreError();
  } else if (message.has_fault()) {
    has_faulted_ = true;
  } else if (message.has_usage() && message.question() != 0) {
    usages_.push_back(message.usage());
  } else if (message.has_load_code()) {
    // Nothing is kept: code is generated in each test.
    reply.mutable_code();
    channel_->Send(reply).IgnoreError();
  } else if (message.has_fetch_object()) {
    internal::ObjectReply& object = *reply.mutable_object();
    const auto found = objects_.find(message.fetch_object().sha256());
    int memory = -1;
    if (found != objects_.end()) {
      object.mutable_symbols()->insert(found->second.symbols.begin(),
                                       found->second.symbols.end());
      memory = found->second.memory.get();
    }
    channel_->Send(reply, memory).IgnoreError();
  }
}

void ExecutorTest::PutObject(const std::string& sha256,
                             const std::string& bytes,
                             std::map<std::string, std::string> symbols) {
  auto memory = CreateSealedMemfd("object", bytes);
  ASSERT_OK(memory);
  absl::MutexLock lock(&mutex_);
  objects_[sha256] = {*std::move(memory), std::move(symbols)};
}

internal::Usage ExecutorTest::AskUsage() {
  internal::ToExecutor ask;
  ask.set_question(1);
  ask.mutable_report_usage();
  EXPECT_OK(channel_->Send(ask));
  absl::MutexLock lock(&mutex_);
  const auto answered = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !usages_.empty();
  };
  mutex_.Await(absl::Condition(&answered));
  internal::Usage usage = usages_.back();
  usages_.clear();
  return usage;
}

size_t ExecutorTest::chunks_held() {
  absl::MutexLock lock(&mutex_);
  return chunks_.size();
}

size_t ExecutorTest::AwaitChunksHeld(size_t wanted) {
  absl::MutexLock lock(&mutex_);
  const auto held = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return chunks_.size() == wanted;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&held), absl::Seconds(10));
  return chunks_.size();
}

uint64_t ExecutorTest::chunks_seen() {
  absl::MutexLock lock(&mutex_);
  return chunks_seen_;
}

}  // namespace holdfast::testing

// The test program is its own executor.
int main(int argc, char** argv) {
  absl::Duration stall_limit;
  if (argc == 5 && strcmp(argv[1], holdfast::testing::kExecutorArgument) == 0 &&
      absl::ParseDuration(argv[3], &stall_limit)) {
    return holdfast::ExecutorMain(
        holdfast::UniqueFd(atoi(argv[2])),
        {.driver = {.choice = holdfast::cuda::DriverChoice::kSoftware},
         .devices = {.warm = atoi(argv[4])},
         .stall_limit = stall_limit});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
