// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/driver_api.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace holdfast::cuda {
namespace {

struct Symbol {
  absl::string_view name;
  int since;
};

constexpr Symbol kSymbols[] = {
#define HOLDFAST_DRIVER_REQUIRED(name, since) {#name, since},
#define HOLDFAST_DRIVER_OPTIONAL(name, since) {#name, since},
#include "core/cuda/driver_symbols.inc"
};

// nullptr if the driver does not have it.
void* Find(decltype(&::cuGetProcAddress) get, const char* name, int since) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult found{};
  const CUresult result =
      get(name, &address, since, CU_GET_PROC_ADDRESS_DEFAULT, &found);
  return result == CUDA_SUCCESS ? address : nullptr;
}

absl::Status MissingRequired(const DriverApi& api,
                             const std::vector<Symbol>& missing) {
  std::vector<absl::string_view> names;
  int needed = 0;
  for (const Symbol& symbol : missing) {
    names.push_back(symbol.name);
    needed = std::max(needed, symbol.since);
  }
  return absl::UnimplementedError(
      absl::StrCat("the driver lacks ", absl::StrJoin(names, ", "),
                   "; needs driver ", DriverVersionString(needed), ", found ",
                   DriverVersionString(api.version)));
}

}  // namespace

absl::StatusOr<DriverApi> DriverApi::Resolve(
    decltype(&::cuGetProcAddress) get) {
  DriverApi api;
  std::vector<Symbol> missing;
  const auto fill = [&](auto& pointer, const char* name, int since) {
    pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(
        Find(get, name, since));
    return pointer != nullptr;
  };
#define HOLDFAST_DRIVER_REQUIRED(name, since) \
  if (!fill(api.name, #name, since)) missing.push_back({#name, since});
#define HOLDFAST_DRIVER_OPTIONAL(name, since) fill(api.name, #name, since);
#include "core/cuda/driver_symbols.inc"
  if (api.cuDriverGetVersion != nullptr) api.cuDriverGetVersion(&api.version);
  if (!missing.empty()) return MissingRequired(api, missing);
  return api;
}

std::string DriverVersionString(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status MissingCall(const DriverApi& api, absl::string_view name) {
  for (const Symbol& symbol : kSymbols) {
    if (symbol.name != name) continue;
    return absl::UnimplementedError(
        absl::StrCat(name, " needs driver ", DriverVersionString(symbol.since),
                     ", found ", DriverVersionString(api.version),
                     api.version >= symbol.since ? ", which lacks it" : ""));
  }
  return absl::UnimplementedError(
      absl::StrCat(name, " is not in the table of driver calls"));
}

}  // namespace holdfast::cuda
