// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters: how they are asked for and refused, and what blocks of
// one see of each other.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {
namespace {

constexpr unsigned kMaxBlocks = 64;
constexpr unsigned kWords = 8;  // of each block, and of each thread

// `where` stores what special registers say; each block has kWords.
// `exchange` has each thread write a word for the same thread of the next block
// of the cluster, and of the one after that, by addresses of both kinds.
// `remote` has all threads of a cluster arrive at a barrier of its first block,
// which then adds up what they have stored there.
constexpr char kPtx[] = R"(
.version 8.1
.target sm_90
.address_size 64

.visible .entry plain(.param .u64 out) { ret; }
.visible .entry pairs(.param .u64 out) .reqnctapercluster 2 { ret; }
.visible .entry set(.param .u64 out) .explicitcluster { ret; }
.visible .entry four(.param .u64 out) .maxclusterrank 4 { ret; }

.visible .entry where(.param .u64 out) {
  .reg .u64 %o, %at;
  .reg .u32 %r, %s;
  .reg .pred %p;
  ld.param.u64 %o, [out];
  mov.u32 %r, %ctaid.y;
  mov.u32 %s, %nctaid.x;
  mul.lo.u32 %r, %r, %s;
  mov.u32 %s, %ctaid.x;
  add.u32 %r, %r, %s;
  mul.wide.u32 %at, %r, 32;
  add.u64 %o, %o, %at;
  mov.u32 %r, %clusterid.x;
  mov.u32 %s, %clusterid.y;
  st.global.v2.u32 [%o], {%r, %s};
  mov.u32 %r, %nclusterid.x;
  mov.u32 %s, %nclusterid.y;
  mad.lo.u32 %r, %r, 100, %s;
  mov.u32 %s, %cluster_nctarank;
  st.global.v2.u32 [%o+8], {%r, %s};
  mov.u32 %r, %cluster_ctaid.x;
  mov.u32 %s, %cluster_ctaid.y;
  st.global.v2.u32 [%o+16], {%r, %s};
  mov.u32 %r, %cluster_ctarank;
  mov.pred %p, %is_explicit_cluster;
  selp.u32 %s, 1, 0, %p;
  st.global.v2.u32 [%o+24], {%r, %s};
  ret;
}

.visible .entry exchange(.param .u64 out) {
  .reg .u64 %o, %g, %h;
  .reg .u32 %t, %n, %b, %rank, %size, %a, %c, %r, %x;
  .reg .pred %p, %q;
  .shared .align 8 .u32 first[64];
  .shared .align 8 .u32 second[64];
  .shared .align 8 .u32 count;
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %size, %cluster_nctarank;
  mov.u32 %x, 0;
  st.shared.u32 [count], %x;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  // To the next block, by a generic address.
  add.u32 %r, %rank, 1;
  rem.u32 %r, %r, %size;
  mov.u32 %a, first;
  mad.lo.u32 %a, %t, 4, %a;
  cvt.u64.u32 %g, %a;
  cvta.shared.u64 %g, %g;
  mapa.u64 %h, %g, %r;
  mad.lo.u32 %x, %b, 1000, %t;
  st.u32 [%h], %x;
  getctarank.u64 %c, %h;
  setp.eq.u32 %p, %c, %r;
  // To the one after that, by an address of shared memory.
  add.u32 %r, %r, 1;
  rem.u32 %r, %r, %size;
  mapa.shared::cluster.u32 %c, second, %r;
  mad.lo.u32 %c, %t, 4, %c;
  st.shared::cluster.u32 [%c], %x;
  getctarank.shared::cluster.u32 %c, %c;
  setp.eq.and.u32 %p, %c, %r, %p;
  // All count in the first block.
  mapa.shared::cluster.u32 %c, count, 0;
  atom.shared::cluster.add.u32 %x, [%c], 1;
  red.relaxed.cluster.shared::cluster.add.u32 [%c], 1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.param.u64 %o, [out];
  mad.lo.u32 %x, %b, %n, %t;
  mul.wide.u32 %g, %x, 32;
  add.u64 %o, %o, %g;
  ld.shared.u32 %x, [%a];
  st.global.u32 [%o], %x;
  ld.shared::cluster.u32 %x, [%a+256];
  st.global.u32 [%o+4], %x;
  ld.shared::cluster.u32 %x, [%c];
  st.global.u32 [%o+8], %x;
  selp.u32 %x, 1, 0, %p;
  st.global.u32 [%o+12], %x;
  // Whose memory an address is.
  isspacep.shared::cluster %p, %h;
  isspacep.shared::cta %q, %h;
  selp.u32 %x, 1, 0, %p;
  selp.u32 %r, 2, 0, %q;
  add.u32 %x, %x, %r;
  isspacep.global %p, %h;
  selp.u32 %r, 4, 0, %p;
  add.u32 %x, %x, %r;
  st.global.u32 [%o+16], %x;
  mapa.u64 %g, %h, %rank;
  cvta.to.shared.u64 %g, %g;
  cvt.u32.u64 %c, %g;
  setp.eq.u32 %p, %c, %a;
  selp.u32 %x, 1, 0, %p;
  st.global.u32 [%o+20], %x;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}

.visible .entry leave(.param .u64 out) {
  .reg .u64 %o, %g;
  .reg .u32 %t, %b, %rank, %c, %x;
  .reg .pred %p;
  .shared .u32 count;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %x, 0;
  st.shared.u32 [count], %x;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %c, count, 0;
  setp.ge.u32 %p, %t, 40;
  @%p ret;
  setp.lt.u32 %p, %t, 20;
  @%p bra Lower;
  red.relaxed.cluster.shared::cluster.add.u32 [%c], 1;
  barrier.cluster.arrive.release;
  bra Met;
Lower:
  red.relaxed.cluster.shared::cluster.add.u32 [%c], 100;
  barrier.cluster.arrive.release;
Met:
  barrier.cluster.wait.acquire;
  ld.shared::cluster.u32 %x, [%c];
  barrier.cluster.arrive.relaxed;
  mov.u32 %b, %ctaid.x;
  mad.lo.u32 %b, %b, 64, %t;
  ld.param.u64 %o, [out];
  mul.wide.u32 %g, %b, 4;
  add.u64 %o, %o, %g;
  st.global.u32 [%o], %x;
  barrier.cluster.wait;
  ret;
}

.visible .entry remote(.param .u64 out) {
  .reg .u64 %o, %g, %s;
  .reg .u32 %t, %n, %b, %rank, %size, %a, %m, %x, %i, %sum;
  .reg .pred %p, %q;
  .shared .align 8 .b64 barrier;
  .shared .align 8 .u32 slots[512];
  mov.u32 %t, %tid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %size, %cluster_nctarank;
  mul.lo.u32 %size, %size, %n;
  or.b32 %x, %t, %rank;
  setp.ne.u32 %p, %x, 0;
  @%p bra Ready;
  mbarrier.init.shared.b64 [barrier], %size;
  mul.lo.u32 %x, %size, 4;
  mbarrier.expect_tx.relaxed.cta.shared.b64 [barrier], %x;
  fence.mbarrier_init.release.cluster;
Ready:
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
  mapa.shared::cluster.u32 %m, barrier, 0;
  mad.lo.u32 %i, %rank, %n, %t;
  mapa.shared::cluster.u32 %a, slots, 0;
  mad.lo.u32 %a, %i, 4, %a;
  add.u32 %x, %i, %b;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%a], %x, [%m];
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%m];
  mov.u32 %sum, 0;
  or.b32 %x, %t, %rank;
  setp.ne.u32 %p, %x, 0;
  @%p bra Stored;
Wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [barrier], 0;
  @!%q bra Wait;
  mov.u32 %i, 0;
  mov.u32 %a, slots;
Next:
  ld.shared.u32 %x, [%a];
  add.u32 %sum, %sum, %x;
  add.u32 %a, %a, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %size;
  @%p bra Next;
  ld.param.u64 %o, [out];
  mul.wide.u32 %g, %b, 4;
  add.u64 %o, %o, %g;
  st.global.u32 [%o], %sum;
Stored:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
}
)";

struct Dims {
  unsigned x = 1, y = 1, z = 1;
};

CUlaunchAttribute Cluster(Dims dims) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim = {dims.x, dims.y, dims.z};
  return attribute;
}

CUlaunchAttribute Preferred(Dims dims) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
  attribute.value.preferredClusterDim = {dims.x, dims.y, dims.z};
  return attribute;
}

CUlaunchAttribute Cooperative() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attribute;
}

class ClusterTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (Attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0) {
      GTEST_SKIP() << "the device has no clusters";
    }
    ASSERT_OK(Cuda().cuModuleLoadData(&module_, kPtx));
    ASSERT_OK(Cuda().cuMemAlloc_v2(&out_, kBytes));
    ASSERT_OK(Cuda().cuMemsetD8_v2(out_, 0xEE, kBytes));
  }
  void TearDown() override {
    if (module_ != nullptr) {
      EXPECT_OK(Cuda().cuMemFree_v2(out_));
      EXPECT_OK(Cuda().cuModuleUnload(module_));
    }
    ContextTest::TearDown();
  }

  CUfunction Function(const char* name) {
    CUfunction function = nullptr;
    EXPECT_OK(Cuda().cuModuleGetFunction(&function, module_, name));
    return function;
  }

  static CUlaunchConfig Config(Dims grid, unsigned threads) {
    CUlaunchConfig config{};
    config.gridDimX = grid.x;
    config.gridDimY = grid.y;
    config.gridDimZ = grid.z;
    config.blockDimX = threads;
    config.blockDimY = config.blockDimZ = 1;
    return config;
  }

  CUresult Launch(const char* name, Dims grid,
                  std::vector<CUlaunchAttribute> attributes,
                  unsigned threads = 32) {
    CUlaunchConfig config = Config(grid, threads);
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    void* values[] = {&out_};
    const CUresult result =
        Cuda().cuLaunchKernelEx(&config, Function(name), values, nullptr);
    EXPECT_OK(Cuda().cuCtxSynchronize_v2(context_));
    return result;
  }

  std::vector<uint32_t> Words() {
    std::vector<uint32_t> words(kBytes / sizeof(uint32_t));
    EXPECT_OK(Cuda().cuMemcpyDtoH_v2(words.data(), out_, kBytes));
    return words;
  }

  int Get(const char* name, CUfunction_attribute attribute) {
    int value = -1;
    EXPECT_OK(Cuda().cuFuncGetAttribute(&value, attribute, Function(name)));
    return value;
  }

  static constexpr size_t kBytes = kMaxBlocks * 64 * kWords * sizeof(uint32_t);
  CUmodule module_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(ClusterTest, BlocksKnowTheirPlace) {
  ASSERT_OK(Launch("where", {6, 4}, {Cluster({3, 2})}));
  const std::vector<uint32_t> words = Words();
  for (unsigned y = 0; y < 4; ++y) {
    for (unsigned x = 0; x < 6; ++x) {
      const uint32_t* found = &words[(y * 6 + x) * kWords];
      const std::vector<uint32_t> expected = {
          x / 3, y / 2, 202, 6, x % 3, y % 2, x % 3 + y % 2 * 3, 1};
      EXPECT_EQ(std::vector<uint32_t>(found, found + kWords), expected)
          << x << ", " << y;
    }
  }
}

