// SPDX-License-Identifier: Apache-2.0
#include "client/bench/native_figures.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/bench/kernels.h"
#include "client/bench/native_driver.h"
#include "client/bench/native_graph.h"
#include "client/bench/native_sharing.h"
#include "client/bench/process_memory.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::bench {
namespace {

using Driver = std::unique_ptr<NativeDriver>;

Summary Once(double value) { return Summary::Of({value}, Better::kLess); }

absl::StatusOr<NativeFigures> Session(bool,
                                      const cuda::DriverOptions& options) {
  const Stopwatch watch;
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  NativeFigures figures;
  figures["driver_and_context_ms"] = Once(watch.Milliseconds());
  HOLDFAST_ASSIGN_OR_RETURN(const double memory, PrivateMemoryMiB("self"));
  figures["memory_mib"] = Once(memory);
  return figures;
}

absl::StatusOr<Summary> LaunchRate(const NativeDriver& driver,
                                   const cuda::Kernel& kernel, bool quick) {
  uint64_t values[16] = {};
  void* arguments[16];
  for (size_t i = 0; i < 16; ++i) arguments[i] = &values[i];
  const int count = LaunchesPerRound(quick);
  return RateOf(kRounds, count, [&]() -> absl::Status {
    for (int i = 0; i < count; ++i) {
      HOLDFAST_RETURN_IF_ERROR(driver.Launch(kernel, 1, 32, arguments));
    }
    return driver.Synchronize();
  });
}

absl::StatusOr<NativeFigures> Launch(bool quick,
                                     const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  HOLDFAST_ASSIGN_OR_RETURN(const auto four,
                            driver->Load(kEmptyKernels, "four"));
  HOLDFAST_ASSIGN_OR_RETURN(const auto sixteen,
                            driver->Load(kEmptyKernels, "sixteen"));
  NativeFigures figures;
  HOLDFAST_ASSIGN_OR_RETURN(figures["launch_rate"],
                            LaunchRate(*driver, *four, quick));
  HOLDFAST_ASSIGN_OR_RETURN(figures["launch16_rate"],
                            LaunchRate(*driver, *sixteen, quick));
  uint64_t values[4] = {};
  void* arguments[] = {&values[0], &values[1], &values[2], &values[3]};
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["launch_synchronize_us"],
      TimeEach(100, LatencySamples(quick), [&]() -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(driver->Launch(*four, 1, 32, arguments));
        return driver->Synchronize();
      }));
  return figures;
}

// GB/s of copies between `host` and the device, there and back.
absl::Status CopyRates(const NativeDriver& driver, const std::string& name,
                       CUdeviceptr device, void* host, bool quick,
                       NativeFigures* figures) {
  for (const uint64_t size : CopySizes(quick)) {
    const auto in = [&]() -> absl::Status {
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          driver.api(), cuMemcpyHtoDAsync(device, host, size, driver.stream()));
      return driver.Synchronize();
    };
    const auto out = [&]() -> absl::Status {
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          driver.api(), cuMemcpyDtoHAsync(host, device, size, driver.stream()));
      return driver.Synchronize();
    };
    HOLDFAST_ASSIGN_OR_RETURN((*figures)[absl::StrCat(name, "_in/", size)],
                              CopyRate(size, in));
    HOLDFAST_ASSIGN_OR_RETURN((*figures)[absl::StrCat(name, "_out/", size)],
                              CopyRate(size, out));
  }
  return absl::OkStatus();
}

// Milliseconds.
absl::StatusOr<Summary> TimePinning(const cuda::DriverApi& api, uint64_t size) {
  std::vector<double> samples;
  for (int i = 0; i < 5; ++i) {
    void* pinned = nullptr;
    const Stopwatch watch;
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemHostAlloc(&pinned, size, 0));
    samples.push_back(watch.Milliseconds());
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemFreeHost(pinned));
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

absl::StatusOr<NativeFigures> Copy(bool quick,
                                   const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  const cuda::DriverApi& api = driver->api();
  const uint64_t largest = CopySizes(quick).back();
  HOLDFAST_CUDA_REQUIRE(api, cuMemAlloc);
  CUdeviceptr device = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemAlloc(&device, largest));
  NativeFigures figures;
  {
    std::vector<char> pageable(largest, 1);
    HOLDFAST_RETURN_IF_ERROR(CopyRates(*driver, "pageable", device,
                                       pageable.data(), quick, &figures));
  }
  const uint64_t size = quick ? 16 << 20 : 256 << 20;
  HOLDFAST_ASSIGN_OR_RETURN(figures[absl::StrCat("allocate_pinned_ms/", size)],
                            TimePinning(api, size));
  void* pinned = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemHostAlloc(&pinned, largest, 0));
  std::memset(pinned, 1, largest);
  HOLDFAST_RETURN_IF_ERROR(
      CopyRates(*driver, "pinned", device, pinned, quick, &figures));
  return figures;
}

