// SPDX-License-Identifier: Apache-2.0
//
// The slow half of the test that generated code makes of addresses
// (jit/address_check.cc): looks at each lane, and reports the first one
// that is wrong.
#include "core/software/runtime/address_check.h"

#include "core/software/abi/shared_memory.h"
#include "core/software/abi/window.h"

namespace holdfast::software {

KernelFault::Kind AccessFault(const WorkerContext& worker,
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

namespace {

// The lanes with the same fault as the lowest one that has any.
KernelFault FindFault(const WorkerContext& worker, uint32_t lanes,
                      const CheckedAccess& access, uint32_t width,
                      int64_t stride) {
  KernelFault fault;
  for (uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const uint64_t address = worker.addresses[lane / width] +
                             static_cast<uint64_t>(stride) * (lane % width);
    const KernelFault::Kind kind = AccessFault(worker, access, address);
    if (kind == KernelFault::Kind::kNone) continue;
    if (fault.lanes == 0) {
      fault.kind = kind;
      fault.address = address;
    }
    if (fault.kind == kind) fault.lanes |= uint32_t{1} << lane;
  }
  return fault;
}

}  // namespace

extern "C" {

void holdfast_check_addresses(WorkerContext* worker, uint32_t lanes,
                              uint32_t bytes, uint32_t width, int64_t stride,
                              AddressRoom room) {
  const KernelFault fault =
      FindFault(*worker, lanes, {bytes, room}, width, stride);
  if (fault.kind != KernelFault::Kind::kNone) LeaveKernel(*worker, fault);
}

void holdfast_bad_address(WorkerContext* worker, uint32_t lanes, uint32_t bytes,
                          uint32_t width, int64_t stride, AddressRoom room) {
  holdfast_check_addresses(worker, lanes, bytes, width, stride, room);
  // Code has seen otherwise: better a fault without an address than an access.
  LeaveKernel(*worker, {KernelFault::Kind::kAddress, 0, lanes});
}

}  // extern "C"

}  // namespace holdfast::software
