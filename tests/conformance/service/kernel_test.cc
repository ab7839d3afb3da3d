// SPDX-License-Identifier: Apache-2.0
//
// A daemon's answers about kernels equal the driver's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/occupancy.h"
#include "holdfast/v1/module_commands.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "tests/conformance/service/direct_kernel.h"
#include "tests/conformance/service/service.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::conformance {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void plain(int* x, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
extern "C" __global__ void static_shared(float* x) {
  __shared__ float tile[1024];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[1023 - threadIdx.x];
}
extern "C" __global__ void dynamic_shared(float* x) {
  extern __shared__ float bytes[];
  bytes[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = bytes[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128, 4) bounded(double* x) {
  double a = x[0], b = x[1], c = x[2], d = x[3];
  for (int i = 0; i < 8; ++i) { a = a * b + c; c = c * d + a; x[i] = a + c; }
}
extern "C" __global__ void local_array(int* x, int n) {
  int values[64];
  for (int i = 0; i < n; ++i) values[i & 63] = x[i];
  x[0] = values[x[1] & 63];
}
__constant__ int table[256];
struct __align__(16) Big { char a; double b[3]; short c; };
extern "C" __global__ void many(char a, short b, Big c, char d, float* e) {
  *e = table[a & 255] + b + c.a + d;
}
)";

constexpr char kMaxDynamicShared[] = "max_dynamic_shared_size_bytes";

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

template <typename T>
DirectKernel::Number Answer(const absl::StatusOr<T>& value) {
  if (!value.ok()) return std::nullopt;
  return *value;
}

class KernelTest : public ServiceTest {
 protected:
  // Runs `test(kernel, direct)` for each kernel in each format that the device
  // loads.
  template <typename Test>
  void ForEachKernel(const Test& test) {
    std::vector<v1::ObjectFormat> formats = {v1::OBJECT_FORMAT_PTX};
    if (IsGpu()) formats.push_back(v1::OBJECT_FORMAT_CUBIN);
    for (const v1::ObjectFormat format : formats) {
      ASSERT_OK_AND_ASSIGN(const Compilation compiled,
                           Program(kSource).Compile(daemon(), {}, format));
      ASSERT_OK_AND_ASSIGN(const std::string image,
                           compiled.object.Fetch(daemon()));
      ASSERT_OK_AND_ASSIGN(const Module module,
                           session().Load(compiled.object));
      for (const char* name : {"plain", "static_shared", "dynamic_shared",
                               "bounded", "local_array", "many"}) {
        SCOPED_TRACE(absl::StrCat(name, " as ", v1::ObjectFormat_Name(format)));
        ASSERT_OK_AND_ASSIGN(const Kernel kernel, module.GetKernel(name));
        test(kernel, DirectKernel(driver(), image, name));
      }
    }
  }

  // The limits of a block of this kernel.
  static std::vector<uint32_t> Threads(const DirectKernel& direct) {
    std::vector<uint32_t> threads;
    const int64_t most = direct.Attributes().at("max_threads_per_block");
    for (const uint32_t count : {1, 32, 96, 128, 256, 512, 1024}) {
      if (count <= most) threads.push_back(count);
    }
    return threads;
  }
};

TEST_F(KernelTest, AttributesAreTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    ASSERT_OK_AND_ASSIGN(const v1::KernelDescription said, kernel.Describe());
    std::map<std::string, int64_t> attributes(said.attributes().begin(),
                                              said.attributes().end());
    EXPECT_EQ(attributes, direct.Attributes());
  });
}

TEST_F(KernelTest, ParametersAreTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    ASSERT_OK_AND_ASSIGN(const v1::KernelDescription said, kernel.Describe());
    Pairs parameters;
    for (const v1::KernelParameter& parameter : said.parameters()) {
      parameters.emplace_back(parameter.offset(), parameter.size());
    }
    EXPECT_FALSE(parameters.empty());
    EXPECT_EQ(parameters, direct.Parameters());
  });
}

TEST_F(KernelTest, AttributesThatWereSetAreTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    constexpr int kBytes = 40 << 10;
    ASSERT_OK(kernel.SetAttribute(kMaxDynamicShared, kBytes));
    direct.SetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        kBytes);
    ASSERT_OK(kernel.SetAttribute("preferred_shared_memory_carveout", 50));
    direct.SetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    ASSERT_OK_AND_ASSIGN(const v1::KernelDescription said, kernel.Describe());
    std::map<std::string, int64_t> attributes(said.attributes().begin(),
                                              said.attributes().end());
    EXPECT_EQ(attributes, direct.Attributes());
    EXPECT_EQ(attributes.at(kMaxDynamicShared), kBytes);
  });
}

TEST_F(KernelTest, BlocksThatFitAreTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    const Occupancy occupancy(kernel);
    for (const uint32_t threads : Threads(direct)) {
      for (const uint32_t shared : {0, 1000, 16384, 40000}) {
        EXPECT_EQ(
            Answer(occupancy.MaxActiveBlocksPerMultiprocessor(threads, shared)),
            direct.ActiveBlocks(threads, shared))
            << threads << " threads, " << shared << " bytes";
      }
    }
  });
}

TEST_F(KernelTest, BestBlockSizeIsTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    for (const uint32_t shared : {0, 1000, 16384}) {
      for (const uint32_t most : {0, 64, 100}) {
        ASSERT_OK_AND_ASSIGN(
            const Occupancy::BlockSize size,
            Occupancy(kernel).MaxPotentialBlockSize(shared, most));
        EXPECT_EQ(
            std::make_pair(uint64_t{size.threads}, uint64_t{size.min_grid}),
            direct.PotentialBlockSize(shared, most))
            << shared << " bytes, at most " << most << " threads";
      }
    }
  });
}

TEST_F(KernelTest, DynamicSharedMemoryThatIsLeftIsTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    const Occupancy occupancy(kernel);
    for (const uint32_t threads : Threads(direct)) {
      for (const uint32_t blocks : {1, 2, 8}) {
        EXPECT_EQ(
            Answer(occupancy.AvailableDynamicSharedPerBlock(blocks, threads)),
            direct.AvailableDynamicShared(blocks, threads))
            << blocks << " blocks of " << threads;
      }
    }
  });
}

// Where there are no clusters, neither answers.
TEST_F(KernelTest, ClustersThatFitAreTheDrivers) {
  ForEachKernel([](const Kernel& kernel, const DirectKernel& direct) {
    const Occupancy occupancy(kernel);
    LaunchConfig config = {.grid = 64, .block = 128};
    EXPECT_EQ(Answer(occupancy.MaxPotentialClusterSize(config)),
              direct.PotentialClusterSize(128));
    for (const uint32_t size : {1, 2, 4, 8}) {
      config.cluster = size;
      EXPECT_EQ(Answer(occupancy.MaxActiveClusters(config)),
                direct.ActiveClusters(128, size))
          << "clusters of " << size;
    }
  });
}

}  // namespace
}  // namespace holdfast::conformance
