// SPDX-License-Identifier: Apache-2.0
//
// printf, assert, malloc, free, cudaGraphSetConditional and the timer of device
// code (abi.h). A wild pointer that a kernel hands over is an illegal address
// of its thread.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "core/software/runtime/abi.h"
#include "core/software/runtime/device_heap.h"
#include "core/software/runtime/graph_condition.h"
#include "core/software/runtime/kernel_fault.h"
#include "core/software/runtime/print_buffer.h"
#include "core/software/runtime/window.h"

namespace holdfast::software {
namespace {

constexpr size_t kMaxText = size_t{64} << 10;

// Memory as one lane of a kernel sees it. Reads nothing outside of the window.
// The first address that cannot be read is kept, and what was asked for there
// counts as zeros; the caller then ends the launch, once nothing on its stack
// needs a destructor.
class LaneMemory {
 public:
  explicit LaneMemory(uint32_t lane) : lane_(lane) {}

  void Copy(uint64_t from, void* to, size_t bytes) {
    if (failed_ || ReadKernelMemory(from, to, bytes)) return;
    failed_ = true;
    address_ = from;
    std::memset(to, 0, bytes);
  }

  // A text that ends with zero, or is too long.
  std::string Text(uint64_t from) {
    std::string text;
    char piece[256] = {};
    while (text.size() < kMaxText && !failed_) {
      // Not across a page, behind which there may be nothing.
      const size_t bytes =
          std::min<size_t>(sizeof piece, 4096 - (from + text.size()) % 4096);
      Copy(from + text.size(), piece, bytes);
      const size_t length = strnlen(piece, bytes);
      text.append(piece, length);
      if (length < bytes) break;
    }
    return text;
  }

  bool failed() const { return failed_; }
  KernelFault fault() const {
    return {KernelFault::Kind::kAddress, address_, uint32_t{1} << lane_};
  }

 private:
  const uint32_t lane_;
  bool failed_ = false;
  uint64_t address_ = 0;
};

// A text, for a line that must stay one.
std::string LineOf(LaneMemory* memory, uint64_t from) {
  std::string text = memory->Text(from);
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; },
      ' ');
  return text;
}

// The arguments of one call, in the order and with the alignment of a struct.
class Arguments {
 public:
  Arguments(LaneMemory* memory, uint64_t address)
      : memory_(memory), address_(address) {}

  template <typename T>
  T Next() {
    address_ = (address_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    memory_->Copy(address_, &value, sizeof value);
    address_ += sizeof(T);
    return value;
  }
  std::string NextText() { return memory_->Text(Next<uint64_t>()); }

 private:
  LaneMemory* memory_;
  uint64_t address_;
};

// One conversion, "%-08.3llx": the flags, width and precision are kept, the
// type is that of the device.
class Conversion {
 public:
  // `at` points behind the percent sign, and is moved behind the conversion.
  Conversion(const std::string& format, size_t* at) {
    const size_t begin = *at;
    auto take = [&](const char* set, size_t limit) {
      size_t count = 0;
      while (*at < format.size() && count < limit &&
             std::strchr(set, format[*at]) != nullptr) {
        ++*at;
        ++count;
      }
    };
    take("-+ #0", 5);
    take("0123456789", 4);
    if (*at < format.size() && format[*at] == '.') {
      ++*at;
      take("0123456789", 4);
    }
    shape_ = "%" + format.substr(begin, *at - begin);
    const size_t length = *at;
    take("hlLzjtI", 3);
    const std::string size = format.substr(length, *at - length);
    wide_ = size == "l" || size == "ll" || size == "z" || size == "j" ||
            size == "t";
    kind_ = *at < format.size() ? format[(*at)++] : '\0';
  }

  bool TakesArgument() const {
    return kind_ != '\0' && std::strchr("diuoxXcpseEfFgGaA", kind_) != nullptr;
  }

  void Print(Arguments* arguments, std::string* out) const {
    switch (kind_) {
      case 'd':
      case 'i':
        return Append(
            out, shape_ + "lld",
            wide_ ? arguments->Next<long long>() : arguments->Next<int>());
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return Append(out, shape_ + "ll" + kind_,
                      wide_ ? arguments->Next<unsigned long long>()
                            : arguments->Next<unsigned>());
      case 'c':
        return Append(out, shape_ + "c", arguments->Next<int>());
      case 'p':
        return Append(out, shape_ + "p",
                      reinterpret_cast<void*>(arguments->Next<uint64_t>()));
      case 's':
        return Append(out, shape_ + "s", arguments->NextText().c_str());
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        return Append(out, shape_ + kind_, arguments->Next<double>());
      case '%':
        out->push_back('%');
        return;
      default:
        out->append(shape_);
        if (kind_ != '\0') out->push_back(kind_);
    }
  }