TEST_F(ClusterTest, ABlockIsAClusterOfItsOwnIfNobodyAsks) {
  for (const bool asked : {false, true}) {
    std::vector<CUlaunchAttribute> attributes;
    if (asked) attributes.push_back(Cluster({1, 1, 1}));
    ASSERT_OK(Launch("where", {3}, attributes));
    const std::vector<uint32_t> words = Words();
    for (unsigned x = 0; x < 3; ++x) {
      const uint32_t* found = &words[x * kWords];
      const std::vector<uint32_t> expected = {x, 0, 301, 1, 0, 0, 0, asked};
      EXPECT_EQ(std::vector<uint32_t>(found, found + kWords), expected) << x;
    }
  }
}

TEST_F(ClusterTest, BlocksReachEachOthersSharedMemory) {
  for (const unsigned size : {1u, 2u, 3u, 8u}) {
    for (const unsigned threads : {20u, 64u}) {
      const unsigned grid = 24;
      ASSERT_OK(Launch("exchange", {grid}, {Cluster({size})}, threads));
      const std::vector<uint32_t> words = Words();
      for (unsigned b = 0; b < grid; ++b) {
        const unsigned first = b / size * size, rank = b % size;
        for (unsigned t = 0; t < threads; ++t) {
          const uint32_t* found = &words[(b * threads + t) * kWords];
          const uint32_t before = first + (rank + size - 1) % size;
          const uint32_t further = first + (rank + 2 * size - 2) % size;
          EXPECT_EQ(found[0], before * 1000 + t) << b;
          EXPECT_EQ(found[1], further * 1000 + t) << b;
          EXPECT_EQ(found[2], 2 * threads * size) << b;
          EXPECT_EQ(found[3], 1u) << b;
          EXPECT_EQ(found[4], size == 1 ? 3u : 1u) << b;
          EXPECT_EQ(found[5], 1u) << b;
          ASSERT_FALSE(HasFailure()) << size << " blocks, thread " << t;
        }
      }
    }
  }
}

