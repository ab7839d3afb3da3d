// SPDX-License-Identifier: Apache-2.0
//
// Finds the lowest nonce so that SHA-256 of "NONCE holdfast" begins with zeros.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "client/cpp/holdfast.h"
#include "client/examples/steps.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A SHA-256 a thread: of the nonce's hex digits, " holdfast" and the padding.
constexpr char kSource[] = R"(
__device__ unsigned turn(unsigned x, int by) { return x >> by | x << 32 - by; }
__device__ unsigned digits(unsigned x) {  // four hex digits, as text
  unsigned t = 0;
  for (int i = 12; i >= 0; i -= 4) t = t << 8 | "0123456789abcdef"[x >> i & 15];
  return t;
}
extern "C" __global__ void search(unsigned first, int zeros, unsigned* found) {
  unsigned nonce = first + blockIdx.x * blockDim.x + threadIdx.x, s[8];
  unsigned w[16] = {digits(nonce >> 16), digits(nonce), ' h' << 16 | 'ol',
                    'df' << 16 | 'as', 't' << 24 | 0x800000};
  w[15] = 8 * 17;
  for (int i = 0; i < 8; ++i) s[i] = H[i];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    unsigned a = w[i + 1 & 15], b = w[i + 14 & 15];
    if (i >= 16) w[i & 15] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
        w[i + 9 & 15] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    unsigned t = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
        (s[4] & s[5] ^ ~s[4] & s[6]) + K[i] + w[i & 15];
    unsigned u = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
        (s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]);
    for (int j = 7; j > 0; --j) s[j] = s[j - 1];
    s[4] += t, s[0] = t + u;
  }
  if (s[0] + H[0] < 1ull << 32 - 4 * zeros) atomicMin(found, nonce);
})";
constexpr uint32_t kBatch = 1 << 20, kNone = ~0u;

// SHA-256's constants: 32 bits behind the point of the primes' roots.
std::string Constants() {
  std::string h, k;
  for (int n = 2; n < 312; ++n) {
    int divisor = 2;
    while (n % divisor != 0) ++divisor;
    if (divisor != n) continue;
    const auto bits = [](double x) {
      return static_cast<uint32_t>(std::fmod(x, 1) * 0x1p32);
    };
    if (n < 20) absl::StrAppendFormat(&h, "%uu, ", bits(std::sqrt(n)));
    absl::StrAppendFormat(&k, "%uu, ", bits(std::cbrt(n)));
  }
  return "__constant__ unsigned H[] = {" + h + "}, K[] = {" + k + "};";
}

absl::Status Run(const std::string& address, int zeros) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            Session::Open({.address = address}));
  const Program program(Constants() + kSource);
  HOLDFAST_ASSIGN_OR_RETURN(auto compiled, program.Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(auto module, session->Load(compiled.object));
  HOLDFAST_ASSIGN_OR_RETURN(auto kernel, module.GetKernel("search"));
  HOLDFAST_ASSIGN_OR_RETURN(auto stream, session->device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(auto found, session->device(0).Allocate(4));
  HOLDFAST_RETURN_IF_ERROR(found.Fill(kNone, stream));
  Steps steps;
  uint32_t nonce = kNone, tried = 0;
  do {
    HOLDFAST_RETURN_IF_ERROR(Launch(stream,
                                    {.grid = kBatch / 256, .block = 256},
                                    kernel, tried, zeros, found));
    HOLDFAST_RETURN_IF_ERROR(found.Download(&nonce, 4, stream));
    tried += kBatch;
  } while (nonce == kNone && tried != 0);
  steps.Done("search", absl::StrFormat("%u hashes", tried));
  const std::string text = absl::StrFormat("%08x holdfast", nonce);
  const std::string digest = ToHex(Sha256(text));
  std::printf("sha256(\"%s\") = %s\n", text.c_str(), digest.c_str());
  if (digest.starts_with(std::string(zeros, '0'))) return absl::OkStatus();
  return absl::DataLossError("a hash without the zeros");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  int zeros = 6;
  CLI::App app("hash_search: a SHA-256 that begins with zeros");
  app.add_option("--address", address, "Where the daemon is");
  app.add_option("--zeros", zeros, "Hex digits")->check(CLI::Range(1, 7));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address, zeros);
  if (!status.ok()) {
    std::fprintf(
        stderr, "hash_search: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
