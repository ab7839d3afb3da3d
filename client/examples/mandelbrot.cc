// SPDX-License-Identifier: Apache-2.0
//
// A zoom into the Mandelbrot set, one launch a picture. The first picture is
// printed as text; the processor computes the last one again.
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/holdfast.h"
#include "client/examples/steps.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void mandelbrot(unsigned char* counts, double left,
                                      double top, double pixel) {
  double cx = left + threadIdx.x * pixel, cy = top + blockIdx.x * pixel;
  int n = 0;
  for (double x = 0, y = 0; n < 255 && x * x + y * y <= 4; ++n) {
    double next = x * x - y * y + cx;
    y = 2 * x * y + cy, x = next;
  }
  counts[blockIdx.x * blockDim.x + threadIdx.x] = n;
})";

int Count(std::complex<double> c) {
  int n = 0;
  for (std::complex<double> z; n < 255 && std::norm(z) <= 4; ++n) z = z * z + c;
  return n;
}

absl::Status Run(const std::string& address, uint32_t width, int pictures) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            Session::Open({.address = address}));
  // --fmad=false: rounds as the processor does.
  const Program program(kSource, {.options = {"--fmad=false"}});
  HOLDFAST_ASSIGN_OR_RETURN(auto compiled, program.Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(auto module, session->Load(compiled.object));
  HOLDFAST_ASSIGN_OR_RETURN(auto kernel, module.GetKernel("mandelbrot"));
  HOLDFAST_ASSIGN_OR_RETURN(auto stream, session->device(0).CreateStream());
  const uint32_t height = (2 * width + 2) / 3, n = width * height;
  HOLDFAST_ASSIGN_OR_RETURN(auto buffer, session->device(0).Allocate(n));
  std::vector<uint8_t> counts(n);
  Steps steps;
  double pixel = 0, left = 0, top = 0;
  for (int i = 0; i < pictures; ++i) {
    pixel = 3 / std::pow(1.5, i) / width;
    left = -0.743643887037151 - pixel * width / 2;
    top = 0.131825904205330 - pixel * height / 2;
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = height, .block = width},
                                    kernel, buffer, left, top, pixel));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(counts, stream));
    for (uint32_t at = 0; i == 0 && at < n; ++at) {
      if (at / width % 2 != 0) continue;  // Letters are twice as high as wide.
      std::putchar("   .:-+*@"[std::bit_width(counts[at])]);
      if ((at + 1) % width == 0) std::putchar('\n');
    }
  }
  steps.Done("compute all pictures", std::to_string(pictures));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t column = i % width;
    const uint32_t row = i / width;
    wrong += counts[i] != Count({left + column * pixel, top + row * pixel});
  }
  steps.Done("compute the last one again", std::to_string(wrong) + " differ");
  return wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong points");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  uint32_t width = 78;
  int pictures = 16;
  CLI::App app("mandelbrot: a zoom into the Mandelbrot set");
  app.add_option("--address", address, "Where the daemon is");
  app.add_option("--width", width, "In points")->check(CLI::Range(1, 1024));
  app.add_option("--pictures", pictures, "Each nearer")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address, width, pictures);
  if (!status.ok()) {
    std::fprintf(
        stderr, "mandelbrot: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
