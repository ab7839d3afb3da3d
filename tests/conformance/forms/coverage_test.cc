// SPDX-License-Identifier: Apache-2.0
//
// The README says what the table of forms and the goldens say.
#include "tests/conformance/forms/coverage.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/software/ptx/forms.h"
#include "gtest/gtest.h"
#include "tests/conformance/forms/spellings.h"

namespace holdfast::forms {
namespace {

// Returns the lines of `from` that `others` does not have, each after `mark`.
std::string LinesThatLack(const std::string& from, const std::string& others,
                          const char* mark) {
  const std::vector<std::string> have = absl::StrSplit(others, '\n');
  const std::set<std::string> known(have.begin(), have.end());
  std::string text;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(from, '\n'))) {
    if (!known.contains(line)) absl::StrAppend(&text, mark, line, "\n");
  }
  return text;
}

TEST(Coverage, TheReadmeHasTheTable) {
  std::ifstream file(getenv("HOLDFAST_SOFTWARE_README"));
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const Goldens goldens = ReadGoldens(getenv("HOLDFAST_FORMS_GOLDENS"));
  ASSERT_NE(readme, "");
  const std::string expected = WithCoverage(readme, CoverageTable(goldens));
  ASSERT_NE(expected, "") << "the README lacks the markers of the table";
  // Not EXPECT_EQ, which would print the whole README twice.
  EXPECT_TRUE(expected == readme)
      << "rewrite it: bazel run //tests/conformance/forms:write_coverage\n"
      << LinesThatLack(readme, expected, "- ")
      << LinesThatLack(expected, readme, "+ ");
}

// An instruction that no list of spellings names would pass all tests.
TEST(Coverage, EveryOpcodeIsTriedButThoseThatEndAKernel) {
  std::set<std::string> tried;
  for (const std::string& spelling : TriedSpellings()) {
    tried.insert(spelling.substr(0, spelling.find('.')));
  }
  for (const software::ptx::Form& form : software::ptx::AllForms()) {
    const std::string opcode(software::ptx::SpellingOf(form.opcode));
    EXPECT_NE(tried.contains(opcode), EndsKernel(form))
        << opcode << ": see spellings.cc";
  }
}

TEST(Coverage, ATextWithoutMarkersIsLeftAlone) {
  EXPECT_EQ(WithCoverage("# Nothing to replace\n", "table"), "");
}

}  // namespace
}  // namespace holdfast::forms
