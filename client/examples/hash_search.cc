// SPDX-License-Identifier: Apache-2.0
//
// Finds the lowest nonce so that the FNV-1a hash of "NONCE holdfast" begins
// with zeros. The source of the kernel is made when the program runs: it has
// the text in it.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// One hash a thread: of the nonce as eight hex digits, and of TEXT.
constexpr char kSource[] = R"(
extern "C" __global__ void search(unsigned first, int zeros, unsigned* found) {
  const unsigned nonce = first + blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long hash = 0xcbf29ce484222325;
  const auto add = [&](unsigned char c) { hash = (hash ^ c) * 0x100000001b3; };
  for (int i = 28; i >= 0; i -= 4) add("0123456789abcdef"[nonce >> i & 15]);
  for (int i = 0; i + 1 < sizeof TEXT; ++i) add(TEXT[i]);
  if (hash >> 64 - 4 * zeros == 0) atomicMin(found, nonce);
})";
constexpr char kText[] = " holdfast";
constexpr uint32_t kBatch = 1 << 20, kNone = ~0u;

uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

absl::Status Run(const Session& session, int zeros) {
  const auto source = absl::StrCat("#define TEXT \"", kText, "\"\n", kSource);
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, source));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel search, module.GetKernel("search"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer found, device.Allocate(4));
  HOLDFAST_RETURN_IF_ERROR(found.Fill(kNone, stream));
  const LaunchConfig config = {.grid = kBatch / 256, .block = 256};
  uint32_t nonce = kNone;
  for (uint32_t first = 0; nonce == kNone; first += kBatch) {
    HOLDFAST_RETURN_IF_ERROR(
        Launch(stream, config, search, first, zeros, found));
    HOLDFAST_RETURN_IF_ERROR(found.Download(&nonce, 4, stream));
    if (first == kNone - kBatch + 1) break;  // All nonces were tried.
  }
  const std::string text = absl::StrFormat("%08x%s", nonce, kText);
  const uint64_t hash = Hash(text);
  std::printf("fnv1a(\"%s\") = %016" PRIx64 "\n", text.c_str(), hash);
  return hash >> (64 - 4 * zeros) == 0
             ? absl::OkStatus()
             : absl::DataLossError("a hash without the zeros");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  int zeros = 6;
  holdfast::Example example("hash_search: a hash that begins with zeros");
  example.options()
      .add_option("--zeros", zeros, "Hex digits")
      ->check(CLI::Range(1, 7));
  return example.Main(argc, argv, [&](const holdfast::Session& session) {
    return holdfast::Run(session, zeros);
  });
}
