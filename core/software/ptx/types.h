// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of PTX: operand types, state spaces, instruction modifiers and
// special registers, each with its spelling.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_TYPES_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_TYPES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {

// X(enumerator, spelling, bits, class). Class: p predicate, b untyped bits,
// u unsigned, s signed, f floating point, x packed or alternate format.
// clang-format off
#define HOLDFAST_PTX_TYPES(X) \
  X(kPred, "pred", 1, 'p') X(kB8, "b8", 8, 'b') X(kB16, "b16", 16, 'b') \
  X(kB32, "b32", 32, 'b') X(kB64, "b64", 64, 'b') X(kB128, "b128", 128, 'b') \
  X(kU8, "u8", 8, 'u') X(kU16, "u16", 16, 'u') X(kU32, "u32", 32, 'u') \
  X(kU64, "u64", 64, 'u') X(kS8, "s8", 8, 's') X(kS16, "s16", 16, 's') \
  X(kS32, "s32", 32, 's') X(kS64, "s64", 64, 's') X(kF16, "f16", 16, 'f') \
  X(kBF16, "bf16", 16, 'f') X(kF32, "f32", 32, 'f') X(kF64, "f64", 64, 'f') \
  X(kTF32, "tf32", 32, 'x') X(kF16x2, "f16x2", 32, 'x') \
  X(kBF16x2, "bf16x2", 32, 'x') X(kU16x2, "u16x2", 32, 'x') \
  X(kS16x2, "s16x2", 32, 'x') X(kE4M3, "e4m3", 8, 'x') \
  X(kE5M2, "e5m2", 8, 'x') X(kE4M3x2, "e4m3x2", 16, 'x') \
  X(kE5M2x2, "e5m2x2", 16, 'x') X(kU2, "u2", 2, 'u') X(kS2, "s2", 2, 's') \
  X(kU4, "u4", 4, 'u') X(kS4, "s4", 4, 's') X(kB1, "b1", 1, 'b')
// clang-format on

enum class Type : uint8_t {
  kNone,
#define X(name, spelling, bits, cls) name,
  HOLDFAST_PTX_TYPES(X)
#undef X
};

// Returns the number of bits of one value in memory: 1 for a predicate, 0 for
// kNone.
int BitsOf(Type type);
inline int BytesOf(Type type) { return (BitsOf(type) + 7) / 8; }
// Returns true for signed integer types only.
bool IsSigned(Type type);
bool IsFloat(Type type);  // f16, bf16, f32, f64
// Returns the element type of a packed pair, such as f16 for f16x2; kNone for
// other types.
Type HalfOf(Type type);
absl::string_view SpellingOf(Type type);
// Returns the type that `word` spells, without the dot; nullopt if there is
// none.
std::optional<Type> TypeFromSpelling(absl::string_view word);

// The state space of memory. kGeneric: the address determines the space.
enum class Space : uint8_t {
  kGeneric,
  kRegister,
  kGlobal,
  kConst,
  kShared,         // the shared memory of the thread's block
  kSharedCluster,  // the shared memory of all blocks of the thread's cluster
  kLocal,
  kParam,
};

