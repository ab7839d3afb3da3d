// SPDX-License-Identifier: Apache-2.0
//
// printf, assert, malloc, free, cudaGraphSetConditional and the timer of device
// code (abi.h). A wild pointer that a kernel hands over is an illegal address
// of its thread.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/software/abi/abi.h"
#include "core/software/abi/window.h"
#include "core/software/runtime/device_heap.h"
#include "core/software/runtime/graph_condition.h"
#include "core/software/runtime/kernel_fault.h"
#include "core/software/runtime/print_buffer.h"

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

// Short enough for a report, which has other texts beside it.
std::string Cut(const std::string& text) {
  constexpr size_t kMaxLength = 256;
  return text.size() <= kMaxLength ? text : text.substr(0, kMaxLength) + "...";
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
  // As a GPU has it, a null pointer is "(null)".
  std::string NextText() {
    const auto from = Next<uint64_t>();
    return from == 0 && !memory_->failed() ? "(null)" : memory_->Text(from);
  }

 private:
  LaneMemory* memory_;
  uint64_t address_;
};

// One conversion, "%-08.3llx": the flags, width and precision are kept, the
// type is that of the device. As CUDA has it, the width may be an argument, and
// the precision may not. What is no conversion is printed as it stands.
class Conversion {
 public:
  // `at` points behind the percent sign, and is moved behind the conversion.
  Conversion(const std::string& format, size_t* at) {
    const size_t begin = *at;
    const auto take = [&](absl::string_view set) {
      const size_t first = *at;
      while (*at < format.size() &&
             set.find(format[*at]) != absl::string_view::npos) {
        ++*at;
      }
      return format.substr(first, *at - first);
    };
    flags_ = take("-+ #0");
    width_argument_ = *at < format.size() && format[*at] == '*';
    if (width_argument_) {
      ++*at;
    } else {
      width_ = Number(take("0123456789"));
    }
    if (*at < format.size() && format[*at] == '.') {
      ++*at;
      precision_ = absl::StrCat(".", Number(take("0123456789")));
    }
    length_ = take("hlLzjt");
    kind_ = *at < format.size() ? format[(*at)++] : '\0';
    text_ = "%" + format.substr(begin, *at - begin);
  }

  // How many of the arguments.
  uint64_t Takes() const {
    const bool known =
        kind_ != '\0' && std::strchr("diuoxXcpseEfFgGaA", kind_) != nullptr;
    return known ? 1 + (width_argument_ ? 1 : 0) : 0;
  }

  void Print(Arguments* arguments, std::string* out) const {
    const std::string shape = Shape(arguments);
    switch (kind_) {
      case 'd':
      case 'i':
        return Append(out, shape + "lld", Signed(arguments));
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return Append(out, shape + "ll" + kind_, Unsigned(arguments));
      case 'c':
        return Append(out, shape + "c", arguments->Next<int>());
      case 'p':
        return Append(out, shape + "p",
                      reinterpret_cast<void*>(arguments->Next<uint64_t>()));
      case 's':
        return Append(out, shape + "s", arguments->NextText().c_str());
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        return Append(out, shape + kind_, arguments->Next<double>());
      case '%':
        out->push_back('%');
        return;
      default:
        out->append(text_);
    }
  }

 private:
  // Widths and precisions beyond this are cut: each makes so many characters.
  static constexpr int kMaxNumber = 1 << 16;

  static std::string Number(const std::string& digits) {
    if (digits.empty()) return "";
    int value = kMaxNumber;
    return absl::SimpleAtoi(digits, &value)
               ? absl::StrCat(std::min(value, kMaxNumber))
               : absl::StrCat(kMaxNumber);
  }

  // What stands in front of the length. A width that is negative aligns to the
  // left, as a flag does.
  std::string Shape(Arguments* arguments) const {
    if (Takes() == 0) return "";
    std::string shape = "%" + flags_;
    if (width_argument_) {
      const int64_t width = arguments->Next<int>();
      if (width < 0) shape += '-';
      absl::StrAppend(&shape, std::min<int64_t>(std::abs(width), kMaxNumber));
    } else {
      shape += width_;
    }
    return shape + precision_;
  }

  bool IsWide() const {
    return length_ == "l" || length_ == "ll" || length_ == "z" ||
           length_ == "j" || length_ == "t";
  }

  long long Signed(Arguments* arguments) const {
    if (IsWide()) return arguments->Next<long long>();
    const int value = arguments->Next<int>();
    if (length_ == "hh") return static_cast<signed char>(value);
    return length_ == "h" ? static_cast<short>(value) : value;
  }

  unsigned long long Unsigned(Arguments* arguments) const {
    if (IsWide()) return arguments->Next<unsigned long long>();
    const auto value = arguments->Next<unsigned>();
    if (length_ == "hh") return static_cast<unsigned char>(value);
    return length_ == "h" ? static_cast<unsigned short>(value) : value;
  }

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

  std::string text_;  // all of it, as it stands
  std::string flags_;
  std::string width_;
  bool width_argument_ = false;
  std::string precision_;  // with its point
  std::string length_;
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
    *count += conversion.Takes();
  }
  return out;
}

// As libcuda has it, on the standard error of the process.
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

// Returns the fault of free(address), or kNone.
KernelFault::Kind Free(uint64_t address) {
  if (address != 0 && !GetKernelWindow().Contains(address, 1)) {
    return KernelFault::Kind::kAddress;
  }
  return DeviceHeap::Get().Free(reinterpret_cast<void*>(address))
             ? KernelFault::Kind::kNone
             : KernelFault::Kind::kFreedTwice;
}

uint64_t NanosecondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

extern "C" {

uint64_t holdfast_clock(WorkerContext*) {
  return NanosecondsOf(CLOCK_MONOTONIC);
}

uint64_t holdfast_globaltimer(WorkerContext*) {
  return NanosecondsOf(CLOCK_REALTIME);
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
        const std::string text = absl::StrCat(
            "assertion `", Cut(message), "` failed at ", Cut(file), ":",
            static_cast<uint32_t>(lines[lane]), ", in ", Cut(function));
        text.copy(fault.assertion, sizeof fault.assertion - 1);
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
    const KernelFault::Kind kind = Free(pointers[lane]);
    if (kind == KernelFault::Kind::kNone) continue;
    LeaveKernel(*worker, {kind, pointers[lane], uint32_t{1} << lane});
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
