// SPDX-License-Identifier: Apache-2.0
//
// Branches, calls and ends: where a thread went is told by what it counted.
#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

Operation Way(const std::string& code,
              const std::function<uint64_t(const Sources&)>& value) {
  Operation operation;
  operation.results = {"u32"};
  operation.sources = {"count", "pred"};
  operation.code = code;
  operation.compute = [value](const Sources& in) {
    return Results{value(in) & 0xFFFFFFFF};
  };
  return operation;
}

std::vector<Operation> Branches(const Words& words) {
  // As many rounds as a number of the block, or of the thread.
  const bool uniform = words.Has("uni");
  const std::string rounds =
      uniform ? "mov.u32 %t1, 5;\n" : "and.b32 %t1, S0, 7;\n";
  auto count = [uniform](const Sources& in) { return uniform ? 5 : in[0] & 7; };
  std::vector<Operation> list = {
      Way("mov.u32 D0, S0;\n$ Over;\nadd.u32 D0, D0, 1;\nOver:\n",
          [](const Sources& in) { return in[0]; }),
      Way(rounds + "mov.u32 D0, 0;\nAgain:\nadd.u32 D0, D0, S0;\n"
                   "setp.ne.u32 %q0, %t1, 0;\nsub.u32 %t1, %t1, 1;\n@%q0 $ "
                   "Again;\n",
          [count](const Sources& in) { return in[0] * (count(in) + 1); })};
  if (uniform) return list;
  list.push_back(Way(
      "mov.u32 D0, 1;\n@S1 $ Left;\nadd.u32 D0, S0, 2;\n$ Met;\nLeft:\n"
      "add.u32 D0, S0, 3;\n@!S1 $ Left;\nMet:\nadd.u32 D0, D0, D0;\n",
      [](const Sources& in) { return 2 * (in[0] + (in[1] != 0 ? 3 : 2)); }));
  // Out of two loops at once, and into the second half of an if.
  list.push_back(
      Way("and.b32 %t1, S0, 15;\nmov.u32 D0, 0;\nOuter:\nmov.u32 %t2, 0;\n"
          "Inner:\nadd.u32 D0, D0, 1;\nsetp.eq.u32 %q0, D0, %t1;\n@%q0 $ "
          "Out;\nadd.u32 %t2, %t2, 1;\nsetp.lt.u32 %q0, %t2, 3;\n@%q0 $ "
          "Inner;\nsetp.lt.u32 %q0, D0, 12;\n@%q0 $ Outer;\nOut:\n",
          [](const Sources& in) {
            const uint64_t limit = in[0] & 15;
            return limit == 0 || limit > 12 ? 12 : limit;
          }));
  return list;
}

std::vector<Operation> Tables(const Words& words) {
  const bool uniform = words.Has("uni");
  return {Way(std::string(uniform ? "and.b32 %t1, %size, 3;\n"
                                  : "and.b32 %t1, S0, 3;\n") +
                  "mov.u32 D0, 0;\nPlaces: .branchtargets A, B, C, B;\n"
                  "$ %t1, Places;\nA:\nadd.u32 D0, D0, 1;\nB:\n"
                  "add.u32 D0, D0, 10;\nbra Met;\nC:\nadd.u32 D0, D0, 100;\n"
                  "Met:\n",
              [uniform](const Sources& in) -> uint64_t {
                const uint64_t place = uniform ? 0 : in[0] & 3;
                return place == 0 ? 11 : place == 2 ? 100 : 10;
              })};
}