// cuMemcpyPeerAsync from device 0 to device 1, without and with peer access.
absl::StatusOr<NativeFigures> Devices(bool quick,
                                      const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  const cuda::DriverApi& api = driver->api();
  HOLDFAST_CUDA_REQUIRE(api, cuMemAlloc);
  const uint64_t largest = CopySizes(quick).back();
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Device device,
                            cuda::Device::Get(api, 1));
  HOLDFAST_ASSIGN_OR_RETURN(const auto peer,
                            cuda::Context::RetainPrimary(device));
  CUdeviceptr from = 0, to = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemAlloc(&from, largest));
  {
    cuda::ScopedContext current(*peer);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemAlloc(&to, largest));
  }
  NativeFigures figures;
  for (const bool access : {false, true}) {
    HOLDFAST_ASSIGN_OR_RETURN(
        const bool can, driver->context()->device().CanAccessPeer(device));
    if (access && !can) break;
    if (access) {
      HOLDFAST_RETURN_IF_ERROR(driver->context()->EnablePeerAccess(*peer));
      HOLDFAST_RETURN_IF_ERROR(peer->EnablePeerAccess(*driver->context()));
    }
    for (const uint64_t size : CopySizes(quick)) {
      const auto copy = [&]() -> absl::Status {
        HOLDFAST_CUDA_RETURN_IF_ERROR(
            api, cuMemcpyPeerAsync(to, peer->handle(), from,
                                   driver->context()->handle(), size,
                                   driver->stream()));
        return driver->Synchronize();
      };
      HOLDFAST_ASSIGN_OR_RETURN(
          figures[absl::StrCat(access ? "peer/" : "staged/", size)],
          CopyRate(size, copy));
    }
  }
  return figures;
}

absl::StatusOr<NativeFigures> Memory(bool quick,
                                     const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  const cuda::DriverApi& api = driver->api();
  HOLDFAST_CUDA_REQUIRE(api, cuMemAllocAsync);
  HOLDFAST_CUDA_REQUIRE(api, cuMemFreeAsync);
  const int count = LaunchesPerRound(quick);
  NativeFigures figures;
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["allocate_free_us"],
      TimePerUnit(kRounds, count, [&]() -> absl::Status {
        for (int i = 0; i < count; ++i) {
          CUdeviceptr memory = 0;
          HOLDFAST_CUDA_RETURN_IF_ERROR(
              api, cuMemAllocAsync(&memory, 1 << 20, driver->stream()));
          HOLDFAST_CUDA_RETURN_IF_ERROR(
              api, cuMemFreeAsync(memory, driver->stream()));
        }
        return driver->Synchronize();
      }));
  return figures;
}

absl::StatusOr<NativeFigures> Event(bool quick,
                                    const cuda::DriverOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  const cuda::DriverApi& api = driver->api();
  CUevent start = nullptr, end = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuEventCreate(&start, CU_EVENT_DEFAULT));
  HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuEventCreate(&end, CU_EVENT_DEFAULT));
  const int count = LaunchesPerRound(quick);
  NativeFigures figures;
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["record_rate"], RateOf(kRounds, count, [&]() -> absl::Status {
        for (int i = 0; i < count; ++i) {
          HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                        cuEventRecord(start, driver->stream()));
        }
        return driver->Synchronize();
      }));
  HOLDFAST_ASSIGN_OR_RETURN(
      figures["elapsed_us"],
      TimeEach(20, LatencySamples(quick), [&]() -> absl::Status {
        float elapsed = 0;
        HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                      cuEventRecord(start, driver->stream()));
        HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                      cuEventRecord(end, driver->stream()));
        HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuEventSynchronize(end));
        HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                      cuEventElapsedTime(&elapsed, start, end));
        return absl::OkStatus();
      }));
  return figures;
}

// PTX, by a compiler that stays loaded.
absl::StatusOr<std::string> CompileToPtx(std::string source, std::string arch) {
  static const auto* const nvrtc =
      new absl::StatusOr<std::unique_ptr<const compile::NvrtcApi>>(
          compile::LoadNvrtc({}));
  HOLDFAST_RETURN_IF_ERROR(nvrtc->status());
  compile::ProgramSource program;
  program.source = std::move(source);
  program.arch = std::move(arch);
  HOLDFAST_ASSIGN_OR_RETURN(compile::ObjectCode code,
                            compile::NvrtcCompiler(***nvrtc).Compile(program));
  return std::move(code.bytes);
}

