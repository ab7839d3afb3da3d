// SPDX-License-Identifier: Apache-2.0
//
// The slow half of the test that generated code makes of addresses
// (jit/address_check.h): looks at each lane, and reports the first one
// that is wrong.
#include "core/software/runtime/address_check.h"

#include <optional>

#include "absl/functional/function_ref.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/shared_memory.h"
#include "core/software/abi/window.h"

namespace holdfast::software {
namespace {

KernelFault::Kind WindowFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address) {
  using Kind = KernelFault::Kind;
  if (access.room == AddressRoom::kShared) {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(worker.shared);
    if (offset >= kSharedWindowBytes) return Kind::kAddress;
    return offset % access.bytes != 0 ? Kind::kMisaligned : Kind::kNone;
  }
  if (!GetKernelWindow().Contains(address, 1)) return Kind::kAddress;
  return address % access.bytes != 0 ? Kind::kMisaligned : Kind::kNone;
}

// Addresses of the lanes of an access, as holdfast_check_addresses gets them.
struct Lanes {
  uint32_t lanes;
  uint32_t width;
  int64_t stride;
};

// The lanes with the same fault as the lowest one that has any.
KernelFault FindFault(
    const WorkerContext& worker, const Lanes& of,
    absl::FunctionRef<KernelFault::Kind(uint64_t address)> fault_of) {
  KernelFault fault;
  for (uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    if ((of.lanes >> lane & 1) == 0) continue;
    const uint64_t address =
        worker.addresses[lane / of.width] +
        static_cast<uint64_t>(of.stride) * (lane % of.width);
    const KernelFault::Kind kind = fault_of(address);
    if (kind == KernelFault::Kind::kNone) continue;
    if (fault.lanes == 0) {
      fault.kind = kind;
      fault.address = address;
    }
    if (fault.kind == kind) fault.lanes |= uint32_t{1} << lane;
  }
  return fault;
}

// Does the same as WindowFault in memcheck mode. *span is the span of the last
// access, and becomes the span of this one.
KernelFault::Kind BufferFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address,
                              BufferSpan* span) {
  using Kind = KernelFault::Kind;
  const Kind kind = WindowFault(worker, access, address);
  if (kind != Kind::kNone) return kind;
  if (access.room == AddressRoom::kShared) {
    const BufferSpan shared{reinterpret_cast<uint64_t>(worker.shared),
                            worker.launch->shared_bytes};
    return shared.Contains(address, access.bytes) ? Kind::kNone
                                                  : Kind::kAddress;
  }
  if (span->Contains(address, access.bytes)) return Kind::kNone;
  const std::optional<BufferSpan> found = BufferTable::Get()->Find(address);
  if (!found || !found->Contains(address, access.bytes)) return Kind::kBuffer;
  *span = *found;
  return Kind::kNone;
}

}  // namespace

KernelFault::Kind AccessFault(const WorkerContext& worker,
                              const CheckedAccess& access, uint64_t address) {
  if (BufferTable::Get() == nullptr) {
    return WindowFault(worker, access, address);
  }
  BufferSpan none;
  return BufferFault(worker, access, address, &none);
}

extern "C" {

void holdfast_check_addresses(WorkerContext* worker, uint32_t lanes,
                              uint32_t bytes, uint32_t width, int64_t stride,
                              AddressRoom room) {
  const KernelFault fault =
      FindFault(*worker, {lanes, width, stride}, [&](uint64_t address) {
        return WindowFault(*worker, {bytes, room}, address);
      });
  if (fault.kind != KernelFault::Kind::kNone) LeaveKernel(*worker, fault);
}

void holdfast_bad_address(WorkerContext* worker, uint32_t lanes, uint32_t bytes,
                          uint32_t width, int64_t stride, AddressRoom room) {
  holdfast_check_addresses(worker, lanes, bytes, width, stride, room);
  // Code has seen otherwise: better a fault without an address than an access.
  LeaveKernel(*worker, {KernelFault::Kind::kAddress, 0, lanes});
}

// Generated code relies on a span's alignment: an aligned access in front of
// the span then has no byte in it.
void holdfast_check_buffers(WorkerContext* worker, uint32_t lanes,
                            uint32_t bytes, uint32_t width, int64_t stride,
                            AddressRoom room, uint32_t span) {
  constexpr uint64_t kLargestAccess = 16;
  BufferSpan last;
  const KernelFault fault =
      FindFault(*worker, {lanes, width, stride}, [&](uint64_t address) {
        return BufferFault(*worker, {bytes, room}, address, &last);
      });
  if (fault.kind != KernelFault::Kind::kNone) LeaveKernel(*worker, fault);
  if (last.size > 0 && last.begin % kLargestAccess == 0) {
    worker->spans[span] = last;
  }
}

}  // extern "C"

}  // namespace holdfast::software
