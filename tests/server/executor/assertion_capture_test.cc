// SPDX-License-Identifier: Apache-2.0
//
// Of what a process writes to standard error, assertions are kept and all else
// goes where it went before. Each test runs in a process of its own, whose
// standard error is a pipe.
#include "server/executor/output/assertion_capture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/base/log.h"
#include "gtest/gtest.h"

namespace holdfast::executor {
namespace {

constexpr char kAssertion[] =
    "a.cu:4: void f(int): block: [0,0,0], thread: [2,0,0] Assertion `n > 0 && "
    "\"no: block: [debts\"` failed.\n";

std::string ReadAll(int descriptor) {
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = read(descriptor, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(n));
  }
  return text;
}

struct Streams {
  std::string error;  // what came out of the process's own standard error
  std::string kept;   // what `body` wrote to its argument
};

Streams RunApart(const std::function<void(int kept)>& body) {
  int error[2], kept[2];
  EXPECT_EQ(pipe2(error, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(kept, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(error[1], STDERR_FILENO);
    close(error[1]);
    close(error[0]);
    body(kept[1]);
    exit(0);
  }
  close(error[1]);
  close(kept[1]);
  Streams streams{ReadAll(error[0]), ReadAll(kept[0])};
  close(error[0]);
  close(kept[0]);
  waitpid(child, nullptr, 0);
  return streams;
}

void Keep(int descriptor, const std::string& text) {
  EXPECT_EQ(write(descriptor, text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
}

TEST(AssertionCaptureTest, AssertionsAreKeptAndOtherLinesAreHandedOn) {
  const Streams streams = RunApart([](int kept) {
    const auto capture = AssertionCapture::Begin();
    if (!capture.ok()) abort();
    std::fprintf(stderr, "before\n%safter\n", kAssertion);
    Keep(kept, (*capture)->Read());
  });
  EXPECT_EQ(streams.kept, kAssertion);
  EXPECT_EQ(streams.error, "before\nafter\n");
}

TEST(AssertionCaptureTest, ALineThatComesInPartsIsOneLine) {
  const Streams streams = RunApart([](int kept) {
    const auto capture = AssertionCapture::Begin();
    if (!capture.ok()) abort();
    const std::string line = kAssertion;
    std::fputs(line.substr(0, 30).c_str(), stderr);
    Keep(kept, "[" + (*capture)->Read() + "]");
    std::fputs(line.substr(30).c_str(), stderr);
    Keep(kept, (*capture)->Read());
  });
  EXPECT_EQ(streams.kept, std::string("[]") + kAssertion);
  EXPECT_EQ(streams.error, "");
}

TEST(AssertionCaptureTest, TheLogAndAnEndingKeepTheirPlace) {
  const Streams streams = RunApart([](int kept) {
    auto capture = AssertionCapture::Begin();
    if (!capture.ok()) abort();
    LogWarning("of the log");
    std::fputs("no end of line", stderr);
    Keep(kept, (*capture)->Read());
    capture->reset();
    std::fputs("; later", stderr);
  });
  EXPECT_EQ(streams.kept, "");
  EXPECT_NE(streams.error.find("of the log\n"), std::string::npos);
  EXPECT_NE(streams.error.find("no end of line; later"), std::string::npos)
      << streams.error;
}

TEST(AssertionCaptureTest, TheLastWordsOfAProcessThatAbortsAreNotLost) {
  const Streams streams = RunApart([](int) {
    const auto capture = AssertionCapture::Begin();
    std::fputs("free(): invalid pointer\n", stderr);
    abort();
  });
  EXPECT_EQ(streams.error, "free(): invalid pointer\n");
}

TEST(AssertionCaptureTest, OrOfOneThatExits) {
  const Streams streams = RunApart([](int) {
    static const auto capture = AssertionCapture::Begin();
    std::fputs("fatal\n", stderr);
    exit(1);
  });
  EXPECT_EQ(streams.error, "fatal\n");
}

}  // namespace
}  // namespace holdfast::executor
