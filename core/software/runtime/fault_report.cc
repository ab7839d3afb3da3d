// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/fault_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/shared_memory.h"

namespace holdfast::software {
namespace {

using jit::AccessSite;
using jit::MachineAccess;

constexpr uint64_t kPageBytes = 4096;

// An access that ended in a fault at `address`, if that is known.
struct FaultingAccess {
  const MachineAccess& access;
  const WorkerContext& worker;
  uint64_t address;

  bool Takes(uint32_t lane) const {
    return !access.site.masked || (worker.lanes >> lane & 1) != 0;
  }

  std::optional<uint32_t> Lane() const {
    const AccessSite& site = access.site;
    switch (site.kind) {
      case AccessSite::Kind::kUnknown:
        return std::nullopt;
      case AccessSite::Kind::kOneLane:
        return site.lane;
      case AccessSite::Kind::kGather:
        if (access.left == 0) return std::nullopt;
        return site.lane + std::countr_zero(access.left);
      case AccessSite::Kind::kSame:
        return First(site.lane, [](uint32_t) { return true; });
      case AccessSite::Kind::kLanes:
        if (!access.has_address) return std::nullopt;
        // The CPU may access the parts of a vector in any order.
        return First(site.lane / 8 * 8, [this](uint32_t lane) {
          return Reaches(access.address + (uint64_t{lane} - access.site.lane) *
                                              access.site.bytes);
        });
      case AccessSite::Kind::kListed:
        return First(site.lane, [this](uint32_t lane) {
          return Reaches(worker.addresses[lane]);
        });
    }
    return std::nullopt;
  }

  // Does an element there have a part in the page that is not mapped?
  bool Reaches(uint64_t element) const {
    if (address == 0) return access.has_address && element == access.address;
    const uint64_t page = address / kPageBytes * kPageBytes;
    return element + access.site.bytes > page && element < page + kPageBytes;
  }

