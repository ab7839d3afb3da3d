// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/cli_fixture.h"

#include "absl/strings/match.h"
#include "client/cli/file.h"

namespace holdfast::e2e {
namespace {

// Not a kernel of this tree: a matrix times a vector, in doubles.
constexpr char kSource[] = R"(
template <typename T>
__global__ void multiply(const T* matrix, const T* vector, T* result,
                         unsigned rows, unsigned columns) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T sum = 0;
  for (unsigned i = 0; i < columns; ++i) {
    sum += matrix[row * columns + i] * vector[i];
  }
  result[row] = sum;
}
extern "C" __global__ void add_one(int* data, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
extern "C" __global__ void stray(int* data) {
  data[threadIdx.x == 37 ? 1u << 30 : threadIdx.x] = 1;
}
extern "C" __global__ void greet(double value) {
  printf("thread %d has %g\n", threadIdx.x, value);
}
)";

}  // namespace

DaemonProcess* CliTest::daemon_ = nullptr;

void CliTest::SetUpTestSuite() {
  daemon_ = new DaemonProcess();
  ASSERT_TRUE(cli::WriteFile(Path("kernels.cu"), kSource).ok());
}

void CliTest::TearDownTestSuite() { delete daemon_; }

std::string CliTest::Path(const std::string& name) {
  return daemon_->directory() + "/" + name;
}

Outcome CliTest::Holdfast(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
  return RunProgram(arguments, {{"HOLDFAST_ADDRESS", daemon_->address()}});
}

void CliTest::ExpectFailure(const Outcome& outcome, int exit_code,
                            const std::string& text) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.err, text)) << outcome.err;
}

}  // namespace holdfast::e2e
