// SPDX-License-Identifier: Apache-2.0
//
// A process that forks while it has a session: in the child every call fails at
// once, objects go without harm, and the parent never notices.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

constexpr unsigned kPatience = 30;  // seconds

// Exits the child with 1 after a text that tells the line.
#define CHILD_EXPECT(condition)                                  \
  if (!(condition)) {                                            \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
    _exit(1);                                                    \
  }

bool IsRefused(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) &&
         absl::StrContains(status.message(), "was forked from process");
}

class ForkTest : public ::testing::Test {
 protected:
  ForkTest() {
    module_ = std::make_unique<Module>(
        *session_->Load(Program("extern \"C\" __global__ void inc(int* p) {"
                                "  p[threadIdx.x] += 1; }")
                            .Compile(session_->daemon())
                            ->object));
    kernel_ = std::make_unique<Kernel>(*module_->GetKernel("inc"));
    EXPECT_TRUE(numbers_.Fill(uint32_t{0}, stream_).ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
  }

  // Runs `child` in a child, and expects it to exit with 0.
  void Fork(const std::function<void()>& child) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(kPatience);
      child();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? "signal" : "code");
  }

  // The parent, behind the child.
  void ExpectAlive() {
    std::vector<int> read(32);
    ASSERT_TRUE(
        Launch(stream_, {.grid = 1, .block = 32}, *kernel_, numbers_).ok());
    const absl::Status status = numbers_.Download(read, stream_);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(read, std::vector<int>(32, 1));
  }

  DaemonProcess daemon_;
  std::unique_ptr<Session> session_ =
      *Session::Open({.address = daemon_.address()});
  Stream stream_ = *session_->device(0).CreateStream();
  Buffer numbers_ = *session_->device(0).Allocate(128, stream_);
  std::unique_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

TEST_F(ForkTest, EveryCallOfAnInheritedSessionFailsInTheChild) {
  Fork([&] {
    std::vector<int> read(32);
    const Device device = session_->device(0);
    CHILD_EXPECT(IsRefused(numbers_.Download(read, stream_)));
    CHILD_EXPECT(IsRefused(numbers_.Upload(read, stream_)));
    CHILD_EXPECT(IsRefused(
        Launch(stream_, {.grid = 1, .block = 32}, *kernel_, numbers_)));
    CHILD_EXPECT(IsRefused(stream_.Synchronize()));
    CHILD_EXPECT(IsRefused(session_->Synchronize()));
    CHILD_EXPECT(IsRefused(stream_.Record().status()));
    CHILD_EXPECT(IsRefused(device.CreateStream().status()));
    CHILD_EXPECT(IsRefused(device.Allocate(4, stream_).status()));
    CHILD_EXPECT(IsRefused(module_->GetKernel("inc").status()));
    CHILD_EXPECT(IsRefused(numbers_.status()));
    CHILD_EXPECT(IsRefused(session_->Buffers().status()));
    CHILD_EXPECT(IsRefused(session_->CreateArena(4096).status()));
    CHILD_EXPECT(IsRefused(session_->Close()));
  });
  ExpectAlive();
}

TEST_F(ForkTest, AChildCannotConnect) {
  Fork([&] {
    Daemon& daemon = session_->daemon();
    CHILD_EXPECT(IsRefused(daemon.Devices().status()));
    CHILD_EXPECT(IsRefused(Program("").Compile(daemon).status()));
    CHILD_EXPECT(
        IsRefused(Session::Open(session_->shared_daemon(), {}).status()));
    CHILD_EXPECT(
        IsRefused(Session::Open({.address = daemon_.address()}).status()));
    CHILD_EXPECT(
        IsRefused(Session::Open({.address = "embedded:device=cpu"}).status()));
  });
  ExpectAlive();
}

TEST_F(ForkTest, WhatAChildDestroysStaysInTheParent) {
  Fork([&] {
    { const Buffer gone = std::move(numbers_); }
    { const Stream gone = std::move(stream_); }
    kernel_.reset();
    module_.reset();
    session_.reset();
  });
  ExpectAlive();
}

TEST_F(ForkTest, AChildMayExit) {
  Fork([&] { std::exit(0); });
  ExpectAlive();
}

// Its threads hold locks at any moment, which nobody opens in the child.
TEST_F(ForkTest, AParentMayForkWhileItsThreadsWork) {
  std::atomic<bool> over = false;
  std::thread worker([&] {
    while (!over) EXPECT_TRUE(stream_.Synchronize().ok());
  });
  for (int i = 0; i < 20; ++i) {
    Fork([&] {
      CHILD_EXPECT(IsRefused(stream_.Synchronize()));
      CHILD_EXPECT(IsRefused(session_->daemon().Devices().status()));
      session_.reset();
    });
  }
  over = true;
  worker.join();
  ExpectAlive();
}

// A result that is on its way belongs to the parent.
TEST_F(ForkTest, AChildDoesNotWaitForAFenceOfTheParent) {
  const Fence fence = *session_->Fence({&stream_});
  Fork([&] { CHILD_EXPECT(IsRefused(fence.Wait())); });
  EXPECT_TRUE(fence.Wait().ok());
  ExpectAlive();
}

}  // namespace
}  // namespace holdfast::e2e
