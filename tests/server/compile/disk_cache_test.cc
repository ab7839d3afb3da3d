// SPDX-License-Identifier: Apache-2.0
#include "server/compile/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "tests/server/testing/own_mounts.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRoom = uint64_t{64} << 20;

std::string Key(char c) { return std::string(32, c); }

std::string Content(char c, size_t size = 10000) {
  return std::string(size, c);
}

std::shared_ptr<const CompiledProgram> MakeProgram(const std::string& bytes) {
  const auto writer = ObjectWriter::Create(bytes.size()).value();
  EXPECT_TRUE(writer->Append(bytes).ok());
  auto program = std::make_shared<CompiledProgram>();
  program->object = writer->Finish(v1::OBJECT_FORMAT_PTX, {}).value();
  program->name = "saxpy.cu";
  program->response.set_log("a warning");
  *program->response.mutable_object() = program->object->header;
  (*program->response.mutable_object()->mutable_symbols())["f<int>"] = "_Z1f";
  return program;
}

std::string BytesOf(const CompiledProgram& program) {
  const auto mapping = FileMapping::Map(program.object->memory.get(),
                                        FileMapping::Access::kReadOnly);
  EXPECT_TRUE(mapping.ok());
  return std::string(mapping->bytes());
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() {
    char name[] = "/tmp/holdfast-disk-cache-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~DiskCacheTest() override { fs::remove_all(directory_); }

  std::string cache_directory() const { return directory_ + "/a/b"; }
  fs::path FileOf(char c) const {
    return cache_directory() + "/" + absl::BytesToHexString(Key(c)) +
           ".program";
  }
  static void Store(DiskCache& cache, char c, size_t size = 10000) {
    cache.Store(Key(c), *MakeProgram(Content(c, size)));
  }
  static bool Has(DiskCache& cache, char c) {
    const auto program = cache.Load(Key(c));
    if (program == nullptr) return false;
    EXPECT_EQ(BytesOf(*program)[0], c);
    return true;
  }
  // Other files beside the entries.
  size_t Others() const {
    size_t others = 0;
    if (!fs::exists(cache_directory())) return 0;
    for (const auto& file : fs::directory_iterator(cache_directory())) {
      others += file.path().extension() != ".program";
    }
    return others;
  }

  std::string directory_;
};

TEST_F(DiskCacheTest, AnotherDaemonFindsAllThatWasStored) {
  const auto stored = MakeProgram(Content('a', 3 << 20));
  DiskCache(cache_directory(), kRoom).Store(Key('a'), *stored);
  DiskCache cache(cache_directory(), kRoom);
  const auto loaded = cache.Load(Key('a'));
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(BytesOf(*loaded), BytesOf(*stored));
  EXPECT_TRUE(IsSealed(loaded->object->memory.get()));
  EXPECT_EQ(loaded->object->header.sha256(), stored->object->header.sha256());
  EXPECT_EQ(loaded->response.log(), "a warning");
  EXPECT_EQ(loaded->name, "saxpy.cu");
  EXPECT_EQ(cache.Load(Key('b')), nullptr);
  EXPECT_EQ(cache.statistics().hits, 1u);
  EXPECT_EQ(cache.statistics().entries, 1u);
}

TEST_F(DiskCacheTest, FilesAndDirectoryAreTheUsersAlone) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  struct stat info = {};
  ASSERT_EQ(stat(cache_directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(FileOf('a').c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(DiskCacheTest, WhatOthersMayWriteToIsNotBelieved) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  chmod(FileOf('a').c_str(), 0666);
  EXPECT_FALSE(Has(cache, 'a'));
  chmod(FileOf('a').c_str(), 0600);
  chmod(cache_directory().c_str(), 0777);
  EXPECT_FALSE(Has(cache, 'a'));
  Store(cache, 'b');
  EXPECT_EQ(cache.statistics().not_kept, 1u);
  chmod(cache_directory().c_str(), 0700);
  EXPECT_TRUE(Has(cache, 'a'));
  EXPECT_FALSE(Has(cache, 'b'));
}

TEST_F(DiskCacheTest, ATruncatedEntryIsAMissAndRemoved) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  const auto size = fs::file_size(FileOf('a'));
  for (const uintmax_t left : {uintmax_t{0}, uintmax_t{7}, uintmax_t{47},
                               uintmax_t{60}, size / 2, size - 1}) {
    Store(cache, 'a');
    fs::resize_file(FileOf('a'), left);
    EXPECT_FALSE(Has(cache, 'a')) << left;
    EXPECT_FALSE(fs::exists(FileOf('a'))) << left;
  }
  EXPECT_EQ(cache.statistics().damaged, 6u);
  Store(cache, 'a');
  EXPECT_TRUE(Has(cache, 'a'));
}

TEST_F(DiskCacheTest, AnyChangedByteMakesTheEntryAMiss) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a', 100);
  const auto size = static_cast<std::streamoff>(fs::file_size(FileOf('a')));
  for (std::streamoff at = 0; at < size; ++at) {
    if (!fs::exists(FileOf('a'))) Store(cache, 'a', 100);
    {
      std::fstream file(FileOf('a'));
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 1));
    }
    EXPECT_EQ(cache.Load(Key('a')), nullptr) << "byte " << at;
    EXPECT_FALSE(fs::exists(FileOf('a'))) << "byte " << at;
  }
  EXPECT_EQ(cache.statistics().damaged, static_cast<uint64_t>(size));
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherKeyIsAMiss) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  fs::copy_file(FileOf('a'), FileOf('b'));
  chmod(FileOf('b').c_str(), 0600);
  EXPECT_EQ(cache.Load(Key('b')), nullptr);
  EXPECT_TRUE(Has(cache, 'a'));
}