  template <typename Test>
  std::optional<uint32_t> First(uint32_t begin, Test test) const {
    for (uint32_t lane = begin; lane < kWarpThreads; ++lane) {
      if (Takes(lane) && test(lane)) return lane;
    }
    return std::nullopt;
  }
};

std::string Triple(uint64_t linear, const uint32_t extent[3]) {
  return absl::StrCat("(", linear % extent[0], ",",
                      linear / extent[0] % extent[1], ",",
                      linear / extent[0] / extent[1], ")");
}

std::string Threads(const FaultReport& report, std::optional<uint32_t> lane) {
  const uint32_t* block = report.geometry.block;
  const uint64_t first = report.worker.warp * kWarpThreads;
  if (lane) return absl::StrCat("thread ", Triple(first + *lane, block));
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  const uint64_t last = std::min(threads, first + kWarpThreads) - 1;
  return absl::StrCat("threads ", Triple(first, block), " to ",
                      Triple(last, block));
}

// NVRTC has put the directory "/", in which it runs, before the name of a
// program.
absl::string_view NameOf(absl::string_view file) {
  return file.rfind('/') == 0 ? file.substr(1) : file;
}

// ", PTX line 12, kernel.cu:3: st"; ": " if nothing is known.
std::string Place(const lower::Kernel& kernel,
                  std::optional<uint32_t> instruction) {
  const auto& body = kernel.function->body;
  if (!instruction || *instruction >= body.size()) return ": ";
  const ptx::Instruction& at = body[*instruction];
  std::string text = absl::StrCat(", PTX line ", at.location.line);
  const auto& files = kernel.module->files;
  if (at.source.line != 0 && at.source.file < files.size()) {
    absl::StrAppend(&text, ", ", NameOf(files[at.source.file]), ":",
                    at.source.line);
  }
  return absl::StrCat(text, ": ", ptx::SpellingOf(at.opcode()), ": ");
}

struct Reason {
  CUresult result;
  std::string text;
};

// Generated code touches each page of its stack before it goes further, and
// calls touch what is just below.
bool IsOfTheStack(const KernelFault& fault) {
  constexpr int kRsp = 4;
  const uint64_t below = fault.state.registers[kRsp] - kPageBytes;
  return fault.state.pc != 0 && fault.address - below < 2 * kPageBytes;
}

// Describes an access behind a block's shared memory, up to the largest offset.
// Returns nullopt for other addresses.
std::optional<std::string> BeyondShared(const FaultReport& report,
                                        uint64_t address, uint64_t access) {
  const uint64_t offset =
      address - reinterpret_cast<uint64_t>(report.worker.shared);
  const uint64_t bytes = SharedBytes(report.kernel, report.geometry);
  if (report.worker.shared == nullptr ||
      offset + std::max<uint64_t>(access, 1) <= bytes ||
      offset >= kSharedWindowBytes) {
    return std::nullopt;
  }
  return absl::StrCat("access to byte ", std::max(offset, bytes),
                      " of shared memory, of which the block has ", bytes);
}

// The kernel reads the byte for write(2), which fails if it may not be read.
bool IsReadable(uint64_t address) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const bool readable =
      write(ends[1], reinterpret_cast<const void*>(address), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

std::string AddressReason(const KernelFault& fault, uint64_t address) {
  const bool by_processor = fault.state.pc != 0;
  if (by_processor && address == 0) {
    return "access to an address that no memory can have";
  }
  const std::string text = absl::StrCat("address 0x", absl::Hex(address));
  // The processor refuses a read only where nothing can be read.
  return by_processor && IsReadable(address)
             ? absl::StrCat("write to ", text, ", where memory is read-only")
             : absl::StrCat("access to ", text, ", where no memory is mapped");
}

// Returns why the instruction traps. In CUDA's header it does so where a grid
// synchronizes that was launched in the plain way.
std::string TrapReason(const FaultReport& report,
                       std::optional<uint32_t> instruction) {
  const auto& body = report.kernel.function->body;
  const auto& files = report.kernel.module->files;
  if (!instruction || *instruction >= body.size()) return "trap";
  const auto& source = body[*instruction].source;
  const bool synchronizes =
      !report.geometry.cooperative && source.line != 0 &&
      source.file < files.size() &&
      absl::EndsWith(files[source.file], "/cooperative_groups.h");
  return synchronizes ? "the grid synchronizes, but was not launched as a "
                        "cooperative one"
                      : "trap";
}

// "4-byte write at 0x680100000010, right behind the end of the buffer of ..."
std::string BufferReason(const FaultReport& report, uint64_t address,
                         int bytes) {
  const auto& body = report.kernel.function->body;
  const ptx::Opcode opcode = body[report.worker.instruction].opcode();
  const bool reads = opcode == ptx::Opcode::kLd ||
                     opcode == ptx::Opcode::kLdu ||
                     opcode == ptx::Opcode::kLdmatrix;
  const bool writes =
      opcode == ptx::Opcode::kSt || opcode == ptx::Opcode::kStmatrix;
  const char* const access = reads ? "read" : writes ? "write" : "access";
  return absl::StrCat(
      bytes, "-byte ", access, " at 0x", absl::Hex(address),
      BufferTable::Get()->Describe(address, static_cast<uint64_t>(bytes)));
}

// `bytes` are those that a lane accesses. `trap` is the reason of a trap.
Reason ReasonOf(const FaultReport& report, uint64_t address, int bytes,
                const std::string& trap) {
  switch (report.fault.kind) {
    case KernelFault::Kind::kAddress:
      if (IsOfTheStack(report.fault)) {
        return {CUDA_ERROR_HARDWARE_STACK_ERROR,
                "the kernel keeps more values than a warp's stack holds"};
      }
      if (const auto shared =
              BeyondShared(report, address, static_cast<uint64_t>(bytes))) {
        return {CUDA_ERROR_ILLEGAL_ADDRESS, *shared};
      }
      return {CUDA_ERROR_ILLEGAL_ADDRESS, AddressReason(report.fault, address)};
    case KernelFault::Kind::kBuffer:
      return {CUDA_ERROR_ILLEGAL_ADDRESS, BufferReason(report, address, bytes)};
    case KernelFault::Kind::kStack:
      return {CUDA_ERROR_HARDWARE_STACK_ERROR,
              "calls nest deeper than the stack of a thread allows "
              "(CU_LIMIT_STACK_SIZE)"};
    case KernelFault::Kind::kFunction:
      return {CUDA_ERROR_INVALID_PC,
              "a call through a register that holds no function"};
    case KernelFault::Kind::kMisaligned:
      return {CUDA_ERROR_MISALIGNED_ADDRESS,
              absl::StrCat("address 0x", absl::Hex(address),
                           " is not a multiple of ", bytes)};
    case KernelFault::Kind::kFreedTwice:
      return {CUDA_ERROR_LAUNCH_FAILED,
              absl::StrCat("free of 0x", absl::Hex(address),
                           ", which has been freed already")};
    case KernelFault::Kind::kUneven:
      return {CUDA_ERROR_MISALIGNED_ADDRESS,
              absl::StrCat("a size of ", address,
                           " bytes is not a multiple of ", bytes)};
    case KernelFault::Kind::kDeadlock:
      return {CUDA_ERROR_LAUNCH_FAILED,
              absl::StrCat("deadlock: warps ", report.waiting,
                           " wait at a barrier that no other will reach")};
    case KernelFault::Kind::kAssert:
      return {CUDA_ERROR_ASSERT, report.fault.assertion};
    case KernelFault::Kind::kIllegalInstruction:
      return {CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction"};
    case KernelFault::Kind::kSignal:
      return {CUDA_ERROR_LAUNCH_FAILED, "the CPU refused an instruction"};
    default:
      return {CUDA_ERROR_LAUNCH_FAILED, trap};
  }
}

}  // namespace

LaunchOutcome FaultReport::Describe() const {
  const std::string& name = kernel.function->name;
  if (fault.kind == KernelFault::Kind::kCancelled) {
    return {CUDA_ERROR_LAUNCH_TIMEOUT,
            absl::StrCat("kernel ", name, " was given up")};
  }
  std::optional<uint32_t> instruction, lane;
  uint64_t address = fault.address;
  if (fault.state.pc == 0) {
    instruction = worker.instruction;
    if (fault.lanes != 0) lane = std::countr_zero(fault.lanes);
  } else if (const auto access = code.Find(fault.state)) {
    instruction = access->site.instruction;
    lane = FaultingAccess{*access, worker, address}.Lane();
    if (address == 0 && access->has_address) address = access->address;
  } else {
    instruction = worker.instruction;  // in what it had the runtime do
  }
  const auto& body = kernel.function->body;
  const int bytes = fault.alignment != 0 ? static_cast<int>(fault.alignment)
                    : instruction && *instruction < body.size()
                        ? lower::AccessBytes(body[*instruction])
                        : 0;
  const Reason reason =
      ReasonOf(*this, address, bytes, TrapReason(*this, instruction));
  return {reason.result, absl::StrCat("kernel ", name, ", block ",
                                      Triple(worker.block, geometry.grid), ", ",
                                      Threads(*this, lane),
                                      Place(kernel, instruction), reason.text)};
}

}  // namespace holdfast::software
