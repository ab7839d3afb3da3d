// SPDX-License-Identifier: Apache-2.0
//
// Compiler options of clients. Some options of compilers name files, which
// would be files of the server, so only options that touch no file are passed
// to a compiler. Each option has one spelling for clients, and RenderOptions
// translates it for the back end: NVRTC, libNVVM or nvJitLink.
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

// Returns "NVRTC", "libNVVM" or "nvJitLink".
absl::string_view BackendName(Backend backend);

// The kind of value that an option takes.
enum class Value {
  kNone,
  kBool,     // true, false, 1, 0
  kOn,       // on, off
  kNumber,   // digits
  kThreads,  // digits, at most kMaxThreads; 0 means kMaxThreads
  kLevel,    // 0, 3
  kText,
  kPtxas,  // options of ptxas that touch no file, with commas between them
};

inline constexpr int kMaxThreads = 16;

// One option, and its flag for each back end. An empty flag means that the back
// end does not support the option.
struct OptionSpec {
  absl::string_view name;     // "--fmad"
  absl::string_view aliases;  // "-fmad -fma"; may be empty
  Value value;
  absl::string_view nvrtc;      // "--fmad"
  absl::string_view nvvm;       // "-fma"
  absl::string_view nvjitlink;  // "-fma"
  bool lto_only = false;  // nvJitLink honours it only when it links LTO IR
  // True if NVRTC may also compile later programs of the same process with this
  // option.
  bool leaves_state = false;

  // Returns the flag for `backend`; empty if it does not support the option.
  absl::string_view flag(Backend backend) const;
};

// Returns all options that clients may use, sorted by name.
absl::Span<const OptionSpec> OptionTable();

// An option that a client has given.
struct Option {
  const OptionSpec* spec = nullptr;
  std::string value;  // as the client wrote it; empty if the option takes none
  std::string text;   // the option as the client wrote it, for messages
};

// Parses the words of a client's options. A value may be in the same word as
// its option ("--maxrregcount=32", "-DN=4") or in the next word ("-D", "N=4").
// INVALID_ARGUMENT: an option is refused; the message names the first refused
// option and the reason. An option is refused if it names a file or directory,
// has a field of its own in the request (the architecture, the target), is
// malformed or is unknown. INVALID_ARGUMENT also: there are more than
// kMaxOptions words, or a word has more than kMaxOptionBytes bytes or a control
// character.
absl::StatusOr<std::vector<Option>> ParseOptions(
    absl::Span<const std::string> words);

// Returns true if an option leaves state in the compiler (see OptionSpec), so
// that the process must not compile anything afterwards.
bool LeavesState(absl::Span<const Option> options);

// Returns the words of the options for one back end. `lto` is true if the back
// end is nvJitLink and links LTO IR. INVALID_ARGUMENT: the back end does not
// support an option, or not for this target; the message names the option.
absl::StatusOr<std::vector<std::string>> RenderOptions(
    absl::Span<const Option> options, Backend backend, ObjectFormat target,
    bool lto = false);

// Returns the value of a back end's flag for the architecture `arch`, which is
// spelled "90", "sm_90", "compute_90" or "90a". The result is a real
// architecture ("sm_90") for cubins, and a virtual one ("compute_90") for other
// targets. INVALID_ARGUMENT: `arch` is not an architecture.
absl::StatusOr<std::string> ArchitectureName(absl::string_view arch,
                                             ObjectFormat target);

}  // namespace holdfast::compile

#endif  // HOLDFAST_CORE_COMPILE_COMPILE_OPTIONS_H_