TEST_F(ClusterTest, ABarrierWaitsForAllThreadsThatHaveNotEnded) {
  const unsigned size = 4, grid = 8;
  ASSERT_OK(Launch("leave", {grid}, {Cluster({size})}, 64));
  const std::vector<uint32_t> words = Words();
  for (unsigned b = 0; b < grid; ++b) {
    for (unsigned t = 0; t < 40; ++t) {
      ASSERT_EQ(words[b * 64 + t], size * 20 * 101) << b << ", " << t;
    }
  }
}

TEST_F(ClusterTest, ThreadsArriveAtABarrierInAnotherBlock) {
  const unsigned size = 8, grid = 16, threads = 48;
  ASSERT_OK(Launch("remote", {grid}, {Cluster({size})}, threads));
  const std::vector<uint32_t> words = Words();
  for (unsigned b = 0; b < grid; b += size) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < size * threads; ++i) sum += i + b + i / threads;
    EXPECT_EQ(words[b], sum) << b;
  }
}

TEST_F(ClusterTest, ACooperativeGridMayHaveClusters) {
  ASSERT_OK(Launch("where", {4}, {Cluster({2}), Cooperative()}));
  EXPECT_EQ(Words()[3 * kWords + 6], 1u);
}

TEST_F(ClusterTest, SizesThatAreNotPossibleAreRefused) {
  const CUresult bad = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  EXPECT_CUDA(bad, Launch("plain", {3}, {Cluster({2})}));
  EXPECT_CUDA(bad, Launch("plain", {2, 2, 3}, {Cluster({2, 2, 2})}));
  EXPECT_CUDA(bad, Launch("plain", {9}, {Cluster({9})}));
  EXPECT_CUDA(bad, Launch("plain", {16}, {Cluster({16})}));
  EXPECT_CUDA(bad, Launch("plain", {2, 2, 3}, {Cluster({2, 2, 3})}));
  EXPECT_CUDA(bad, Launch("plain", {2}, {Cluster({2, 0, 0})}));
  EXPECT_CUDA(bad, Launch("four", {8}, {Cluster({8})}));
  EXPECT_OK(Launch("four", {8}, {Cluster({4})}));
  EXPECT_OK(Launch("plain", {2}, {Cluster({0, 0, 0})}));
  EXPECT_OK(Launch("plain", {8}, {Cluster({8})}));
}

TEST_F(ClusterTest, AKernelMayRequireItsCluster) {
  const CUresult bad = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  EXPECT_OK(Launch("pairs", {4}, {}));
  EXPECT_OK(Launch("pairs", {4}, {Cluster({2})}));
  EXPECT_CUDA(bad, Launch("pairs", {4}, {Cluster({4})}));
  EXPECT_CUDA(bad, Launch("pairs", {4}, {Cluster({1})}));
  EXPECT_CUDA(bad, Launch("pairs", {3}, {}));
  EXPECT_CUDA(bad, Launch("set", {4}, {}));
  EXPECT_OK(Launch("set", {4}, {Cluster({1})}));
}

