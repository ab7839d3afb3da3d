// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/software/runtime/executable.h"
#include "gtest/gtest.h"
#include "tests/testing/kernels.h"

namespace holdfast::software::jit {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public testing::Test {
 protected:
  ObjectCacheTest() {
    std::string name = testing::TempDir() + "cache-XXXXXX";
    top_ = mkdtemp(&name[0]);
    folder_ = top_ + "/a/b";
  }
  ~ObjectCacheTest() override { fs::remove_all(top_); }

  std::string Path(const std::string& key) {
    return folder_ + "/" + key + ".object";
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string top_, folder_, object_;
};

TEST_F(ObjectCacheTest, WhatIsStoredIsLoadedByAnother) {
  ObjectCache(folder_, 1 << 20).Store("ab12", "machine code");
  ASSERT_TRUE(ObjectCache(folder_, 1 << 20).Load("ab12", &object_));
  EXPECT_EQ(object_, "machine code");
  EXPECT_FALSE(ObjectCache(folder_, 1 << 20).Load("ab13", &object_));
}

TEST_F(ObjectCacheTest, NobodyElseMayReadIt) {
  ObjectCache(folder_, 1 << 20).Store("ab12", "machine code");
  struct stat status;
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(Path("ab12").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ObjectCacheTest, EveryTruncationAndEveryFlippedByteIsAMissAndRemoved) {
  const ObjectCache cache(folder_, 1 << 20);
  cache.Store("ab12", "machine code");
  const std::string whole = Read(Path("ab12"));
  for (size_t i = 0; i < whole.size(); ++i) {
    Write(Path("ab12"), whole.substr(0, i));
    EXPECT_FALSE(cache.Load("ab12", &object_)) << i;
    EXPECT_FALSE(fs::exists(Path("ab12"))) << i;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    Write(Path("ab12"), flipped);
    EXPECT_FALSE(cache.Load("ab12", &object_)) << i;
    EXPECT_FALSE(fs::exists(Path("ab12"))) << i;
  }
}

TEST_F(ObjectCacheTest, WhatOthersMayWriteIsNotRun) {
  const ObjectCache cache(folder_, 1 << 20);
  cache.Store("ab12", "machine code");
  chmod(Path("ab12").c_str(), 0666);
  EXPECT_FALSE(cache.Load("ab12", &object_));
  cache.Store("ab12", "machine code");
  chmod(folder_.c_str(), 0777);
  EXPECT_FALSE(cache.Load("ab12", &object_));
}

TEST_F(ObjectCacheTest, LinksAndFoldersAreNoEntries) {
  const ObjectCache cache(folder_, 1 << 20);
  cache.Store("ab12", "machine code");
  fs::create_symlink(Path("ab12"), Path("ab13"));
  EXPECT_FALSE(cache.Load("ab13", &object_));
  fs::create_directory(Path("ab14"));
  EXPECT_FALSE(cache.Load("ab14", &object_));
}

TEST_F(ObjectCacheTest, WhatWasNotUsedForLongestGoes) {
  const ObjectCache cache(folder_, 3000);
  const std::string object(800, 'x');
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  const timespec older[2] = {{500, 0}, {500, 0}};
  cache.Store("a1", object);
  cache.Store("a2", object);
  utimensat(AT_FDCWD, Path("a1").c_str(), older, 0);
  utimensat(AT_FDCWD, Path("a2").c_str(), old, 0);
  ASSERT_TRUE(cache.Load("a1", &object_));  // used, so no longer the oldest
  cache.Store("a3", object);
  cache.Store("a4", object);
  EXPECT_FALSE(cache.Load("a2", &object_));
  EXPECT_TRUE(cache.Load("a4", &object_));
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    total += entry.file_size();
  }
  EXPECT_LE(total, 3000u);
}

TEST_F(ObjectCacheTest, FolderThatCannotBeMadeIsNoHarm) {
  Write(top_ + "/a", "a file in the way");
  const ObjectCache cache(folder_, 1 << 20);
  cache.Store("ab12", "machine code");
  EXPECT_FALSE(cache.Load("ab12", &object_));
}

// Loads and runs the kernel in a process of its own, with memory of another
// size taken first, so that its variable lies elsewhere.
int RunInProcess(const std::string& folder, size_t shift) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("HOLDFAST_SOFTWARE_CACHE", folder.c_str(), 1);
    std::vector<std::unique_ptr<Executable>> others(shift + 1);
    std::string log;
    for (auto& executable : others) {
      if (Executable::Load(test_ptx::kModule<test_ptx::kBump>, &executable,
                           &log) != CUDA_SUCCESS) {
        _exit(2);
      }
    }
    Executable& last = *others.back();
    const std::atomic<bool> cancel{false};
    const LaunchOutcome outcome = last.Launch(0, {}, nullptr, &cancel);
    if (outcome.result != CUDA_SUCCESS) _exit(3);
    _exit(*static_cast<const int*>(last.globals()[0].address) == 8 ? 0 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  return paths;
}

TEST_F(ObjectCacheTest, CodeOfOneProcessRunsInAnotherWithItsOwnVariables) {
  ASSERT_FALSE(BuildId().empty());
  ASSERT_EQ(RunInProcess(folder_, 0), 0);
  const auto entries = Entries(folder_);
  // One thread is less than a warp: both the code for whole warps, which every
  // launch enters, and that for parted lanes.
  ASSERT_EQ(entries.size(), 2u);
  const auto written = fs::last_write_time(entries[0]);
  ASSERT_EQ(RunInProcess(folder_, 5), 0);
  EXPECT_EQ(Entries(folder_).size(), 2u) << "the key depends on the process";
  EXPECT_GE(fs::last_write_time(entries[0]), written);
}

TEST_F(ObjectCacheTest, DamagedCodeIsGeneratedAnew) {
  ASSERT_EQ(RunInProcess(folder_, 0), 0);
  const std::string path = Entries(folder_)[0];
  const std::string whole = Read(path);
  Write(path, whole.substr(0, whole.size() / 2));
  ASSERT_EQ(RunInProcess(folder_, 0), 0);
  EXPECT_EQ(Read(path), whole);
}

}  // namespace
}  // namespace holdfast::software::jit