// The other words that follow an opcode after a dot: X(enumerator, spelling).
// clang-format off
#define HOLDFAST_PTX_MODIFIERS(X) \
  X(kRn, "rn") X(kRz, "rz") X(kRm, "rm") X(kRp, "rp") X(kRna, "rna") \
  X(kRni, "rni") X(kRzi, "rzi") X(kRmi, "rmi") X(kRpi, "rpi") X(kFtz, "ftz") \
  X(kSat, "sat") X(kSatfinite, "satfinite") X(kRelu, "relu") \
  X(kApprox, "approx") X(kFull, "full") X(kNaN, "NaN") \
  X(kXorsign, "xorsign") X(kOob, "oob") X(kPack, "pack") \
  X(kAbs, "abs") X(kNoftz, "noftz") X(kLo, "lo") X(kHi, "hi") \
  X(kWide, "wide") X(kCc, "cc") X(kEq, "eq") X(kNe, "ne") X(kLt, "lt") \
  X(kLe, "le") X(kGt, "gt") X(kGe, "ge") X(kLs, "ls") X(kHs, "hs") \
  X(kEqu, "equ") X(kNeu, "neu") X(kLtu, "ltu") X(kLeu, "leu") X(kGtu, "gtu") \
  X(kGeu, "geu") X(kNum, "num") X(kNan, "nan") X(kAnd, "and") X(kOr, "or") \
  X(kXor, "xor") X(kNot, "not") X(kGlobal, "global") X(kShared, "shared") \
  X(kLocal, "local") X(kConst, "const") X(kParam, "param") \
  X(kSharedCta, "shared::cta") X(kSharedCluster, "shared::cluster") \
  X(kParamEntry, "param::entry") X(kParamFunc, "param::func") \
  X(kGeneric, "generic") X(kVolatile, "volatile") X(kRelaxed, "relaxed") \
  X(kAcquire, "acquire") X(kRelease, "release") X(kAcqRel, "acq_rel") \
  X(kSc, "sc") X(kWeak, "weak") X(kMmio, "mmio") X(kCta, "cta") \
  X(kCluster, "cluster") X(kGpu, "gpu") X(kSys, "sys") X(kGl, "gl") \
  X(kCa, "ca") X(kCg, "cg") X(kCs, "cs") X(kLu, "lu") X(kCv, "cv") \
  X(kWb, "wb") X(kWt, "wt") X(kNc, "nc") \
  X(kL1EvictNormal, "L1::evict_normal") \
  X(kL1EvictUnchanged, "L1::evict_unchanged") \
  X(kL1EvictFirst, "L1::evict_first") X(kL1EvictLast, "L1::evict_last") \
  X(kL1NoAllocate, "L1::no_allocate") X(kL2CacheHint, "L2::cache_hint") \
  X(kL2EvictFirst, "L2::evict_first") X(kL2EvictLast, "L2::evict_last") \
  X(kL2EvictNormal, "L2::evict_normal") X(kL2_64B, "L2::64B") \
  X(kL2_128B, "L2::128B") X(kL2_256B, "L2::256B") X(kV2, "v2") X(kV4, "v4") \
  X(kV8, "v8") X(kTo, "to") X(kUni, "uni") X(kSync, "sync") \
  X(kAligned, "aligned") X(kArrive, "arrive") X(kRed, "red") X(kWarp, "warp") \
  X(kPopc, "popc") X(kAll, "all") X(kAny, "any") X(kBallot, "ballot") \
  X(kUp, "up") X(kDown, "down") X(kBfly, "bfly") X(kIdx, "idx") X(kRow, "row") X(kCol, "col") X(kTrans, "trans") \
  X(kX1, "x1") X(kX2, "x2") X(kX4, "x4") X(kM8n8, "m8n8") \
  X(kM8n8k4, "m8n8k4") X(kM8n8k16, "m8n8k16") X(kM8n8k32, "m8n8k32") \
  X(kM16n8k4, "m16n8k4") X(kM16n8k8, "m16n8k8") X(kM16n8k16, "m16n8k16") \
  X(kM16n8k32, "m16n8k32") X(kM16n8k64, "m16n8k64") \
  X(kM16n16k8, "m16n16k8") X(kM16n16k16, "m16n16k16") \
  X(kM8n32k16, "m8n32k16") X(kM32n8k16, "m32n8k16") \
  X(kM8n8k128, "m8n8k128") X(kA, "a") X(kB, "b") X(kC, "c") \
  X(kAdd, "add") X(kMin, "min") X(kMax, "max") X(kInc, "inc") X(kDec, "dec") \
  X(kExch, "exch") X(kCas, "cas") X(kClamp, "clamp") X(kWrap, "wrap") \
  X(kShiftamt, "shiftamt") X(kPo, "po") X(kShr7, "shr7") \
  X(kShr15, "shr15") X(kL, "l") X(kR, "r") X(kF4e, "f4e") \
  X(kB4e, "b4e") X(kRc8, "rc8") X(kEcl, "ecl") X(kEcr, "ecr") \
  X(kRc16, "rc16") X(kFinite, "finite") X(kInfinite, "infinite") \
  X(kNumber, "number") X(kNotanumber, "notanumber") \
  X(kNormal, "normal") X(kSubnormal, "subnormal") X(kInit, "init") \
  X(kInval, "inval") X(kTestWait, "test_wait") X(kTryWait, "try_wait") \
  X(kParity, "parity") X(kNoComplete, "noComplete") X(kExpectTx, "expect_tx") \
  X(kCompleteTx, "complete_tx") X(kArriveDrop, "arrive_drop") \
  X(kPendingCount, "pending_count") X(kAsync, "async") \
  X(kCommitGroup, "commit_group") X(kWaitGroup, "wait_group") \
  X(kWaitAll, "wait_all") X(kMbarrier, "mbarrier") X(kNoinc, "noinc") \
  X(kBulk, "bulk") X(kBulkGroup, "bulk_group") X(kReduce, "reduce") \
  X(kRead, "read") X(kPrefetch, "prefetch") X(kProxy, "proxy") X(kAlias, "alias") X(kL1, "L1") \
  X(kL2, "L2") X(kBlocking, "blocking") X(kCtaId, "cta_id") X(kMode, "mode") \
  X(kFractional, "fractional") X(kRange, "range") \
  X(kL2EvictUnchanged, "L2::evict_unchanged") \
  X(kLaunchDependents, "launch_dependents") X(kWait, "wait") \
  X(kMbarrierInit, "mbarrier_init") \
  X(kCompleteTxBytes, "mbarrier::complete_tx::bytes") \
  X(kAsyncGeneric, "async::generic") \
  X(kSyncRestrictCta, "sync_restrict::shared::cta") \
  X(kSyncRestrictCluster, "sync_restrict::shared::cluster")
