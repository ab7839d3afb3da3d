// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpan[] = "00f067aa0ba902b7";

std::string Header(const std::string& version, const std::string& trace,
                   const std::string& span, const std::string& flags) {
  return version + "-" + trace + "-" + span + "-" + flags;
}

TEST(TraceContextTest, ReadsTraceAndSpan) {
  const LogFields fields = ParseTraceParent(Header("00", kTrace, kSpan, "01"));
  EXPECT_EQ(fields.trace_id, kTrace);
  EXPECT_EQ(fields.span_id, kSpan);
}

TEST(TraceContextTest, ReadsLaterVersionsWithMoreAtTheEnd) {
  EXPECT_EQ(ParseTraceParent(Header("01", kTrace, kSpan, "01")).trace_id,
            kTrace);
  EXPECT_EQ(ParseTraceParent(Header("01", kTrace, kSpan, "01-more")).trace_id,
            kTrace);
}

TEST(TraceContextTest, IgnoresWhatIsNoTrace) {
  const std::string zeros(32, '0');
  for (const std::string& value : {
           std::string(),
           std::string("00"),
           Header("ff", kTrace, kSpan, "01"),
           Header("0g", kTrace, kSpan, "01"),
           Header("00", zeros, kSpan, "01"),
           Header("00", kTrace, zeros.substr(16), "01"),
           Header("00", "4BF92F3577B34DA6A3CE929D0E0E4736", kSpan, "01"),
           Header("00", "\"},{\"a\":\"b77b34da6a3ce929d0e0e47", kSpan, "01"),
           Header("00", kTrace, kSpan, "01-more"),
           Header("01", kTrace, kSpan, "01more"),
           Header("00", kTrace, kSpan, "0"),
           Header("00", kTrace, kSpan, "0x"),
           std::string(10000, '-'),
       }) {
    const LogFields fields = ParseTraceParent(value);
    EXPECT_EQ(fields.trace_id, "") << value;
    EXPECT_EQ(fields.span_id, "") << value;
  }
}

}  // namespace
}  // namespace holdfast
