// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion/scripts.h"

namespace holdfast::cli {
namespace {

// bash makes a word of its own of the "=" in --device=1.
constexpr absl::string_view kBash = R"script(# Completion of holdfast for bash.
_holdfast() {
  local line current=${COMP_WORDS[COMP_CWORD]} files= programs=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=yes
    elif [[ $line == :programs ]]; then
      programs=yes
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done < <(holdfast __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
  if [[ -n $files ]]; then
    [[ $current != "=" ]] || current=
    while IFS= read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
  if [[ -n $programs ]]; then
    while IFS= read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen -c -- "$current" | sort -u)
  fi
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _holdfast holdfast
)script";

constexpr absl::string_view kZsh = R"script(#compdef holdfast
# Completion of holdfast for zsh.
_holdfast() {
  local line files programs word text
  local -a found
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=yes
      continue
    elif [[ $line == :programs ]]; then
      programs=yes
      continue
    fi
    word=${line%%$'\t'*}
    text=
    [[ $line != *$'\t'* ]] || text=:${line#*$'\t'}
    found+=("${word//:/\\:}$text")
  done < <(holdfast __complete "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)
  (( ${#found} )) && _describe -V holdfast found
  [[ -z $programs ]] || _command_names -e
  [[ -z $files ]] || _files
}
if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
)script";

constexpr absl::string_view kFish = R"script(# Completion of holdfast for fish.
function __holdfast_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l current (commandline -ct)
  for line in (holdfast __complete $words "$current" 2>/dev/null </dev/null)
    if test "$line" = :files
      __fish_complete_path "$current"
    else if test "$line" = :programs
      __fish_complete_command
    else
      printf '%s\n' "$line"
    end
  end
end
complete -c holdfast -f -a '(__holdfast_complete)'
)script";

}  // namespace

absl::string_view CompletionScript(absl::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : "";
}

}  // namespace holdfast::cli