TEST_F(ClusterTest, APreferredClusterIsAMultipleThatDividesTheGrid) {
  const CUresult bad = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  EXPECT_OK(Launch("plain", {4}, {Cluster({2}), Preferred({4})}));
  EXPECT_CUDA(bad, Launch("plain", {4}, {Preferred({4})}));
  EXPECT_CUDA(bad, Launch("plain", {6}, {Cluster({2}), Preferred({4})}));
  EXPECT_CUDA(bad, Launch("plain", {6}, {Cluster({2}), Preferred({3})}));
}

TEST_F(ClusterTest, AttributesSayWhatAKernelRequires) {
  EXPECT_EQ(Get("plain", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
  EXPECT_EQ(Get("plain", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
  EXPECT_EQ(Get("set", CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
  EXPECT_EQ(Get("pairs", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(Get("pairs", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT), 1);
  EXPECT_EQ(Get("pairs", CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Cuda().cuFuncSetAttribute(Function("pairs"),
                                CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_VALUE,
      Cuda().cuFuncSetAttribute(Function("plain"),
                                CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1));
}

TEST_F(ClusterTest, AKernelCanBeGivenTheClusterThatItRequires) {
  const CUfunction where = Function("where");
  for (const auto& [attribute, value] :
       {std::pair{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2},
        std::pair{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1},
        std::pair{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1}}) {
    ASSERT_OK(Cuda().cuFuncSetAttribute(where, attribute, value));
    EXPECT_EQ(Get("where", attribute), value);
  }
  ASSERT_OK(Launch("where", {4}, {}));
  EXPECT_EQ(Words()[3 * kWords + 6], 1u);
  EXPECT_EQ(Words()[3 * kWords + 7], 1u);
  EXPECT_CUDA(CUDA_ERROR_INVALID_CLUSTER_SIZE,
              Launch("where", {4}, {Cluster({4})}));
}

TEST_F(ClusterTest, SixteenBlocksNeedAKernelThatAllowsThem) {
  const CUfunction plain = Function("plain");
  const auto allow = CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
  ASSERT_OK(Cuda().cuFuncSetAttribute(plain, allow, 1));
  EXPECT_EQ(Get("plain", allow), 1);
  EXPECT_OK(Launch("plain", {16}, {Cluster({16})}));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CLUSTER_SIZE,
              Launch("plain", {32}, {Cluster({32})}));
  ASSERT_OK(Cuda().cuFuncSetAttribute(plain, allow, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CLUSTER_SIZE,
              Launch("plain", {16}, {Cluster({16})}));
}

TEST_F(ClusterTest, APolicyIsKept) {
  const auto policy = CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
  const CUfunction plain = Function("plain");
  ASSERT_OK(Cuda().cuFuncSetAttribute(plain, policy,
                                      CU_CLUSTER_SCHEDULING_POLICY_SPREAD));
  EXPECT_EQ(Get("plain", policy), CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuFuncSetAttribute(plain, policy, 9));
}

TEST_F(ClusterTest, TheOccupancyOfClustersIsKnown) {
  const CUfunction plain = Function("plain");
  CUlaunchAttribute attribute = Cluster({2});
  CUlaunchConfig config = Config({8}, 64);
  int size = 0, clusters = -1;
  ASSERT_OK(Cuda().cuOccupancyMaxPotentialClusterSize(&size, plain, &config));
  EXPECT_EQ(size, 8);
  ASSERT_OK(Cuda().cuOccupancyMaxActiveClusters(&clusters, plain, &config));
  EXPECT_EQ(clusters, 0);
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_OK(Cuda().cuOccupancyMaxActiveClusters(&clusters, plain, &config));
  EXPECT_GT(clusters, 0);
  config.gridDimX = 3;
  EXPECT_CUDA(CUDA_ERROR_INVALID_CLUSTER_SIZE,
              Cuda().cuOccupancyMaxActiveClusters(&clusters, plain, &config));
  config.gridDimX = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              Cuda().cuOccupancyMaxPotentialClusterSize(&size, plain, &config));
  config.gridDimX = 8;
  config.blockDimX = 1025;
  ASSERT_OK(Cuda().cuOccupancyMaxActiveClusters(&clusters, plain, &config));
  EXPECT_EQ(clusters, 0);
}

}  // namespace
}  // namespace holdfast::conformance
