// SPDX-License-Identifier: Apache-2.0
//
// deploy/bazel/glibc, linked into this test as into what is shipped.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace holdfast {
namespace {

// Not inlined, so that unwinding passes through the frame.
[[gnu::noinline]] void Throw(int depth) {
  if (depth > 0) Throw(depth - 1);
  throw std::runtime_error(std::to_string(depth));
}

bool IsCaught() {
  try {
    Throw(20);
  } catch (const std::runtime_error& error) {
    return error.what() == std::string("0");
  }
  return false;
}

TEST(OlderGlibcTest, ExceptionsAreCaughtInEveryThread) {
  std::vector<std::thread> threads;
  std::vector<char> caught(8, 0);
  for (char& one : caught) threads.emplace_back([&one] { one = IsCaught(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(caught, std::vector<char>(8, 1));
}

TEST(OlderGlibcTest, RandomNumbersDiffer) {
  std::random_device device;
  std::set<unsigned> numbers;
  for (int i = 0; i < 64; ++i) numbers.insert(device());
  EXPECT_GT(numbers.size(), 60u);
}

// Counted before main, by a constructor.
std::atomic<int> constructed{0};
struct Counted {
  Counted() { ++constructed; }
} counted;

TEST(OlderGlibcTest, ConstructorsRunOnce) { EXPECT_EQ(constructed, 1); }

TEST(OlderGlibcTest, FilesAreDescribed) {
  struct stat by_path, by_link, by_descriptor, relative;
  ASSERT_EQ(stat("/proc/self/exe", &by_path), 0);
  ASSERT_EQ(lstat("/proc/self/exe", &by_link), 0);
  EXPECT_TRUE(S_ISREG(by_path.st_mode));
  EXPECT_TRUE(S_ISLNK(by_link.st_mode));
  const int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(fstat(descriptor, &by_descriptor), 0);
  ASSERT_EQ(fstatat(descriptor, "", &relative, AT_EMPTY_PATH), 0);
  close(descriptor);
  EXPECT_EQ(by_descriptor.st_ino, by_path.st_ino);
  EXPECT_EQ(by_descriptor.st_size, by_path.st_size);
  EXPECT_EQ(relative.st_ino, by_path.st_ino);
  EXPECT_EQ(stat("/nowhere", &by_path), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(OlderGlibcTest, LibrariesAreLoaded) {
  void* library = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "cos"), nullptr);
  EXPECT_EQ(dlsym(library, "holdfast_nothing"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
  dlclose(library);
}

TEST(OlderGlibcTest, ExceptionsPassFromThreadToThread) {
  std::exception_ptr passed;
  std::thread([&passed] {
    try {
      Throw(3);
    } catch (...) {
      passed = std::current_exception();
    }
  }).join();
  const std::exception_ptr copy = passed;
  passed = nullptr;
  EXPECT_THROW(std::rethrow_exception(copy), std::runtime_error);
}

TEST(OlderGlibcTest, CallOnceCallsOnce) {
  std::once_flag once;
  int calls = 0;
  for (int i = 0; i < 2; ++i) std::call_once(once, [&calls] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(OlderGlibcTest, AChildHasNoFurtherDescriptors) {
  const int open_one = dup(STDERR_FILENO);
  ASSERT_GT(open_one, 2);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  ASSERT_EQ(posix_spawn_file_actions_addclosefrom_np(&actions, 3), 0);
  const std::string script =
      "[ ! -e /proc/self/fd/" + std::to_string(open_one) + " ]";
  std::string shell = "sh", option = "-c", text = script;
  char* arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  ASSERT_EQ(
      posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(open_one);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OlderGlibcTest, SignalsHaveNames) {
  EXPECT_STREQ(sigabbrev_np(SIGSEGV), "SEGV");
  EXPECT_STREQ(sigabbrev_np(SIGSYS), "SYS");
  EXPECT_EQ(sigabbrev_np(0), nullptr);
  EXPECT_EQ(sigabbrev_np(64), nullptr);
}

TEST(OlderGlibcTest, MemoryIsCounted) {
  constexpr size_t kBytes = 100'000;
  const size_t before = mallinfo2().uordblks;
  // Volatile, so that the compiler does not leave the allocation out.
  void* volatile taken = malloc(kBytes);
  EXPECT_GE(mallinfo2().uordblks, before + kBytes);
  EXPECT_GE(mallinfo2().arena, kBytes);
  free(taken);
}

}  // namespace
}  // namespace holdfast
