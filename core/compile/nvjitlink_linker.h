// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_COMPILE_NVJITLINK_LINKER_H_
#define HOLDFAST_CORE_COMPILE_NVJITLINK_LINKER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/compile/compile_options.h"
#include "core/compile/nvjitlink_api.h"
#include "core/compile/program.h"

namespace holdfast::compile {

// Links with nvJitLink: PTX, cubins, fatbins, LTO IR, objects and libraries to
// a cubin, or LTO IR to PTX or LTO IR. Not thread-safe: captures the process's
// stderr, because nvJitLink reports duplicate symbols only there. Use it in a
// separate process that ends after a failed link: in later links of the
// process, nvJitLink 13.0 treats undefined symbols as defined, or crashes.
class NvJitLinker {
 public:
  // `api` must outlive the linker.
  explicit NvJitLinker(const NvJitLinkApi& api) : api_(api) {}

  // Returns the library's version, "13.0".
  std::string version() const;

  // Returns the linked object. `options` replace source.options. Adds -lto if
  // an input is LTO IR. If the target is LTO IR, nvJitLink only checks that the
  // inputs link (symbols may be missing), and MakeLtoArchive joins them.
  // INVALID_ARGUMENT: an option is refused, an input is truncated or does not
  // have the stated format, or the inputs do not link (the ErrorDetail has the
  // whole log). UNIMPLEMENTED: these inputs cannot be linked to this target.
  absl::StatusOr<ObjectCode> Link(const LinkSource& source,
                                  absl::Span<const Option> options) const;

  // Checks one PTX module: compiles it without resolving its external symbols,
  // and drops the result. INVALID_ARGUMENT: the module does not compile (the
  // ErrorDetail has the whole log), or `arch` is not an architecture.
  absl::Status CheckPtx(const LinkInput& ptx, absl::string_view arch) const;

 private:
  const NvJitLinkApi& api_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVJITLINK_LINKER_H_
