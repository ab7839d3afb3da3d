// SPDX-License-Identifier: Apache-2.0
//
// Keeps device 0 busy as one tenant ($HOLDFAST_TOKEN, or the user), and prints
// how many kernels a second ran. Two of them beside each other show how a
// daemon shares a device: each one's figure, against its figure alone.
//
//   tenant_load --seconds=10 --rounds=2000 --blocks=1056 --threads=256
//
// A kernel works a fixed number of rounds rather than a time, so that it takes
// longer while others use the device.
#include <cstdint>
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/objects.pb.h"
#include "tests/testing/kernels.h"

namespace holdfast {
namespace {

struct Load {
  std::string address;
  double seconds = 10;
  double warmup = 1;
  uint32_t rounds = 2000;
  uint32_t blocks = 1;
  uint32_t threads = 32;
  int batch = 100;
};

// The kernel and where it runs.
struct Target {
  Stream stream;
  Buffer buffer;
};

absl::StatusOr<Target> MakeTarget(const Device& device) {
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer, device.Allocate(4096, stream));
  return Target{std::move(stream), std::move(buffer)};
}

absl::Status LaunchBatch(const Load& load, const Kernel& kernel,
                         const Target& target) {
  const LaunchConfig config = {.grid = load.blocks, .block = load.threads};
  for (int i = 0; i < load.batch; ++i) {
    HOLDFAST_RETURN_IF_ERROR(
        Launch(target.stream, config, kernel, target.buffer, load.rounds));
  }
  return absl::OkStatus();
}

// Two streams take turns, so that the device never waits for the client.
// Returns the kernels that ended.
absl::StatusOr<uint64_t> RunFor(const Load& load, absl::Duration time,
                                const Kernel& kernel, const Target& a,
                                const Target& b) {
  const absl::Time end = absl::Now() + time;
  uint64_t kernels = 0;
  HOLDFAST_RETURN_IF_ERROR(LaunchBatch(load, kernel, a));
  for (bool turn = true; absl::Now() < end; turn = !turn) {
    HOLDFAST_RETURN_IF_ERROR(LaunchBatch(load, kernel, turn ? b : a));
    HOLDFAST_RETURN_IF_ERROR((turn ? a : b).stream.Synchronize());
    kernels += static_cast<uint64_t>(load.batch);
  }
  HOLDFAST_RETURN_IF_ERROR(a.stream.Synchronize());
  HOLDFAST_RETURN_IF_ERROR(b.stream.Synchronize());
  return kernels + static_cast<uint64_t>(load.batch);
}

absl::Status Run(const Load& load) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = load.address, .name = "tenant_load"}));
  HOLDFAST_ASSIGN_OR_RETURN(
      const ObjectCode object,
      ObjectCode::Put(session->daemon(), test_ptx::kModule<test_ptx::kWork>,
                      v1::OBJECT_FORMAT_PTX));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module, session->Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module.GetKernel("work"));
  HOLDFAST_ASSIGN_OR_RETURN(const Target a, MakeTarget(session->device(0)));
  HOLDFAST_ASSIGN_OR_RETURN(const Target b, MakeTarget(session->device(0)));
  HOLDFAST_RETURN_IF_ERROR(
      RunFor(load, absl::Seconds(load.warmup), kernel, a, b).status());
  const absl::Time begin = absl::Now();
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t kernels,
      RunFor(load, absl::Seconds(load.seconds), kernel, a, b));
  std::printf("%.0f\n", static_cast<double>(kernels) /
                            absl::ToDoubleSeconds(absl::Now() - begin));
  return absl::OkStatus();
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Load load;
  CLI::App app("Keeps device 0 busy; prints the kernels that ran, a second");
  app.add_option("--address", load.address, "The daemon's");
  app.add_option("--seconds", load.seconds, "That are measured");
  app.add_option("--warmup", load.warmup, "Seconds before them");
  app.add_option("--rounds", load.rounds, "Of work in each thread")
      ->check(CLI::PositiveNumber);
  app.add_option("--blocks", load.blocks, "Of each kernel");
  app.add_option("--threads", load.threads, "Of each block");
  app.add_option("--batch", load.batch, "Kernels on the way on each stream")
      ->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(load);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
