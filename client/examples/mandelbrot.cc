// SPDX-License-Identifier: Apache-2.0
//
// A zoom into the Mandelbrot set, one launch a picture. The first picture is
// printed as text; the processor computes the last one again.
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
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
constexpr uint32_t kWidth = 78, kHeight = 52, kCount = kWidth * kHeight;

int Count(std::complex<double> c) {
  int n = 0;
  for (std::complex<double> z; n < 255 && std::norm(z) <= 4; ++n) z = z * z + c;
  return n;
}

absl::Status Run(const Session& session, int pictures) {
  // --fmad=false: rounds as the processor does.
  HOLDFAST_ASSIGN_OR_RETURN(
      const Module module,
      CompileAndLoad(session, kSource, {.options = {"--fmad=false"}}));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel,
                            module.GetKernel("mandelbrot"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, device.Allocate(kCount));
  std::vector<uint8_t> counts(kCount);
  double pixel = 0, left = 0, top = 0;
  for (int i = 0; i < pictures; ++i) {
    pixel = 3 / std::pow(1.5, i) / kWidth;
    left = -0.743643887037151 - pixel * kWidth / 2;
    top = 0.131825904205330 - pixel * kWidth / 3;
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = kHeight, .block = kWidth},
                                    kernel, buffer, left, top, pixel));
    HOLDFAST_RETURN_IF_ERROR(buffer.Download(counts, stream));
    for (uint32_t at = 0; i == 0 && at < kCount; ++at) {
      if (at / kWidth % 2 != 0) continue;  // Letters are twice as high as wide.
      std::putchar("   .:-+*@"[std::bit_width(counts[at])]);
      if ((at + 1) % kWidth == 0) std::putchar('\n');
    }
  }
  return CheckAll("points of the last picture", kCount, [&](uint32_t i) {
    const uint32_t column = i % kWidth, row = i / kWidth;
    const double x = left + column * pixel, y = top + row * pixel;
    return counts[i] == Count({x, y});
  });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  int pictures = 16;
  holdfast::Example example("mandelbrot: a zoom into the Mandelbrot set");
  example.options().add_option("--pictures", pictures, "Each nearer");
  return example.Main(argc, argv, [&](const holdfast::Session& session) {
    return holdfast::Run(session, pictures);
  });
}