// clang-format on

enum class Modifier : uint8_t {
#define X(name, spelling) name,
  HOLDFAST_PTX_MODIFIERS(X)
#undef X
};

absl::string_view SpellingOf(Modifier modifier);
// Returns the modifier that `word` spells, without the dot; nullopt if there is
// none.
std::optional<Modifier> ModifierFromSpelling(absl::string_view word);

// The registers that the hardware provides: X(enumerator, spelling, type).
// clang-format off
#define HOLDFAST_PTX_SPECIALS(X) \
  X(kTidX, "%tid.x", kU32) X(kTidY, "%tid.y", kU32) X(kTidZ, "%tid.z", kU32) \
  X(kNtidX, "%ntid.x", kU32) X(kNtidY, "%ntid.y", kU32) \
  X(kNtidZ, "%ntid.z", kU32) X(kCtaidX, "%ctaid.x", kU32) \
  X(kCtaidY, "%ctaid.y", kU32) X(kCtaidZ, "%ctaid.z", kU32) \
  X(kNctaidX, "%nctaid.x", kU32) X(kNctaidY, "%nctaid.y", kU32) \
  X(kNctaidZ, "%nctaid.z", kU32) X(kLaneid, "%laneid", kU32) \
  X(kWarpid, "%warpid", kU32) X(kNwarpid, "%nwarpid", kU32) \
  X(kSmid, "%smid", kU32) X(kNsmid, "%nsmid", kU32) \
  X(kGridid, "%gridid", kU64) X(kLanemaskEq, "%lanemask_eq", kU32) \
  X(kLanemaskLe, "%lanemask_le", kU32) X(kLanemaskLt, "%lanemask_lt", kU32) \
  X(kLanemaskGe, "%lanemask_ge", kU32) X(kLanemaskGt, "%lanemask_gt", kU32) \
  X(kClock, "%clock", kU32) X(kClockHi, "%clock_hi", kU32) \
  X(kClock64, "%clock64", kU64) X(kGlobaltimer, "%globaltimer", kU64) \
  X(kGlobaltimerLo, "%globaltimer_lo", kU32) \
  X(kGlobaltimerHi, "%globaltimer_hi", kU32) \
  X(kDynamicSmemSize, "%dynamic_smem_size", kU32) \
  X(kTotalSmemSize, "%total_smem_size", kU32) \
  X(kReservedSmemOffsetBegin, "%reserved_smem_offset_begin", kB32) \
  X(kReservedSmemOffsetEnd, "%reserved_smem_offset_end", kB32) \
  X(kReservedSmemOffsetCap, "%reserved_smem_offset_cap", kB32) \
  X(kReservedSmemOffset0, "%reserved_smem_offset_0", kB32) \
  X(kReservedSmemOffset1, "%reserved_smem_offset_1", kB32) \
  X(kEnvreg0, "%envreg0", kB32) X(kEnvreg3, "%envreg3", kB32) \
  X(kEnvreg4, "%envreg4", kB32) X(kEnvreg5, "%envreg5", kB32) \
  X(kEnvreg6, "%envreg6", kB32) X(kEnvreg7, "%envreg7", kB32) \
  X(kEnvreg8, "%envreg8", kB32) X(kEnvreg9, "%envreg9", kB32) \
  X(kEnvreg10, "%envreg10", kB32) X(kEnvreg11, "%envreg11", kB32) \
  X(kEnvreg12, "%envreg12", kB32) X(kEnvreg13, "%envreg13", kB32) \
  X(kEnvreg14, "%envreg14", kB32) X(kEnvreg15, "%envreg15", kB32) \
  X(kEnvreg16, "%envreg16", kB32) X(kEnvreg17, "%envreg17", kB32) \
  X(kEnvreg18, "%envreg18", kB32) X(kEnvreg19, "%envreg19", kB32) \
  X(kEnvreg20, "%envreg20", kB32) X(kEnvreg21, "%envreg21", kB32) \
  X(kEnvreg22, "%envreg22", kB32) X(kEnvreg23, "%envreg23", kB32) \
  X(kEnvreg24, "%envreg24", kB32) X(kEnvreg25, "%envreg25", kB32) \
  X(kEnvreg26, "%envreg26", kB32) X(kEnvreg27, "%envreg27", kB32) \
  X(kEnvreg28, "%envreg28", kB32) X(kEnvreg29, "%envreg29", kB32) \
  X(kEnvreg30, "%envreg30", kB32) X(kEnvreg31, "%envreg31", kB32) \
  X(kPm0, "%pm0", kU32) X(kPm1, "%pm1", kU32) \
  X(kPm2, "%pm2", kU32) X(kPm3, "%pm3", kU32) \
  X(kPm4, "%pm4", kU32) X(kPm5, "%pm5", kU32) \
  X(kPm6, "%pm6", kU32) X(kPm7, "%pm7", kU32) \
  X(kPm0Wide, "%pm0_64", kU64) X(kPm1Wide, "%pm1_64", kU64) \
  X(kPm2Wide, "%pm2_64", kU64) X(kPm3Wide, "%pm3_64", kU64) \
  X(kPm4Wide, "%pm4_64", kU64) X(kPm5Wide, "%pm5_64", kU64) \
  X(kPm6Wide, "%pm6_64", kU64) X(kPm7Wide, "%pm7_64", kU64) \
  X(kEnvreg1, "%envreg1", kB32) \
  X(kEnvreg2, "%envreg2", kB32) \
  X(kIsExplicitCluster, "%is_explicit_cluster", kPred) \
  X(kClusteridX, "%clusterid.x", kU32) X(kClusteridY, "%clusterid.y", kU32) \
  X(kClusteridZ, "%clusterid.z", kU32) X(kNclusteridX, "%nclusterid.x", kU32) \
  X(kNclusteridY, "%nclusterid.y", kU32) \
  X(kNclusteridZ, "%nclusterid.z", kU32) \
  X(kClusterCtaidX, "%cluster_ctaid.x", kU32) \
  X(kClusterCtaidY, "%cluster_ctaid.y", kU32) \
  X(kClusterCtaidZ, "%cluster_ctaid.z", kU32) \
  X(kClusterNctaidX, "%cluster_nctaid.x", kU32) \
  X(kClusterNctaidY, "%cluster_nctaid.y", kU32) \
  X(kClusterNctaidZ, "%cluster_nctaid.z", kU32) \
  X(kClusterCtarank, "%cluster_ctarank", kU32) \
  X(kClusterNctarank, "%cluster_nctarank", kU32)
// clang-format on

enum class Special : uint8_t {
#define X(name, spelling, type) name,
  HOLDFAST_PTX_SPECIALS(X)
#undef X
};

// Returns the type of the special register.
Type TypeOf(Special special);
// Returns the special register that `word` spells, with the percent sign;
// nullopt if there is none.
std::optional<Special> SpecialFromSpelling(absl::string_view word);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_TYPES_H_
