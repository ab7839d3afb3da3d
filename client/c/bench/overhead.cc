// SPDX-License-Identifier: Apache-2.0
//
// How much longer a launch takes by the C ABI than by the C++ library, which
// is under it: both submit the same launches, in turns, and the fastest round
// of each counts.
//
//   HOLDFAST_DAEMON=bazel-bin/server/holdfastd
//   bazel-bin/client/c/bench/overhead
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/c/holdfast.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"

namespace {

constexpr int kRounds = 400;
constexpr int kLaunches = 512;
constexpr char kSource[] =
    "extern \"C\" __global__ void f(int* x, int a, float b, int c) {}";

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Check(hf_error* error) {
  if (error == nullptr) return;
  std::fprintf(stderr, "%s\n", hf_error_message(error));
  std::exit(1);
}

template <typename T>
T Take(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

// The time of one launch in a round, in nanoseconds, without the wait for it.
template <typename Launch, typename Wait>
double Round(Launch launch, Wait wait) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) launch();
  const std::chrono::duration<double, std::nano> time =
      std::chrono::steady_clock::now() - start;
  wait();
  return time.count() / kLaunches;
}

struct InCpp {
  explicit InCpp(const std::string& address)
      : session(Take(holdfast::Session::Open({.address = address}))),
        stream(Take(session->device(0).CreateStream())),
        buffer(Take(session->device(0).Allocate(4, stream))),
        kernel(Take(Take(session->Load(Take(holdfast::Program(kSource).Compile(
                                                session->daemon()))
                                           .object))
                        .GetKernel("f"))) {}

  double Measure() const {
    return Round(
        [&] {
          Check(holdfast::Launch(stream, {.grid = 1, .block = 1}, kernel,
                                 buffer, 1, 2.0f, 3));
        },
        [&] { Check(stream.Synchronize()); });
  }

  std::unique_ptr<holdfast::Session> session;
  holdfast::Stream stream;
  holdfast::Buffer buffer;
  holdfast::Kernel kernel;
};

struct InC {
  explicit InC(const char* address) {
    hf_compilation* compilation = nullptr;
    hf_module* module = nullptr;
    Check(hf_daemon_connect(address, &daemon));
    Check(hf_session_open(daemon, nullptr, &session));
    Check(hf_stream_create(session, 0, nullptr, &stream));
    Check(hf_buffer_allocate(session, 0, 4, stream, &buffer));
    Check(hf_compile(daemon, kSource, std::strlen(kSource), nullptr,
                     &compilation));
    Check(hf_module_load(session, hf_compilation_object(compilation), &module));
    Check(hf_module_kernel(module, "f", &kernel));
    hf_module_free(module);
    hf_compilation_free(compilation);
  }
  ~InC() {
    hf_kernel_free(kernel);
    hf_buffer_free(buffer);
    hf_stream_free(stream);
    hf_session_free(session);
    hf_daemon_free(daemon);
  }

  double Measure() const {
    const hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
    return Round(
        [&] {
          const hf_argument arguments[] = {hf_pointer(buffer), hf_i32(1),
                                           hf_f32(2), hf_i32(3)};
          Check(hf_launch(stream, &config, kernel, arguments, 4));
        },
        [&] { Check(hf_stream_synchronize(stream)); });
  }

  hf_daemon* daemon = nullptr;
  hf_session* session = nullptr;
  hf_stream* stream = nullptr;
  hf_buffer* buffer = nullptr;
  hf_kernel* kernel = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  const char* const address = argc > 1 ? argv[1] : "embedded:";
  const InC c(address);
  const InCpp cpp(hf_daemon_address(c.daemon));
  double best_c = 1e9;
  double best_cpp = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    best_cpp = std::min(best_cpp, cpp.Measure());
    best_c = std::min(best_c, c.Measure());
  }
  std::printf("launch: %.0f ns in C++, %.0f ns in C, %+.0f ns\n", best_cpp,
              best_c, best_c - best_cpp);
  return 0;
}
