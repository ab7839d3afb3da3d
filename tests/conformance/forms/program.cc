// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::forms {
namespace {

constexpr size_t kCasesOfBatch = 24;
constexpr unsigned kThreads = kBlockThreads;

int RegisterBits(const Kind& kind) {
  if (kind == "pred" || BitsOf(kind) == 8) return BitsOf(kind);
  return std::max(16, BitsOf(kind));
}

// Shared by the cases of one batch, mostly the sources.
std::string Layout(const Operation& operation, const std::string& name) {
  std::string layout = absl::StrCat(operation.target, " ", operation.group,
                                    operation.alone ? name : "", " ");
  for (const Kind& kind : operation.sources) {
    absl::StrAppend(&layout, kind, " ");
  }
  return layout;
}

std::string Register(char letter, size_t index) {
  return absl::StrCat("%", std::string(1, letter), index);
}

std::string Declare(char letter, size_t index, const Kind& kind) {
  const int bits = RegisterBits(kind);
  return absl::StrCat(".reg .", bits == 1 ? "pred" : absl::StrCat("b", bits),
                      " ", Register(letter, index), ";\n");
}

std::string CodeOf(const Case& one) {
  std::string code = one.operation.code;
  if (code.empty()) {
    code = "$ D0";
    for (size_t i = 0; i < one.operation.sources.size(); ++i) {
      absl::StrAppend(&code, ", S", i);
    }
    absl::StrAppend(&code, ";\n");
  }
  std::vector<std::pair<std::string, std::string>> names = {
      {"$", one.spelling}, {"T0", "%t0"}, {"W0", "%w0"}, {"W1", "%w1"}};
  for (size_t i = 0; i < 4; ++i) {
    names.emplace_back(absl::StrCat("S", i), Register('s', i));
    names.emplace_back(absl::StrCat("D", i), Register('d', i));
  }
  return absl::StrReplaceAll(code, names);
}

std::string Load(size_t index, const Kind& kind) {
  const std::string from = absl::StrCat("[%in+", 8 * index, "]");
  const std::string source = Register('s', index);
  if (kind != "pred") {
    return absl::StrCat("ld.global.b", RegisterBits(kind), " ", source, ", ",
                        from, ";\n");
  }
  return absl::StrCat("ld.global.b32 %word, ", from, ";\nsetp.ne.s32 ", source,
                      ", %word, 0;\n");
}

std::string Store(size_t index, const Kind& kind) {
  const std::string result = Register('d', index);
  if (kind != "pred") {
    return absl::StrCat("st.global.b", RegisterBits(kind), " [%out], ", result,
                        ";\nadd.s64 %out, %out, %step;\n");
  }
  return absl::StrCat("selp.b32 %word, 1, 0, ", result,
                      ";\nst.global.b32 [%out], %word;\n"
                      "add.s64 %out, %out, %step;\n");
}

// The variables that memory.cc's code refers to; 16 bytes in each space.
constexpr size_t kMostThreads = 65536;

bool TouchesMemory(const Batch& batch) {
  return std::any_of(batch.cases.begin(), batch.cases.end(), [](const Case& c) {
    return c.operation.code.find("[%") != std::string::npos ||
           c.operation.code.find(", %g") != std::string::npos;
  });
}

std::string Places() {
  return absl::StrCat(
      ".shared .align 16 .b8 sh[", 16 * kThreads,
      "];\n.local .align 16 .b8 loc[16];\n"
      ".reg .b64 %global, %shared, %local, %gglobal, %gshared, %glocal;\n"
      ".reg .b64 %fill, %other;\n"
      "mov.u32 %word, %tid.x;\nmov.u64 %shared, sh;\n"
      "mad.wide.u32 %shared, %word, 16, %shared;\n"
      "mov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n"
      "mad.lo.s32 %word, %block, %size, %word;\nmov.u64 %global, scratch;\n"
      "mad.wide.u32 %global, %word, 16, %global;\nmov.u64 %local, loc;\n"
      "cvta.global.u64 %gglobal, %global;\ncvta.shared.u64 %gshared, %shared;"
      "\ncvta.local.u64 %glocal, %local;\nmov.u64 %fill, "
      "0xA5A5A5A5A5A5A5A5;\n");
}

bool ActsTogether(const Batch& batch) {
  return batch.cases[0].operation.group > 1;
}

// %in and %out for its input and its first result. Where threads act together,
// a block has the inputs of one of them, but all have results.
std::string Find(const Batch& batch, bool uniform) {
  const bool together = uniform && ActsTogether(batch);
  return absl::StrCat(
      "mov.u32 %thread, %tid.x;\nand.b32 %lane, %thread, 31;\n"
      "mov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n",
      !uniform   ? "mad.lo.s32 %i, %block, %size, %thread;\n"
      : together ? "mul.lo.s32 %i, %block, %size;\n"
                 : "mov.u32 %i, %block;\n",
      "cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\n"
      "mul.wide.u32 %offset, %i, 32;\nadd.s64 %in, %in, %offset;\n",
      together ? "add.s32 %i, %i, %thread;\n" : "",
      "mul.wide.u32 %offset, %i, 8;\nadd.s64 %out, %out, %offset;\n"
      "mul.wide.u32 %step, %count, 8;\n");
}

// Each thread has an input: blocks are full, and no thread takes its own way.
std::string Kernel(const Batch& batch, bool uniform) {
  std::string text = absl::StrCat(
      ".visible .entry ", uniform ? "uniform" : "lanes",
      "(.param .u64 p_in, .param .u64 p_out, .param .u32 p_count)\n{\n"
      ".reg .b32 %i, %block, %size, %count, %word, %lane, %thread, %mask;\n"
      ".reg .b32 %t0, %t1, %t2;\n.reg .pred %q0, %q1;\n"
      ".reg .b64 %in, %out, %step, %offset, %u0, %u1;\n");
  const Operation& first = batch.cases[0].operation;
  for (size_t i = 0; i < first.sources.size(); ++i) {
    text += Declare('s', i, first.sources[i]);
  }
  absl::StrAppend(&text, "ld.param.u64 %in, [p_in];\n",
                  "ld.param.u64 %out, [p_out];\n",
                  "ld.param.u32 %count, [p_count];\n");
  text += Find(batch, uniform);
  if (TouchesMemory(batch)) text += Places();
  for (size_t i = 0; i < first.sources.size(); ++i) {
    text += Load(i, first.sources[i]);
  }
  for (const Case& one : batch.cases) {
    text += "{\n";
    const auto& results = one.operation.results;
    for (size_t i = 0; i < results.size(); ++i) {
      text += Declare('d', i, results[i]);
    }
    if (absl::StrContains(one.spelling, ".b128"))
      text += ".reg .b128 %w0, %w1;\n";
    text += CodeOf(one);
    for (size_t i = 0; i < results.size(); ++i) text += Store(i, results[i]);
    text += "}\n";
  }
  return text + "ret;\n}\n";
}

void Require(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s failed with CUresult %d\n", what, result);
  exit(1);
}

// Device memory that ends with its scope.
class Memory {
 public:
  Memory(const cuda::DriverApi& api, size_t bytes) : api_(api) {
    Require(api.cuMemAlloc(&address_, bytes), "cuMemAlloc");
  }
  ~Memory() { api_.cuMemFree(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  const cuda::DriverApi& api_;
  CUdeviceptr address_ = 0;
};

}  // namespace

std::vector<Batch> MakeBatches(const std::vector<std::string>& spellings) {
  std::map<std::string, std::vector<Case>> by_layout;
  for (const std::string& spelling : spellings) {
    const std::vector<Operation> operations = Describe(spelling);
    for (size_t i = 0; i < operations.size(); ++i) {
      const std::string name =
          operations.size() == 1 ? spelling : absl::StrCat(spelling, "#", i);
      by_layout[Layout(operations[i], name)].push_back(
          {name, spelling, operations[i]});
    }
  }
  std::vector<Batch> batches;
  for (auto& [layout, cases] : by_layout) {
    for (size_t i = 0; i < cases.size(); i += kCasesOfBatch) {
      const size_t end = std::min(cases.size(), i + kCasesOfBatch);
      batches.push_back({{cases.begin() + static_cast<ptrdiff_t>(i),
                          cases.begin() + static_cast<ptrdiff_t>(end)}});
    }
  }
  return batches;
}

std::string PtxOf(const Batch& batch) {
  const std::string scratch =
      TouchesMemory(batch) ? absl::StrCat(".global .align 16 .b8 scratch[",
                                          16 * kMostThreads, "];\n")
                           : "";
  std::set<std::string> declarations;
  for (const Case& one : batch.cases) {
    declarations.insert(one.operation.declarations);
  }
  return absl::StrCat(".version 8.6\n.target ", batch.cases[0].operation.target,
                      "\n.address_size 64\n", scratch,
                      absl::StrJoin(declarations, ""), Kernel(batch, false),
                      Kernel(batch, true));
}

Machine::Machine(const std::string& library) {
  cuda::DriverOptions options{.choice = cuda::DriverChoice::kSoftware};
  if (!library.empty()) {
    options.choice = cuda::DriverChoice::kCuda;
    options.cuda_library = library;
  }
  auto driver = cuda::LoadDriver(options);
  if (!driver.ok()) {
    fprintf(stderr, "%s\n", driver.status().ToString().c_str());
    exit(1);
  }
  api_ = &driver->release()->api;
  CUdevice device;
  CUcontext context;
  Require(api_->cuDeviceGet(&device, 0), "cuDeviceGet");
  Require(api_->cuDevicePrimaryCtxRetain(&context, device), "the context");
  Require(api_->cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

bool Machine::Works() const { return api_->cuCtxSynchronize() == CUDA_SUCCESS; }

std::string Machine::Run(const Batch& batch, bool uniform,
                         const std::vector<Sources>& inputs,
                         Outputs* outputs) const {
  char log[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER,
                          CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module;
  const std::string ptx = PtxOf(batch);
  const CUresult loaded =
      api_->cuModuleLoadDataEx(&module, ptx.c_str(), 2, names, values);
  if (loaded != CUDA_SUCCESS) {
    return absl::StrCat("CUresult ", loaded, ": ", log, "\n", ptx);
  }
  CUfunction kernel;
  Require(
      api_->cuModuleGetFunction(&kernel, module, uniform ? "uniform" : "lanes"),
      "cuModuleGetFunction");
  size_t slots = 0;
  for (const Case& one : batch.cases) slots += one.operation.results.size();
  const size_t count = inputs.size();
  const Memory in(*api_, count * sizeof(Sources));
  const Memory out(*api_, slots * count * 8);
  Require(api_->cuMemcpyHtoDAsync(in.address(), inputs.data(),
                                  count * sizeof(Sources), nullptr),
          "cuMemcpyHtoDAsync");
  Require(api_->cuMemsetD8Async(out.address(), 0, slots * count * 8, nullptr),
          "cuMemsetD8Async");
  CUdeviceptr in_address = in.address(), out_address = out.address();
  auto count32 = static_cast<uint32_t>(count);
  void* arguments[] = {&in_address, &out_address, &count32};
  const auto group = static_cast<unsigned>(batch.cases[0].operation.group);
  const unsigned threads = uniform ? std::max(32U, group) : kThreads;
  const auto blocks =
      static_cast<unsigned>(count / (uniform ? group : kThreads));
  CUlaunchConfig config = {};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = threads;
  config.blockDimY = config.blockDimZ = 1;
  CUresult result = api_->cuLaunchKernelEx(&config, kernel, arguments, nullptr);
  if (result == CUDA_SUCCESS) result = api_->cuCtxSynchronize();
  if (result != CUDA_SUCCESS) {
    return absl::StrCat("launch failed with CUresult ", result, "\n", ptx);
  }
  std::vector<uint64_t> flat(slots * count);
  Require(api_->cuMemcpyDtoHAsync(flat.data(), out.address(), flat.size() * 8,
                                  nullptr),
          "cuMemcpyDtoHAsync");
  Require(api_->cuCtxSynchronize(), "cuCtxSynchronize");
  api_->cuModuleUnload(module);
  outputs->clear();
  auto at = flat.begin();
  for (const Case& one : batch.cases) {
    auto& of_case = outputs->emplace_back();
    for (size_t i = 0; i < one.operation.results.size(); ++i) {
      of_case.emplace_back(at, at + static_cast<ptrdiff_t>(count));
      at += static_cast<ptrdiff_t>(count);
    }
  }
  return "";
}

}  // namespace holdfast::forms