TEST_F(DiskCacheTest, LinksAndOddFilesAreMisses) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  fs::create_symlink(FileOf('a'), FileOf('b'));
  fs::create_directory(FileOf('c'));
  ASSERT_EQ(mkfifo(FileOf('d').c_str(), 0600), 0);
  for (const char c : {'b', 'c', 'd'}) {
    EXPECT_EQ(cache.Load(Key(c)), nullptr) << c;
  }
  EXPECT_EQ(cache.statistics().entries, 1u);
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedMakesRoom) {
  DiskCache cache(cache_directory(), 3 * 16384);  // of 12 KiB and a head each
  for (const char c : {'a', 'b', 'c'}) Store(cache, c, 12000);
  EXPECT_TRUE(Has(cache, 'a'));  // 'b' is the oldest now
  Store(cache, 'd', 12000);
  EXPECT_FALSE(Has(cache, 'b'));
  for (const char c : {'c', 'a', 'd'}) EXPECT_TRUE(Has(cache, c)) << c;
  cache.Touch(Key('c'));  // 'a' is the oldest now
  Store(cache, 'e', 12000);
  EXPECT_FALSE(Has(cache, 'a'));
  EXPECT_TRUE(Has(cache, 'c'));
  EXPECT_EQ(cache.statistics().evictions, 2u);
  EXPECT_LE(cache.statistics().bytes, cache.max_bytes());
  std::string order;
  for (const auto& entry : cache.List(10)) order += entry.key[0];
  EXPECT_EQ(order, "ced");
  EXPECT_EQ(cache.List(1).size(), 1u);
}

TEST_F(DiskCacheTest, AListOfOneOwnersReadsABoundedNumberOfEntries) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  // That many are newer, whatever they are.
  const auto newer = [&](size_t number) {
    std::string key = Key('k');
    key.replace(0, sizeof number, reinterpret_cast<const char*>(&number),
                sizeof number);
    return fs::path(cache_directory()) /
           (absl::BytesToHexString(key) + ".program");
  };
  std::ofstream(newer(0)) << "no program";
  for (size_t i = 1; i < DiskCache::kMaxExamined; ++i) {
    fs::create_hard_link(newer(0), newer(i));
  }
  fs::last_write_time(
      FileOf('a'), fs::last_write_time(FileOf('a')) - std::chrono::minutes(1));
  EXPECT_TRUE(cache.List(10, "").empty());
  fs::remove(newer(0));
  EXPECT_EQ(cache.List(10, "").size(), 1u);
  EXPECT_TRUE(cache.List(10, "another").empty());
}

