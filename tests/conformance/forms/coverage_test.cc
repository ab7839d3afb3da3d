// SPDX-License-Identifier: Apache-2.0
//
// The README says what the table of forms and the goldens say.
#include "tests/conformance/forms/coverage.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/software/ptx/forms.h"
#include "gtest/gtest.h"
#include "tests/conformance/forms/spellings.h"

namespace holdfast::forms {
namespace {

TEST(Coverage, TheReadmeHasTheTable) {
  std::ifstream file(getenv("HOLDFAST_SOFTWARE_README"));
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const Goldens goldens = ReadGoldens(getenv("HOLDFAST_FORMS_GOLDENS"));
  ASSERT_NE(readme, "");
  EXPECT_EQ(WithCoverage(readme, CoverageTable(goldens)), readme)
      << "rewrite it: bazel run //tests/conformance/forms:write_coverage";
}

// An instruction that no list of spellings names would pass all tests.
TEST(Coverage, EveryOpcodeIsTriedButThoseThatEndAKernel) {
  std::set<std::string> tried = {"brkpt", "trap"};
  for (const std::string& spelling : TriedSpellings()) {
    tried.insert(spelling.substr(0, spelling.find('.')));
  }
  for (const software::ptx::Form& form : software::ptx::AllForms()) {
    const std::string opcode(software::ptx::SpellingOf(form.opcode));
    EXPECT_TRUE(tried.contains(opcode)) << opcode << ": see spellings.cc";
  }
}

TEST(Coverage, ATextWithoutMarkersIsLeftAlone) {
  EXPECT_EQ(WithCoverage("# Nothing to replace\n", "table"), "");
}

}  // namespace
}  // namespace holdfast::forms