 private:
  template <typename T>
  static void Append(std::string* out, const std::string& format, T value) {
    const int length = std::snprintf(nullptr, 0, format.c_str(), value);
    if (length <= 0) return;
    const size_t end = out->size();
    out->resize(end + static_cast<size_t>(length) + 1);
    std::snprintf(out->data() + end, static_cast<size_t>(length) + 1,
                  format.c_str(), value);
    out->pop_back();
  }

  std::string shape_;
  bool wide_ = false;
  char kind_ = '\0';
};

// *count: of the arguments that were printed.
std::string Format(const std::string& format, Arguments arguments,
                   uint64_t* count) {
  std::string out;
  *count = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out.push_back(format[at++]);
      continue;
    }
    ++at;
    const Conversion conversion(format, &at);
    conversion.Print(&arguments, &out);
    if (conversion.TakesArgument()) ++*count;
  }
  return out;
}

void PrintAssertion(const WorkerContext& worker, uint32_t lane,
                    const std::string& message, const std::string& file,
                    uint64_t line, const std::string& function) {
  const uint32_t* grid = worker.launch->grid;
  const uint32_t* block = worker.launch->block;
  const uint64_t thread = worker.warp * kWarpThreads + lane;
  std::fprintf(
      stderr,
      "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
      "failed.\n",
      file.c_str(), static_cast<unsigned>(line), function.c_str(),
      static_cast<unsigned>(worker.block % grid[0]),
      static_cast<unsigned>(worker.block / grid[0] % grid[1]),
      static_cast<unsigned>(worker.block / grid[0] / grid[1]),
      static_cast<unsigned>(thread % block[0]),
      static_cast<unsigned>(thread / block[0] % block[1]),
      static_cast<unsigned>(thread / block[0] / block[1]), message.c_str());
}

}  // namespace

extern "C" {

uint64_t holdfast_globaltimer(WorkerContext*) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

void holdfast_device_vprintf(WorkerContext* worker, uint32_t lanes,
                             const uint64_t* formats, const uint64_t* buffers,
                             uint64_t* results) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (formats[lane] == 0) {
      results[lane] = ~uint64_t{0};
      continue;
    }
    LaneMemory memory(static_cast<uint32_t>(lane));
    {
      std::string text =
          Format(memory.Text(formats[lane]), Arguments(&memory, buffers[lane]),
                 &results[lane]);
      if (!memory.failed()) worker->launch->printer->Add(std::move(text));
    }
    if (memory.failed()) LeaveKernel(*worker, memory.fault());
  }
}

void holdfast_device___assertfail(WorkerContext* worker, uint32_t lanes,
                                  const uint64_t* messages,
                                  const uint64_t* files, const uint64_t* lines,
                                  const uint64_t* functions, const uint64_t*,
                                  uint64_t*) {
  KernelFault fault{KernelFault::Kind::kAssert, 0, lanes};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    LaneMemory memory(static_cast<uint32_t>(lane));
    {
      const std::string message = LineOf(&memory, messages[lane]);
      const std::string file = LineOf(&memory, files[lane]);
      const std::string function = LineOf(&memory, functions[lane]);
      PrintAssertion(*worker, static_cast<uint32_t>(lane), message, file,
                     lines[lane], function);
      if (rest == lanes) {
        message.copy(fault.assertion, sizeof fault.assertion - 1);
      }
    }
  }
  LeaveKernel(*worker, fault);
}

void holdfast_device_malloc(WorkerContext*, uint32_t lanes,
                            const uint64_t* sizes, uint64_t* results) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    results[lane] =
        reinterpret_cast<uint64_t>(DeviceHeap::Get().Allocate(sizes[lane]));
  }
}

void holdfast_device_free(WorkerContext* worker, uint32_t lanes,
                          const uint64_t* pointers, uint64_t*) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (pointers[lane] != 0 && !GetKernelWindow().Contains(pointers[lane], 1)) {
      LeaveKernel(*worker, {KernelFault::Kind::kAddress, pointers[lane],
                            uint32_t{1} << lane});
    }
    DeviceHeap::Get().Free(reinterpret_cast<void*>(pointers[lane]));
  }
}

void holdfast_device_cudaGraphSetConditional(WorkerContext* worker,
                                             uint32_t lanes,
                                             const uint64_t* handles,
                                             const uint64_t* values,
                                             uint64_t*) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (!GraphCondition::Set(handles[lane],
                             static_cast<uint32_t>(values[lane]))) {
      LeaveKernel(*worker, {KernelFault::Kind::kAddress, handles[lane],
                            uint32_t{1} << lane});
    }
  }
}

}  // extern "C"

}  // namespace holdfast::software