// PTX of the SAXPY program for the device.
absl::StatusOr<std::string> CompileSaxpy(const NativeDriver& driver) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto description,
                            driver.context()->device().Describe());
  return CompileToPtx(
      kSaxpySource,
      absl::StrCat("compute_", description.compute_capability_major,
                   description.compute_capability_minor));
}

// From the start of the process to the result in memory, without the time in
// which the program makes its data and checks the result.
absl::StatusOr<NativeFigures> Application(bool,
                                          const cuda::DriverOptions& options) {
  const Stopwatch before_data;
  HOLDFAST_ASSIGN_OR_RETURN(const Driver driver, NativeDriver::Open(options));
  const cuda::DriverApi& api = driver->api();
  HOLDFAST_ASSIGN_OR_RETURN(const std::string ptx, CompileSaxpy(*driver));
  HOLDFAST_ASSIGN_OR_RETURN(const auto kernel, driver->Load(ptx, "saxpy"));
  HOLDFAST_CUDA_REQUIRE(api, cuMemAlloc);
  const size_t bytes = kSaxpyN * sizeof(float);
  CUdeviceptr d_x = 0, d_y = 0, d_out = 0;
  for (CUdeviceptr* memory : {&d_x, &d_y, &d_out}) {
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemAlloc(memory, bytes));
  }
  double milliseconds = before_data.Milliseconds();

  std::vector<float> x(kSaxpyN), y(kSaxpyN), out(kSaxpyN);
  MakeSaxpyData(x.data(), y.data());
  const Stopwatch after_data;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemcpyHtoDAsync(d_x, x.data(), bytes, driver->stream()));
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemcpyHtoDAsync(d_y, y.data(), bytes, driver->stream()));
  float a = kSaxpyA;
  uint64_t n = kSaxpyN;
  void* arguments[] = {&a, &d_x, &d_y, &d_out, &n};
  HOLDFAST_RETURN_IF_ERROR(
      driver->Launch(*kernel, kSaxpyBlocks, kSaxpyThreads, arguments));
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      api, cuMemcpyDtoHAsync(out.data(), d_out, bytes, driver->stream()));
  HOLDFAST_RETURN_IF_ERROR(driver->Synchronize());
  milliseconds += after_data.Milliseconds();
  HOLDFAST_RETURN_IF_ERROR(CheckSaxpy(x.data(), y.data(), out.data()));
  return NativeFigures{{"application_ms", Once(milliseconds)}};
}

constexpr struct {
  absl::string_view name;
  absl::StatusOr<NativeFigures> (*measure)(bool, const cuda::DriverOptions&);
} kGroups[] = {
    {"session", Session},
    {"launch", Launch},
    {"copy", Copy},
    {"memory", Memory},
    {"event", Event},
    {"application", Application},
    {"devices", Devices},
    {"graph", MeasureNativeGraphs},
    {"sharing", MeasureNativeSharing},
};

}  // namespace

absl::StatusOr<NativeFigures> MeasureNative(absl::string_view group, bool quick,
                                            const cuda::DriverOptions& driver) {
  for (const auto& [name, measure] : kGroups) {
    if (name == group) return measure(quick, driver);
  }
  return absl::NotFoundError(
      absl::StrCat("no native figures of \"", group, "\""));
}

std::string Serialize(const NativeFigures& figures) {
  std::string text;
  for (const auto& [name, summary] : figures) {
    absl::StrAppendFormat(&text, "%s %.9g %.9g %.9g %.9g %d\n", name,
                          summary.p50, summary.p99, summary.p10, summary.p90,
                          summary.count);
  }
  return text;
}

absl::StatusOr<NativeFigures> ParseNativeFigures(absl::string_view text) {
  NativeFigures figures;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    Summary summary;
    if (words.size() != 6 || !absl::SimpleAtod(words[1], &summary.p50) ||
        !absl::SimpleAtod(words[2], &summary.p99) ||
        !absl::SimpleAtod(words[3], &summary.p10) ||
        !absl::SimpleAtod(words[4], &summary.p90) ||
        !absl::SimpleAtoi(words[5], &summary.count)) {
      return absl::DataLossError(
          absl::StrCat("the native process wrote \"", line, "\""));
    }
    figures[words[0]] = summary;
  }
  return figures;
}

}  // namespace holdfast::bench
