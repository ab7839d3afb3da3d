// SPDX-License-Identifier: Apache-2.0
//
// Bodies that all attract each other, by tiles in shared memory. Each pulls the
// others as much as they pull it, so the sum of all velocities must stay 0.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
// v += dt * the sum over all bodies of d / (d^2 + 0.01)^1.5 / n.
extern "C" __global__ void step(const float4* x, float4* v, float4* next,
                                float dt) {
  __shared__ float4 tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = x[i], speed = v[i];
  for (int block = 0; block < gridDim.x; ++block) {
    tile[threadIdx.x] = x[block * 256 + threadIdx.x];
    __syncthreads();
    for (float4 other : tile) {
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float s = r * r * r * dt / (gridDim.x * 256);
      speed.x += s * dx, speed.y += s * dy, speed.z += s * dz;
    }
    __syncthreads();
  }
  me.x += speed.x * dt, me.y += speed.y * dt, me.z += speed.z * dt;
  v[i] = speed, next[i] = me;
})";
constexpr int kBlocks = 8, kBodies = 256 * kBlocks, kSteps = 50;

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel step, module.GetKernel("step"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  // On a spiral from pole to pole of a ball, at rest; four floats for each.
  std::vector<float> x(4 * kBodies), v(x.size());
  for (int i = 0; i < kBodies; ++i) {
    const float z = (2.0f * i + 1) / kBodies - 1, r = std::sqrt(1 - z * z);
    x[4 * i] = r * std::cos(2.4f * i), x[4 * i + 1] = r * std::sin(2.4f * i);
    x[4 * i + 2] = z;
  }
  constexpr auto kBytes = 4 * kBodies * sizeof(float);
  HOLDFAST_ASSIGN_OR_RETURN(Buffer now, device.Allocate(kBytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer next, device.Allocate(kBytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_v, device.Allocate(kBytes, stream));
  HOLDFAST_RETURN_IF_ERROR(now.Upload(x, stream));
  HOLDFAST_RETURN_IF_ERROR(d_v.Upload(v, stream));
  for (int i = 0; i < kSteps; ++i) {
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = kBlocks, .block = 256},
                                    step, now, d_v, next, 0.01f));
    std::swap(now, next);
  }
  HOLDFAST_RETURN_IF_ERROR(d_v.Download(v, stream));
  float sum = 0, largest = 0;
  for (const float speed : v) sum += speed, largest = std::max(largest, speed);
  std::printf("%d bodies, %d steps: speeds up to %.3f, their sum is %.0e\n",
              kBodies, kSteps, largest, sum);
  if (largest > 0.1f && std::abs(sum) < 1e-3f * kBodies) return {};
  return absl::DataLossError("the momentum has changed");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("nbody: bodies that all attract each other");
  return example.Main(argc, argv, holdfast::Run);
}
