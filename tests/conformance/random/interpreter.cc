// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random/interpreter.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast::random_ptx {
namespace {

using Kind = Instruction::Kind;

constexpr size_t kMostSteps = 20'000'000;

class Interpreter {
 public:
  explicit Interpreter(const Program& program) : program_(program) {
    result_.memory = program.initial;
    for (const Function& function : program.functions) {
      auto& labels = labels_.emplace_back();
      for (size_t i = 0; i < function.code.size(); ++i) {
        const Instruction& one = function.code[i];
        if (one.kind == Kind::kLabel) labels[one.label] = i;
      }
    }
  }

  Interpretation Run() {
    for (uint32_t block = 0; block < program_.blocks && Good(); ++block) {
      RunBlock(block);
    }
    return std::move(result_);
  }

 private:
  bool Good() const { return result_.invalid.empty() && !result_.open; }

  Frame FrameOf(const Function& function) const {
    Frame frame;
    frame.function = &function;
    frame.registers.assign(function.registers.size(), 0);
    return frame;
  }

  size_t IndexOf(const Function& function) const {
    return static_cast<size_t>(&function - program_.functions.data());
  }

  void RunBlock(uint32_t block) {
    std::vector<uint8_t> slots(program_.threads * kSlotBytes);
    std::array<uint32_t, kSums> sums;
    sums.fill(kFirstSum);
    std::vector<Thread> threads(program_.threads);
    for (uint32_t i = 0; i < threads.size(); ++i) {
      threads[i] = {
          block,           i,      i % 32, block * program_.threads + i,
          &result_.memory, &slots, &sums,  {}};
      threads[i].frames.push_back(FrameOf(program_.functions[0]));
    }
    bool going = true;
    while (going && Good()) {
      going = false;
      for (Thread& thread : threads) {
        if (Good()) going |= RunUntilItWaits(thread);
      }
      going |= Gather(threads);
    }
    const bool all = std::all_of(threads.begin(), threads.end(),
                                 [](const Thread& t) { return t.ended(); });
    if (Good() && !all) result_.invalid = "threads wait for each other";
  }

  static const Instruction& Next(const Thread& thread) {
    const Frame& frame = thread.frames.back();
    return frame.function->code[frame.next];
  }

  // False if it did nothing.
  bool RunUntilItWaits(Thread& thread) {
    bool moved = false;
    while (!thread.ended() && Good()) {
      const Instruction& next = Next(thread);
      if (next.kind == Kind::kWarp || next.kind == Kind::kBlock) break;
      if (++steps_ > kMostSteps) result_.invalid = "too many steps";
      Step(thread, next);
      moved = true;
    }
    return moved;
  }

  void Step(Thread& thread, const Instruction& one) {
    Frame& frame = thread.frames.back();
    const size_t at = frame.next++;
    if (one.guard && (thread[*one.guard] != 0) == one.unless) return;
    switch (one.kind) {
      case Kind::kBranch:
        frame.next = labels_[IndexOf(*frame.function)].at(one.target(thread));
        break;
      case Kind::kCall:
        Call(thread, one);
        break;
      case Kind::kReturn:
        Return(thread, one);
        break;
      case Kind::kPlain:
        if (one.act) one.act(thread);
        if (std::exchange(undefined, false)) {
          result_.open = {IndexOf(*frame.function), at};
        }
        break;
      default:
        break;
    }
  }

  void Call(Thread& thread, const Instruction& one) {
    Frame frame = FrameOf(program_.functions[one.callee(thread)]);
    for (size_t i = 0; i < one.arguments.size(); ++i) {
      frame.registers[i] = thread[one.arguments[i]];
    }
    thread.frames.push_back(std::move(frame));
  }

  static void Return(Thread& thread, const Instruction& one) {
    const uint64_t result = thread[one.result];
    thread.frames.pop_back();
    if (thread.ended()) return;
    const Frame& caller = thread.frames.back();
    const Instruction& call = caller.function->code[caller.next - 1];
    thread[call.result] = result;
  }

  // Lets those go on who wait for nobody else. False: there are none.
  bool Gather(std::vector<Thread>& threads) {
    bool any = false;
    for (size_t first = 0; first < threads.size(); first += 32) {
      any |= GatherWarp(threads, first);
    }
    return any || GatherBlock(threads);
  }

  bool GatherWarp(std::vector<Thread>& threads, size_t first) {
    bool any = false;
    const size_t end = std::min(threads.size(), first + 32);
    for (size_t i = first; i < end; ++i) {
      if (threads[i].ended() || Next(threads[i]).kind != Kind::kWarp) continue;
      any |= RunTogether(threads, first, threads[i]);
    }
    return any;
  }

  bool RunTogether(std::vector<Thread>& threads, size_t first, Thread& one) {
    const Instruction& next = Next(one);
    const auto mask = static_cast<uint32_t>(one[next.mask]);
    std::vector<Thread*> members;
    for (size_t lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      if (first + lane >= threads.size()) return false;
      Thread& other = threads[first + lane];
      if (other.ended() || &Next(other) != &next || other[next.mask] != mask) {
        return false;
      }
      members.push_back(&other);
    }
    if ((mask >> one.lane & 1) == 0) return false;
    next.together(members);
    for (Thread* member : members) ++member->frames.back().next;
    return true;
  }

  static bool GatherBlock(std::vector<Thread>& threads) {
    std::vector<Thread*> members;
    for (Thread& thread : threads) {
      if (thread.ended()) continue;
      const Instruction& next = Next(thread);
      if (next.kind != Kind::kBlock) return false;
      if (!members.empty() && &Next(*members[0]) != &next) return false;
      members.push_back(&thread);
    }
    if (members.empty()) return false;
    if (Next(*members[0]).together) Next(*members[0]).together(members);
    for (Thread* member : members) ++member->frames.back().next;
    return true;
  }

  const Program& program_;
  std::vector<std::map<size_t, size_t>> labels_;  // by function
  Interpretation result_;
  size_t steps_ = 0;
};

}  // namespace

Interpretation Interpret(const Program& program) {
  return Interpreter(program).Run();
}

}  // namespace holdfast::random_ptx
