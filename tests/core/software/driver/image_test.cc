// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/image.h"

#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace holdfast::software {
namespace {

struct LoadedLog {
  CUresult result;
  std::string log;
};

LoadedLog LoadWithLog(const void* image, size_t room = 512) {
  char log[512] = "untouched";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(room)};
  JitOptions jit;
  EXPECT_EQ(JitOptions::Parse(2, options, values, &jit), CUDA_SUCCESS);
  std::unique_ptr<Executable> executable;
  std::string reason;
  const CUresult result = LoadImage(image, jit, &executable, &reason);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1]), strlen(log));
  return {result, log};
}

// A fat binary of one entry.
std::string Fatbin(uint16_t kind, uint64_t flags, const std::string& payload,
                   uint64_t claimed_size, uint64_t uncompressed_size = 0) {
  std::string image;
  const auto put = [&image](auto value) {
    image.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(uint32_t{0xba55ed50});
  put(uint16_t{1});
  put(uint16_t{16});
  put(uint64_t{64 + payload.size()});
  put(kind);
  put(uint16_t{0x101});
  put(uint32_t{64});
  put(claimed_size);
  put(static_cast<uint32_t>(payload.size()));  // compressed
  put(uint32_t{0});
  put(uint16_t{0});
  put(uint16_t{8});
  put(uint32_t{75});
  put(uint32_t{0});
  put(uint32_t{0});
  put(flags);
  put(uint64_t{0});
  put(uncompressed_size);
  return image + payload;
}

// Kernels or not, a GPU takes no PTX for a newer one.
TEST(ImageTest, NothingForANewerDeviceIsLoaded) {
  const std::string header = ".version 8.7\n.target sm_199\n.address_size 64\n";
  for (const char* const body :
       {"", ".visible .global .u32 x;", ".visible .func f() { ret; }",
        ".visible .entry k() { ret; }"}) {
    const LoadedLog loaded = LoadWithLog((header + body).c_str());
    EXPECT_EQ(loaded.result, CUDA_ERROR_INVALID_PTX) << body;
    EXPECT_NE(loaded.log.find("sm_199 is newer"), std::string::npos)
        << loaded.log;
  }
}

// An ELF file for a machine, with nothing in it.
std::string ElfOf(uint16_t machine) {
  std::string image(64, '\0');
  image.replace(0, 7,
                "\x7f"
                "ELF\x02\x01\x01");
  image.replace(18, sizeof(machine), reinterpret_cast<const char*>(&machine),
                sizeof(machine));
  return image;
}
constexpr uint16_t kCuda = 190, kX86 = 62;

TEST(ImageTest, AnElfFileOfTheHostIsNoImage) {
  const LoadedLog loaded = LoadWithLog(ElfOf(kX86).data());
  EXPECT_EQ(loaded.result, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_NE(loaded.log.find("host"), std::string::npos) << loaded.log;
}

TEST(ImageTest, CubinIsRefusedAndTheLogSaysWhatToDo) {
  const LoadedLog loaded = LoadWithLog(ElfOf(kCuda).data());
  EXPECT_EQ(loaded.result, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(loaded.log.find("compute_XX"), std::string::npos) << loaded.log;
}

TEST(ImageTest, FatBinaryWithoutPtxIsRefusedAsACubinIs) {
  const std::string image = Fatbin(2, 0, "machine code", 12);
  const LoadedLog loaded = LoadWithLog(image.data());
  EXPECT_EQ(loaded.result, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(loaded.log.find("compute_XX"), std::string::npos) << loaded.log;
}

constexpr char kSmall[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry nothing() { ret; }\n";

TEST(ImageTest, PtxCompressedByZstdIsLoaded) {
  std::string packed(ZSTD_compressBound(sizeof(kSmall)), '\0');
  packed.resize(
      ZSTD_compress(&packed[0], packed.size(), kSmall, sizeof(kSmall), 3));
  const std::string image =
      Fatbin(1, 0x8000, packed, packed.size(), sizeof(kSmall));
  const LoadedLog loaded = LoadWithLog(image.data());
  EXPECT_EQ(loaded.result, CUDA_SUCCESS) << loaded.log;
}

// One sequence of literals, as long as the text.
TEST(ImageTest, PtxCompressedByLz4IsLoaded) {
  const size_t beyond = sizeof(kSmall) - 15;
  ASSERT_LT(beyond, 255u);
  const std::string packed = std::string("\xf0") + static_cast<char>(beyond) +
                             std::string(kSmall, sizeof(kSmall));
  const std::string image =
      Fatbin(1, 0x2000, packed, packed.size(), sizeof(kSmall));
  const LoadedLog loaded = LoadWithLog(image.data());
  EXPECT_EQ(loaded.result, CUDA_SUCCESS) << loaded.log;
}

TEST(ImageTest, DamagedCompressionIsRefused) {
  for (const uint64_t flags : {0x2000, 0x8000}) {
    const std::string image = Fatbin(1, flags, "compressed", 10, 1000);
    const LoadedLog loaded = LoadWithLog(image.data());
    EXPECT_EQ(loaded.result, CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_NE(loaded.log.find("damaged"), std::string::npos) << loaded.log;
  }
}

// A few bytes that claim to hold more memory than there is.
TEST(ImageTest, HugeClaimOfACompressedEntryIsRefused) {
  for (const uint64_t flags : {0x2000, 0x8000}) {
    const std::string image =
        Fatbin(1, flags, "compressed", 10, uint64_t{1} << 60);
    EXPECT_EQ(LoadWithLog(image.data()).result, CUDA_ERROR_NO_BINARY_FOR_GPU);
  }
}

TEST(ImageTest, FatBinaryThatClaimsMoreThanItHoldsIsRefused) {
  const std::string image = Fatbin(1, 0, "short", 1 << 20);
  const LoadedLog loaded = LoadWithLog(image.data());
  EXPECT_EQ(loaded.result, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(loaded.log.find("damaged"), std::string::npos) << loaded.log;
}

TEST(ImageTest, LogIsCutToItsBuffer) {
  const LoadedLog loaded = LoadWithLog(ElfOf(kCuda).data(), 8);
  EXPECT_EQ(loaded.log.size(), 7u);
}

TEST(JitOptionsTest, TheTimeIsAFloat) {
  JitOptions jit;
  CUjit_option option = CU_JIT_WALL_TIME;
  void* value = nullptr;
  ASSERT_EQ(JitOptions::Parse(1, &option, &value, &jit), CUDA_SUCCESS);
  jit.Report("");
  const auto bits = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(value));
  float milliseconds = 0;
  memcpy(&milliseconds, &bits, sizeof(bits));
  EXPECT_GT(milliseconds, 0);
  EXPECT_LT(milliseconds, 10000);
}

TEST(JitOptionsTest, ThreadsAndATargetExcludeEachOther) {
  JitOptions jit;
  CUjit_option options[] = {CU_JIT_TARGET, CU_JIT_THREADS_PER_BLOCK};
  void* values[] = {reinterpret_cast<void*>(uintptr_t{90}),
                    reinterpret_cast<void*>(uintptr_t{32})};
  EXPECT_EQ(JitOptions::Parse(2, options, values, &jit),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(JitOptionsTest, UnknownAndRepeatedOptionsAreRefused) {
  JitOptions jit;
  void* values[2] = {};
  CUjit_option twice[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_OPTIMIZATION_LEVEL};
  EXPECT_EQ(JitOptions::Parse(2, twice, values, &jit),
            CUDA_ERROR_INVALID_VALUE);
  CUjit_option unknown[] = {static_cast<CUjit_option>(9999)};
  EXPECT_EQ(JitOptions::Parse(1, unknown, values, &jit),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(JitOptions::Parse(1, nullptr, values, &jit),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace holdfast::software
