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

// PTX, cubins, fatbins, LTO IR, objects and libraries to a cubin, or LTO IR to
// PTX or to LTO IR, with nvJitLink. Not thread-safe: it listens to the
// process's stderr, where nvJitLink reports symbols that are defined twice and
// nowhere else. Belongs in a process of its own, which must end after a
// failure: after one, nvJitLink 13.0 takes undefined symbols for defined ones,
// or crashes.
class NvJitLinker {
 public:
  // `api` must outlive the linker.
  explicit NvJitLinker(const NvJitLinkApi& api) : api_(api) {}

  // "13.0".
  std::string version() const;

  // `options` stand for source.options; LTO IR among the inputs is linked as
  // such without asking. To LTO IR: nvJitLink says whether it links (a symbol
  // may be missing still), and lto_archive makes it one. INVALID_ARGUMENT: an
  // option is refused, an input is truncated or not what it is said to be, or
  // they do not link (the ErrorDetail has the whole log). UNIMPLEMENTED: a
  // target that cannot be made of these inputs.
  absl::StatusOr<ObjectCode> Link(const LinkSource& source,
                                  absl::Span<const Option> options) const;

  // Compiles one PTX without resolving what it leaves to other modules.
  absl::Status CheckPtx(const LinkInput& ptx, absl::string_view arch) const;

 private:
  const NvJitLinkApi& api_;
};

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_NVJITLINK_LINKER_H_
