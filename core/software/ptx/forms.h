// SPDX-License-Identifier: Apache-2.0
//
// The table of instruction forms that the parser accepts. The coverage table in
// core/software/README.md and the tests also use this table.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_FORMS_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_FORMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/software/ptx/types.h"

namespace holdfast::software::ptx {

enum class Opcode : uint8_t {
#define HOLDFAST_PTX_OPCODE(name, spelling) name,
#include "core/software/ptx/opcodes.inc"
#undef HOLDFAST_PTX_OPCODE
};

// Returns the opcode's name in the text, without modifiers: "add".
absl::string_view SpellingOf(Opcode opcode);

// Returns the number of parts into which a video instruction divides its
// operands: 1 for vadd, 2 for vadd2, 4 for vadd4, and so on; 0 for other
// opcodes.
int VideoParts(Opcode opcode);

// The modifiers after an opcode, in a form that lowering can query.
struct Modifiers {
  Type types[4] = {};
  uint8_t type_count = 0;
  std::vector<Modifier> words;  // in the order of the form's pattern

  // Returns true if the text has the word; false for an omitted default.
  bool Has(Modifier word) const;
  // Returns the first of `words` that lies in [first, last] of the
  // enumeration; nullopt if there is none.
  std::optional<Modifier> In(Modifier first, Modifier last) const;
  // Returns the number of moved elements: 2, 4 or 8 with .v2, .v4 or .v8,
  // otherwise 1.
  size_t Elements() const;
};

// One line of the table, for instance
//   add, "{rn|rz|rm|rp}?.ftz?.sat?.f32", "daa"
//
// `pattern` has the words that may follow the opcode. Braces enclose
// alternatives, `?` follows an optional part, and <name> stands for a class of
// types or words (see forms.cc).
//
// `operands` has one letter for each operand: d destination, a source, u source
// that is never a predicate, y source that may be a predicate, p source
// predicate, q destination predicate, m memory, l label, i integer constant. A
// `?` before a letter makes the operand optional.
struct Form {
  Opcode opcode;
  absl::string_view pattern;
  absl::string_view operands;
};

// Returns all forms. The result and pointers to forms are valid as long as the
// process.
absl::Span<const Form> AllForms();

// Returns the form whose pattern matches exactly these words; null if there is
// none. `words` are the dot-words after the opcode, without dots. As in ptxas,
// the order of the words is free, except that words of the instruction's name
// come first, and types and spaces keep their order. For example, CUB's
// vote.ballot.sync.b32 is vote.sync.ballot.b32. Sets *modifiers to the words in
// the order of the pattern.
const Form* MatchForm(absl::string_view opcode,
                      absl::Span<const absl::string_view> words,
                      Modifiers* modifiers);

// Returns true if a form has this opcode.
bool IsOpcode(absl::string_view word);

// Returns all spellings of a form, such as {"add.f32", "add.rn.f32", ...}.
std::vector<std::string> Spellings(const Form& form);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_FORMS_H_
