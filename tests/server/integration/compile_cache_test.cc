// SPDX-License-Identifier: Apache-2.0
//
// The compile cache of the real daemon, across its ends and beside another.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

class DaemonCacheTest : public testing::Test {
 protected:
  DaemonCacheTest() {
    char name[] = "/tmp/holdfast-cache-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~DaemonCacheTest() override { fs::remove_all(directory_); }

  std::unique_ptr<DaemonProcess> Start(
      const std::vector<std::string>& cache_flags) const {
    std::vector<std::string> flags = cache_flags;
    flags.push_back("--warm-executors=0");
    return std::make_unique<DaemonProcess>(flags);
  }
  std::unique_ptr<DaemonProcess> Start() const {
    return Start({"--cache-directory=" + directory_});
  }

  static v1::CompileResponse Compile(const DaemonProcess& daemon,
                                     const std::string& define = "A") {
    v1::CompileRequest request;
    request.set_source(
        "template <class T> __global__ void f(T* x) { *x = 1; }");
    request.set_name("f.cu");
    request.add_name_expressions("f<float>");
    request.add_options("-D" + define);
    request.set_target(v1::OBJECT_FORMAT_PTX);
    request.set_arch("compute_90");
    grpc::ClientContext context;
    v1::CompileResponse response;
    const grpc::Status status = v1::CompileService::NewStub(daemon.Unix())
                                    ->Compile(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  static std::string Fetch(const DaemonProcess& daemon,
                           const v1::CompileResponse& compiled) {
    grpc::ClientContext context;
    v1::GetObjectRequest request;
    request.set_sha256(compiled.object().sha256());
    const auto reader =
        v1::ObjectService::NewStub(daemon.Unix())->GetObject(&context, request);
    std::string bytes;
    for (v1::GetObjectResponse part; reader->Read(&part);) bytes += part.data();
    EXPECT_TRUE(reader->Finish().ok());
    return bytes;
  }

  static v1::GetCacheStatisticsResponse Statistics(
      const DaemonProcess& daemon) {
    grpc::ClientContext context;
    v1::GetCacheStatisticsResponse statistics;
    EXPECT_TRUE(v1::AdminService::NewStub(daemon.Unix())
                    ->GetCacheStatistics(&context, {}, &statistics)
                    .ok());
    return statistics;
  }

  std::string directory_;
};

TEST_F(DaemonCacheTest, WhatIsOnDiskIsFoundBeforeACompilerHasStarted) {
  EXPECT_FALSE(Compile(*Start()).cache_hit());
  // Within which no compiler can be loaded.
  const auto second =
      Start({"--cache-directory=" + directory_, "--compile-memory=16MiB"});
  EXPECT_EQ(Compile(*second).cache_tier(), v1::CACHE_TIER_DISK);
  EXPECT_EQ(Compile(*second).cache_tier(), v1::CACHE_TIER_MEMORY);
}

TEST_F(DaemonCacheTest, AHitAfterTheDaemonWasKilledEqualsTheFreshObject) {
  auto daemon = Start();
  const v1::CompileResponse fresh = Compile(*daemon);
  EXPECT_FALSE(fresh.cache_hit());
  EXPECT_EQ(fresh.cache_tier(), v1::CACHE_TIER_UNSPECIFIED);
  EXPECT_TRUE(fresh.has_compile_time());
  EXPECT_EQ(Compile(*daemon).cache_tier(), v1::CACHE_TIER_MEMORY);
  const std::string bytes = Fetch(*daemon, fresh);
  kill(daemon->pid(), SIGKILL);
  daemon = Start();
  v1::CompileResponse found = Compile(*daemon);
  EXPECT_TRUE(found.cache_hit());
  EXPECT_EQ(found.cache_tier(), v1::CACHE_TIER_DISK);
  EXPECT_FALSE(found.has_compile_time());
  EXPECT_EQ(Fetch(*daemon, found), bytes);
  EXPECT_EQ(found.object().SerializeAsString().size(),
            fresh.object().SerializeAsString().size());
  EXPECT_EQ(found.object().symbols().at("f<float>"),
            fresh.object().symbols().at("f<float>"));
  ASSERT_EQ(found.kernels_size(), 1);
  EXPECT_EQ(found.kernels(0).SerializeAsString(),
            fresh.kernels(0).SerializeAsString());
  EXPECT_EQ(found.kernels(0).parameters_size(), 1);
  EXPECT_EQ(Compile(*daemon).cache_tier(), v1::CACHE_TIER_MEMORY);
  EXPECT_EQ(Statistics(*daemon).misses(), 0u);
  EXPECT_EQ(Statistics(*daemon).disk().hits(), 1u);
}

TEST_F(DaemonCacheTest, TwoDaemonsShareWhatEitherHasCompiled) {
  const auto first = Start(), second = Start();
  EXPECT_FALSE(Compile(*first, "A").cache_hit());
  EXPECT_FALSE(Compile(*second, "B").cache_hit());
  EXPECT_EQ(Compile(*second, "A").cache_tier(), v1::CACHE_TIER_DISK);
  EXPECT_EQ(Compile(*first, "B").cache_tier(), v1::CACHE_TIER_DISK);
  EXPECT_EQ(Statistics(*first).disk().entries(), 2u);
}

TEST_F(DaemonCacheTest, ADamagedEntryIsCompiledAgain) {
  auto daemon = Start();
  const v1::CompileResponse fresh = Compile(*daemon);
  daemon = Start();
  for (const auto& file : fs::directory_iterator(directory_)) {
    std::fstream(file.path()).seekp(100).put('\xff');
  }
  const v1::CompileResponse again = Compile(*daemon);
  EXPECT_FALSE(again.cache_hit());
  EXPECT_EQ(again.object().sha256(), fresh.object().sha256());
  EXPECT_EQ(Statistics(*daemon).disk().damaged(), 1u);
  daemon = Start();
  EXPECT_EQ(Compile(*daemon).cache_tier(), v1::CACHE_TIER_DISK);
}

TEST_F(DaemonCacheTest, WithoutADirectoryItCompilesAllTheSame) {
  for (const char* flag :
       {"--cache-directory=/proc/nowhere", "--cache-disk=0"}) {
    const auto daemon = Start({flag});
    EXPECT_FALSE(Compile(*daemon).cache_hit()) << flag;
    EXPECT_EQ(Compile(*daemon).cache_tier(), v1::CACHE_TIER_MEMORY) << flag;
  }
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(DaemonCacheTest, ListsAndClearsBothTiers) {
  auto daemon = Start();
  Compile(*daemon, "A");
  daemon = Start();
  Compile(*daemon, "B");
  const auto admin = v1::AdminService::NewStub(daemon->Unix());
  grpc::ClientContext list_context, clear_context;
  v1::ListCacheEntriesResponse list;
  ASSERT_TRUE(admin->ListCacheEntries(&list_context, {}, &list).ok());
  ASSERT_EQ(list.entries_size(), 2);
  EXPECT_EQ(list.entries(0).name(), "f.cu");
  EXPECT_EQ(list.entries(0).arch(), "compute_90");
  EXPECT_TRUE(list.entries(0).in_memory() && list.entries(0).on_disk());
  EXPECT_FALSE(list.entries(1).in_memory());
  EXPECT_TRUE(list.entries(1).on_disk());
  v1::ClearCacheResponse cleared;
  ASSERT_TRUE(admin->ClearCache(&clear_context, {}, &cleared).ok());
  EXPECT_EQ(cleared.entries(), 1u);
  EXPECT_EQ(cleared.disk_entries(), 2u);
  EXPECT_FALSE(Compile(*daemon, "A").cache_hit());
}

}  // namespace
}  // namespace holdfast
