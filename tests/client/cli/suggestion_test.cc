// SPDX-License-Identifier: Apache-2.0
#include "client/cli/suggestion.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

class SuggestionTest : public ::testing::Test {
 protected:
  SuggestionTest() : app_("test", "test") {
    app_.add_option("--address", address_);
    app_.add_subcommand("devices");
    CLI::App* cache = app_.add_subcommand("cache");
    cache->add_subcommand("clear");
    CLI::App* run = app_.add_subcommand("run");
    run->allow_extras();
    run->add_option("--grid", grid_);
    run->add_option("FILE", file_);
  }

  std::string address_, grid_, file_;
  CLI::App app_;
};

TEST_F(SuggestionTest, TheNearestCommandIsNamed) {
  EXPECT_EQ(AboutUnknownWord(app_, {"device"}),
            "there is no command \"device\"; did you mean devices?");
  EXPECT_EQ(AboutUnknownWord(app_, {"--address", "devics", "devcies"}),
            "there is no command \"devcies\"; did you mean devices?");
  EXPECT_EQ(AboutUnknownWord(app_, {"cache", "claer"}),
            "there is no command \"claer\"; did you mean clear?");
  EXPECT_EQ(AboutUnknownWord(app_, {"frobnicate"}),
            "there is no command \"frobnicate\"");
}

TEST_F(SuggestionTest, ACommandOfAGroupIsFound) {
  EXPECT_EQ(AboutUnknownWord(app_, {"clear"}),
            "there is no command \"clear\"; did you mean cache clear?");
  CLI::App* jobs = app_.add_subcommand("jobs");
  jobs->add_subcommand("clear");
  EXPECT_EQ(AboutUnknownWord(app_, {"clear"}),
            "there is no command \"clear\"; did you mean cache clear or jobs "
            "clear?");
}

TEST_F(SuggestionTest, CommandsOfOtherProgramsNameTheHoldfastOnes) {
  app_.add_subcommand("top");
  EXPECT_EQ(AboutUnknownWord(app_, {"stop"}),
            "there is no command \"stop\"; SIGTERM stops a daemon, and "
            "`systemctl stop holdfastd` the service");
  EXPECT_EQ(AboutUnknownWord(app_, {"status"}),
            "there is no command \"status\"; `holdfast version`, `holdfast "
            "devices` and `holdfast top` show the daemon");
  EXPECT_EQ(AboutUnknownWord(app_, {"start"}),
            "there is no command \"start\"; `holdfastd` starts a daemon");
}

TEST_F(SuggestionTest, TheNearestOptionIsNamed) {
  EXPECT_EQ(AboutUnknownWord(app_, {"run", "k.cu", "--gird=1"}),
            "there is no option \"--gird\"; did you mean --grid?");
  EXPECT_EQ(AboutUnknownWord(app_, {"--adress=x", "devices"}),
            "there is no option \"--adress\"; did you mean --address?");
}

TEST_F(SuggestionTest, AnOptionIsNotTheValueOfTheOneBefore) {
  EXPECT_EQ(AboutMissingValue(app_, {"run", "--grid", "--address", "x"}), "");
  app_.get_subcommand("run")->add_flag("--json");
  EXPECT_EQ(AboutMissingValue(app_, {"run", "--grid", "--json"}),
            "--grid needs a value, and --json is an option");
  EXPECT_EQ(AboutMissingValue(app_, {"run", "k.cu", "--grid"}),
            "--grid needs a value");
  EXPECT_EQ(AboutMissingValue(app_, {"run", "--grid=--json"}), "");
  EXPECT_EQ(AboutMissingValue(app_, {"run", "--grid", "-1", "--json"}), "");
  EXPECT_EQ(AboutMissingValue(app_, {"run", "--json", "--", "--grid"}), "");
}

TEST_F(SuggestionTest, OptionsThatAreNotForPeopleAreNotSuggested) {
  app_.add_flag("--internal")->group("");
  EXPECT_EQ(AboutUnknownWord(app_, {"--internol"}),
            "there is no option \"--internol\"");
}

TEST_F(SuggestionTest, WordsThatAreKnownOrOfTheCompilerAreLeftAlone) {
  EXPECT_EQ(AboutUnknownWord(app_, {"cache"}), "");
  EXPECT_EQ(AboutUnknownWord(app_, {"run", "devics", "--grid", "1"}), "");
  EXPECT_EQ(AboutUnknownWord(app_, {"run", "k.cu", "--fmad=false", "-DN"}), "");
  EXPECT_EQ(AboutUnknownWord(app_, {"run", "--", "--gird"}), "");
}

TEST_F(SuggestionTest, WordsCannotControlTheTerminal) {
  EXPECT_EQ(AboutUnknownWord(app_, {"\x1b[31m"}).find('\x1b'),
            std::string::npos);
}

}  // namespace
}  // namespace holdfast::cli
