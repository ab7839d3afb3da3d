// SPDX-License-Identifier: Apache-2.0
//
// Options come from clients, the files that they could name are the server's.
// So only options that are known, and known to touch no file, are passed on;
// each is spelled one way for all back ends and rendered for the one that runs.
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto options, ParseOptions(words));
//   HOLDFAST_ASSIGN_OR_RETURN(auto flags,
//                             RenderOptions(options, Backend::kNvvm, target));
#ifndef HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
#define HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/compile/program.h"

namespace holdfast::compile {

inline constexpr size_t kMaxOptions = 256;
inline constexpr size_t kMaxOptionBytes = 4096;

enum class Backend { kNvrtc, kNvvm, kNvJitLink };

// "NVRTC", "libNVVM", "nvJitLink".
absl::string_view BackendName(Backend backend);

// The kind of value that an option takes.
enum class Value {
  kNone,
  kBool,     // true, false, 1, 0
  kOn,       // on, off
  kNumber,   // digits
  kThreads,  // digits, at most kMaxThreads; 0 would be all processors
  kLevel,    // 0, 3
  kText,
  kPtxas,  // options of ptxas that touch no file, with commas between them
};

inline constexpr int kMaxThreads = 16;

// One option, and the flag that it is for each back end; empty: the back end
// cannot honour it.
struct OptionSpec {
  absl::string_view name;     // "--fmad"
  absl::string_view aliases;  // "-fmad -fma"
  Value value;
  absl::string_view nvrtc;      // "--fmad"
  absl::string_view nvvm;       // "-fma"
  absl::string_view nvjitlink;  // "-fma"
  bool lto_only = false;  // nvJitLink honours it only when it links LTO IR
  // The compiler keeps it: later programs of the same process may be compiled
  // with it, too.
  bool leaves_state = false;

  absl::string_view flag(Backend backend) const;
};

// Every option that is passed on, sorted by name.
absl::Span<const OptionSpec> OptionTable();

// An option of a client; `value` as it was written.
struct Option {
  const OptionSpec* spec = nullptr;
  std::string value;
  std::string text;  // as it was written, for messages
};

// INVALID_ARGUMENT names the first option that is refused, and why: it names a
// file or directory, belongs elsewhere (the architecture), is malformed, or is
// not known. Options that take a value may have it in the same word
// ("--maxrregcount=32", "-DN=4") or in the next ("-D", "N=4").
absl::StatusOr<std::vector<Option>> ParseOptions(
    absl::Span<const std::string> words);

// True if a process that has compiled with these options must compile nothing
// after it.
bool LeavesState(absl::Span<const Option> options);

// The flags of one back end. INVALID_ARGUMENT names an option that it cannot
// honour, at all or for this target. `lto`: nvJitLink links LTO IR.
absl::StatusOr<std::vector<std::string>> RenderOptions(
    absl::Span<const Option> options, Backend backend, ObjectFormat target,
    bool lto = false);

// The name for a back end's arch flag, for `arch` in any of its spellings: a
// real architecture for cubins, a virtual one for PTX and LTO IR.
// INVALID_ARGUMENT: not an architecture.
absl::StatusOr<std::string> ArchitectureName(absl::string_view arch,
                                             ObjectFormat target);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
