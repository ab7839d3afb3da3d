// SPDX-License-Identifier: Apache-2.0
//
// Bodies that all attract each other, by tiles in shared memory; their energy
// must last.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "client/cpp/holdfast.h"
#include "client/examples/steps.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
// v += a * dt, where a is the sum over all bodies of d / (d^2 + 0.01)^1.5 / n.
extern "C" __global__ void kick(const float4* x, float4* v, float dt) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = x[i], a = {};
  for (int block = 0; block < gridDim.x; ++block) {
    tile[threadIdx.x] = x[block * 256 + threadIdx.x];
    __syncthreads();
    for (float4 other : tile) {
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = r * r * r;
      a.x += s * dx, a.y += s * dy, a.z += s * dz;
    }
    __syncthreads();
  }
  dt /= gridDim.x * 256;
  v[i].x += a.x * dt, v[i].y += a.y * dt, v[i].z += a.z * dt;
}
extern "C" __global__ void drift(float4* x, const float4* v, float dt) {
  int i = blockIdx.x * 256 + threadIdx.x;
  x[i].x += v[i].x * dt, x[i].y += v[i].y * dt, x[i].z += v[i].z * dt;
})";

struct Vector {
  float x = 0, y = 0, z = 0, unused = 0;
};
using Bodies = std::vector<Vector>;

double Energy(const Bodies& x, const Bodies& v) {
  double energy = 0, n = x.size();
  for (size_t i = 0; i < x.size(); ++i) {
    energy += (v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z) / n / 2;
    for (size_t j = 0; j < i; ++j) {
      const double d =
          std::hypot(x[i].x - x[j].x, x[i].y - x[j].y, x[i].z - x[j].z);
      energy -= 1 / std::hypot(d, 0.1) / n / n;
    }
  }
  return energy;
}

// Two balls of bodies that fall past each other, on spirals from pole to pole.
void TwoClusters(Bodies& x, Bodies& v) {
  for (size_t i = 0; i < x.size(); ++i) {
    const float side = i % 2 == 0 ? 1 : -1, t = (i + 0.5f) / x.size();
    const float z = 2 * t - 1, angle = 2.4f * i, r = std::sqrt(1 - z * z);
    const float size = 0.5f * std::cbrt(i * 0.618f - std::floor(i * 0.618f));
    x[i] = {size * r * std::cos(angle) + side, size * r * std::sin(angle),
            size * z};
    v[i] = {0, 0.3f * side, 0};
  }
}

absl::Status Run(const std::string& address, uint32_t blocks, int count) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            Session::Open({.address = address}));
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kick, module.GetKernel("kick"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel drift, module.GetKernel("drift"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const LaunchConfig config = {.grid = blocks, .block = 256};
  Bodies x(size_t{256} * blocks), v = x;
  TwoClusters(x, v);
  const uint64_t bytes = x.size() * sizeof(Vector);
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_x, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_v, device.Allocate(bytes, stream));
  HOLDFAST_RETURN_IF_ERROR(d_x.Upload(x, stream));
  HOLDFAST_RETURN_IF_ERROR(d_v.Upload(v, stream));
  const double before = Energy(x, v);

  Steps steps;
  const float dt = 0.01f;
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, kick, d_x, d_v, dt / 2));
  for (int left = count - 1; left >= 0; --left) {
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, drift, d_x, d_v, dt));
    HOLDFAST_RETURN_IF_ERROR(
        Launch(stream, config, kick, d_x, d_v, left > 0 ? dt : dt / 2));
  }
  HOLDFAST_RETURN_IF_ERROR(d_x.Download(x, stream));
  HOLDFAST_RETURN_IF_ERROR(d_v.Download(v, stream));
  steps.Done("move the bodies",
             absl::StrFormat("%d bodies, %d steps", x.size(), count));
  const double after = Energy(x, v);
  steps.Done("compute their energy",
             absl::StrFormat("%.6f, then %.6f", before, after));
  return std::abs(after / before - 1) < 1e-3
             ? absl::OkStatus()
             : absl::DataLossError("the energy has changed");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  uint32_t blocks = 8;
  int steps = 50;
  CLI::App app("nbody: bodies that all attract each other");
  app.add_option("--address", address, "Where the daemon is");
  app.add_option("--blocks", blocks, "Of 256 bodies each")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "Of a hundredth each")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address, blocks, steps);
  if (!status.ok()) {
    std::fprintf(
        stderr, "nbody: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