TEST_F(DiskCacheTest, ItIsNeverLargerThanItMayBe) {
  DiskCache cache(cache_directory(), 1 << 20);
  for (int i = 0; i < 200; ++i) {
    std::string key = Key('k');
    key[0] = static_cast<char>(i);
    cache.Store(key, *MakeProgram(Content('x', 1000 + 777 * (i % 50))));
    ASSERT_LE(cache.statistics().bytes, cache.max_bytes()) << i;
  }
  EXPECT_GT(cache.statistics().entries, 10u);
  EXPECT_EQ(cache.statistics().not_kept, 0u);
}

TEST_F(DiskCacheTest, WhatIsLargerThanTheCacheEvictsNothing) {
  DiskCache cache(cache_directory(), 1 << 20);
  Store(cache, 'a');
  Store(cache, 'b', 2 << 20);
  EXPECT_TRUE(Has(cache, 'a'));
  EXPECT_FALSE(Has(cache, 'b'));
}

TEST_F(DiskCacheTest, ZeroBytesKeepNothingAndTouchNothing) {
  DiskCache cache(cache_directory(), 0);
  Store(cache, 'a');
  EXPECT_FALSE(Has(cache, 'a'));
  EXPECT_FALSE(fs::exists(cache_directory()));
}

TEST_F(DiskCacheTest, ClearLeavesFilesThatAreNotItsOwn) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  Store(cache, 'b');
  std::ofstream(cache_directory() + "/letter.program") << "mine";
  std::ofstream(cache_directory() + "/letter.new") << "mine";
  EXPECT_EQ(cache.Clear(), 2u);
  EXPECT_EQ(Others(), 1u);
  EXPECT_TRUE(fs::exists(cache_directory() + "/letter.program"));
  EXPECT_EQ(cache.statistics().entries, 0u);
  Store(cache, 'a');
  EXPECT_TRUE(Has(cache, 'a'));
}

TEST_F(DiskCacheTest, AFullDiskKeepsNothingAndRecovers) {
  bool skipped = false;
  const bool passed = RunsWithMounts(
      [this] {
        ASSERT_EQ(mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=256k"),
                  0);
        DiskCache cache(cache_directory(), kRoom);
        Store(cache, 'a');
        ASSERT_TRUE(Has(cache, 'a'));
        Store(cache, 'b', 1 << 20);
        EXPECT_FALSE(Has(cache, 'b'));
        EXPECT_EQ(Others(), 0u);
        EXPECT_EQ(cache.statistics().not_kept, 1u);
        EXPECT_NE(cache.statistics().problem.find("No space left"),
                  std::string::npos)
            << cache.statistics().problem;
        Store(cache, 'c');
        EXPECT_TRUE(Has(cache, 'c'));
        EXPECT_EQ(cache.statistics().problem, "");
      },
      &skipped);
  if (skipped) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_TRUE(passed);
}

TEST_F(DiskCacheTest, AReadOnlyDiskIsReadAndNothingFails) {
  DiskCache(cache_directory(), kRoom)
      .Store(Key('a'), *MakeProgram(Content('a')));
  bool skipped = false;
  const bool passed = RunsWithMounts(
      [this] {
        const char* const path = directory_.c_str();
        ASSERT_EQ(mount(path, path, nullptr, MS_BIND, nullptr), 0);
        ASSERT_EQ(
            mount("", path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr),
            0);
        DiskCache cache(cache_directory(), kRoom);
        EXPECT_TRUE(Has(cache, 'a'));
        Store(cache, 'b');
        EXPECT_FALSE(Has(cache, 'b'));
        EXPECT_EQ(cache.Clear(), 0u);
        EXPECT_NE(cache.statistics().problem.find("Read-only"),
                  std::string::npos)
            << cache.statistics().problem;
        DiskCache nowhere(directory_ + "/none/at/all", kRoom);
        Store(nowhere, 'a');
        EXPECT_FALSE(Has(nowhere, 'a'));
        EXPECT_EQ(nowhere.statistics().not_kept, 1u);
      },
      &skipped);
  if (skipped) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_TRUE(passed);
}