constexpr char kFunctions[] = R"(
.func (.param .b32 result) scaled(.param .b32 a, .param .b32 b)
{
.reg .b32 %a, %b;
ld.param.b32 %a, [a];
ld.param.b32 %b, [b];
mad.lo.u32 %a, %a, 3, %b;
st.param.b32 [result], %a;
ret.uni;
}
.func (.param .b32 result) least(.param .b32 a, .param .b32 b)
{
.reg .b32 %a, %b;
.reg .pred %p;
ld.param.b32 %a, [a];
ld.param.b32 %b, [b];
st.param.b32 [result], %a;
setp.le.u32 %p, %a, %b;
@%p ret;
st.param.b32 [result], %b;
ret;
}
.func (.param .b32 result) triangle(.param .b32 a, .param .b32 b)
{
.reg .b32 %a, %b, %r;
.reg .pred %p;
ld.param.b32 %a, [a];
ld.param.b32 %b, [b];
st.param.b32 [result], %b;
setp.eq.u32 %p, %a, 0;
@%p ret;
sub.u32 %r, %a, 1;
{
.param .b32 first;
.param .b32 second;
.param .b32 given;
st.param.b32 [first], %r;
st.param.b32 [second], %b;
call.uni (given), triangle, (first, second);
ld.param.b32 %r, [given];
}
add.u32 %r, %r, %a;
st.param.b32 [result], %r;
ret;
}
.global .align 8 .u64 functions[2] = {scaled, least};
)";

uint64_t Scaled(uint64_t a, uint64_t b) { return a * 3 + b; }
uint64_t Least(uint64_t a, uint64_t b) { return a <= b ? a : b; }
uint64_t Triangle(uint64_t a, uint64_t b) { return a * (a + 1) / 2 + b; }

// The callee and what else stands before the call; S0 and %t1 go in.
Operation Call(const std::string& before, const std::string& callee,
               const std::string& after,
               const std::function<uint64_t(const Sources&)>& value) {
  Operation operation =
      Way(before +
              ".param .b32 first;\n.param .b32 second;\n.param .b32 given;\n"
              "st.param.b32 [first], %t1;\nst.param.b32 [second], 20;\n"
              "$ (given), " +
              callee + ", (first, second)" + after +
              ";\nld.param.b32 D0, [given];\n",
          value);
  operation.declarations = kFunctions;
  return operation;
}

std::vector<Operation> Calls(const Words& words) {
  const bool uniform = words.Has("uni");
  const std::string take = "and.b32 %t1, S0, 31;\n";
  auto taken = [](const Sources& in) { return in[0] & 31; };
  const std::string number =
      uniform ? "mov.u32 %t2, 1;\n" : "selp.u32 %t2, 1, 0, S1;\n";
  return {
      Call(take, "scaled", "",
           [=](const Sources& in) { return Scaled(taken(in), 20); }),
      Call(take, "least", "",
           [=](const Sources& in) { return Least(taken(in), 20); }),
      // Not deeper than a GPU's stack.
      Call("and.b32 %t1, S0, 7;\n", "triangle", "",
           [=](const Sources& in) { return Triangle(in[0] & 7, 20); }),
      // Through a register.
      Call(take + number +
               "mov.u64 %u0, functions;\nmad.wide.u32 %u0, %t2, 8, %u0;\n"
               "ld.global.u64 %u1, [%u0];\nShape: .callprototype (.param .b32 "
               "_) _ (.param .b32 _, .param .b32 _);\n",
           "%u1", ", Shape", [=](const Sources& in) {
             return uniform || in[1] != 0 ? Least(taken(in), 20)
                                          : Scaled(taken(in), 20);
           })};
}

// Some threads write no result and are gone; the others go on.
std::vector<Operation> Ends(const Words& words) {
  Operation some = Way(
      "mov.u32 D0, S0;\n@S1 $;\nadd.u32 D0, D0, 1;\n",
      [](const Sources& in) -> uint64_t { return in[1] != 0 ? 0 : in[0] + 1; });
  Operation all = Way("st.global.u32 [%out], S0;\n$;\nmov.u32 D0, 1;\n",
                      [](const Sources& in) -> uint64_t { return in[0]; });
  some.alone = all.alone = true;
  if (words.Has("uni")) return {all};
  return {some, all};
}

}  // namespace

std::vector<Operation> DescribeFlow(const Words& words) {
  const std::string& opcode = words.opcode();
  if (opcode == "bra") return Branches(words);
  if (opcode == "brx") return Tables(words);
  if (opcode == "call") return Calls(words);
  if (opcode == "ret" || opcode == "exit") return Ends(words);
  return {};
}

}  // namespace holdfast::forms
