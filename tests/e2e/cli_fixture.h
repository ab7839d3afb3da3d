// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_E2E_CLI_FIXTURE_H_
#define HOLDFAST_TESTS_E2E_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/npy.h"
#include "tests/e2e/daemon_process.h"
#include "tests/e2e/process.h"

namespace holdfast::e2e {

// Returns an array with these values, which are in C order.
template <typename T>
cli::Array MakeArray(cli::ElementType type, std::vector<uint64_t> shape,
                     const std::vector<T>& values) {
  return {type, std::move(shape),
          std::string(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(T))};
}

// Returns the elements of an array. REQUIRES: its type is T.
template <typename T>
std::vector<T> Values(const cli::Array& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

// The command line beside a daemon, which all tests of a suite share. The
// daemon's directory has the file kernels.cu.
class CliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  // Returns the path of a file of the test.
  static std::string Path(const std::string& name);

  // Runs `holdfast` with these arguments, and the daemon's address in the
  // environment.
  static Outcome Holdfast(std::vector<std::string> arguments);

  // Expects this exit code, and the text on stderr.
  static void ExpectFailure(const Outcome& outcome, int exit_code,
                            const std::string& text);

  static DaemonProcess* daemon_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_CLI_FIXTURE_H_