// Two processes write and evict in one directory.
TEST_F(DiskCacheTest, DaemonsThatShareADirectoryNeverReadAHalfEntry) {
  const auto work = [this](unsigned seed) {
    DiskCache cache(cache_directory(), 10 * 16384);
    for (unsigned i = 0; i < 600; ++i) {
      const char c = static_cast<char>('a' + (i * (seed + 1)) % 20);
      const auto program = cache.Load(Key(c));
      if (program == nullptr) Store(cache, c, 12000);
      if (program != nullptr && BytesOf(*program) != Content(c, 12000)) {
        return false;
      }
      if (i % 200 == 199) cache.Clear();
    }
    return cache.statistics().damaged == 0;
  };
  const pid_t pid = fork();
  if (pid == 0) _exit(work(6) ? 0 : 1);
  EXPECT_TRUE(work(2));
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Others(), 0u);
}

// Whenever it is killed: what is there is whole, and what is left over goes.
TEST_F(DiskCacheTest, AKilledWriterLeavesWholeEntriesOrNone) {
  constexpr int kKills = 40;
  size_t left_over = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      DiskCache cache(cache_directory(), kRoom);
      const auto program = MakeProgram(Content('a', 4 << 20));
      [[maybe_unused]] const auto written = write(started[1], "x", 1);
      while (true) cache.Store(Key('a'), *program);
    }
    char byte = 0;
    ASSERT_EQ(read(started[0], &byte, 1), 1);
    usleep(static_cast<useconds_t>(137 * kill_number));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(started[0]);
    close(started[1]);
    DiskCache cache(cache_directory(), kRoom);
    const auto program = cache.Load(Key('a'));
    if (program != nullptr) {
      ASSERT_EQ(BytesOf(*program), Content('a', 4 << 20));
    }
    ASSERT_EQ(cache.statistics().damaged, 0u);
    left_over = Others();
  }
  EXPECT_GT(left_over, 0u);
  // As if some time had passed.
  for (const auto& file : fs::directory_iterator(cache_directory())) {
    if (file.path().extension() != ".new") continue;
    fs::last_write_time(file,
                        fs::last_write_time(file) - std::chrono::minutes(1));
  }
  EXPECT_LE(DiskCache(cache_directory(), kRoom).statistics().entries, 1u);
  EXPECT_EQ(Others(), 0u);
}

// The note of the compilers is written as a program is.
TEST_F(DiskCacheTest, WhatAKilledDaemonLeftOfTheNoteGoesToo) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  for (const char* name : {"/compilers.abcdef.new", "/compilers.ghijkl.new",
                           "/compilers", "/others.abcdef.new"}) {
    const std::string path = cache_directory() + name;
    std::ofstream(path) << "half";
    fs::last_write_time(path,
                        fs::last_write_time(path) - std::chrono::hours(1));
  }
  const UniqueFd writer(
      open((cache_directory() + "/compilers.ghijkl.new").c_str(), O_RDONLY));
  ASSERT_EQ(flock(writer.get(), LOCK_EX), 0);
  EXPECT_EQ(cache.statistics().entries, 1u);
  EXPECT_FALSE(fs::exists(cache_directory() + "/compilers.abcdef.new"));
  EXPECT_TRUE(fs::exists(cache_directory() + "/compilers.ghijkl.new"));
  EXPECT_TRUE(fs::exists(cache_directory() + "/compilers"));
  EXPECT_TRUE(fs::exists(cache_directory() + "/others.abcdef.new"));
}

TEST_F(DiskCacheTest, WhatIsBeingWrittenIsLeftAlone) {
  DiskCache cache(cache_directory(), kRoom);
  Store(cache, 'a');
  const std::string path = FileOf('b').string() + ".abcdef.new";
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(flock(fd.get(), LOCK_EX), 0);
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  EXPECT_EQ(cache.statistics().entries, 1u);
  EXPECT_TRUE(fs::exists(path));
}

}  // namespace
}  // namespace holdfast
