// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores, atomic operations and addresses: each thread has 16 bytes of
// its own in global, shared and local memory (program.cc) and looks at what
// they hold behind the instruction.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

// Where the thread's bytes are: registers with an address in the space, and
// with a generic one.
struct Place {
  const char* space;    // "": generic
  const char* address;  // a register
};

std::vector<Place> PlacesOf(const Words& words) {
  for (const char* space : {"global", "local"}) {
    if (words.Has(space)) return {{space, space}};
  }
  if (words.Has("shared") || words.Has("shared::cta")) {
    return {{"shared", "shared"}};
  }
  return {{"", "gglobal"}, {"", "gshared"}, {"", "glocal"}};
}

std::string Dotted(const Place& place) {
  return *place.space == '\0' ? "" : std::string(".") + place.space;
}

std::string At(const Place& place, int offset) {
  return std::string("[%") + place.address + "+" + std::to_string(offset) + "]";
}

Kind RegisterFor(const Kind& element) {
  return BitsOf(element) <= 32 ? "b32" : "b64";
}

size_t CountOf(const Words& words) {
  return words.Has("v2") ? 2 : words.Has("v4") ? 4 : 1;
}

std::string List(char letter, size_t count) {
  if (count == 1) return std::string(1, letter) + "0";
  std::string list = "{";
  for (size_t i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ", ") + (letter + std::to_string(i));
  }
  return list + "}";
}

std::string PolicyOf(const Words& words) {
  return words.Has("L2::cache_hint")
             ? "createpolicy.fractional.L2::evict_last.b64 %u0;\n"
             : "";
}

std::string HintOf(const Words& words) {
  return words.Has("L2::cache_hint") ? ", %u0" : "";
}

// Out of the 16 bytes in two sources.
Operation Load(const Words& words, const Place& place) {
  const Kind element = words.Type();
  const size_t count = CountOf(words);
  // The kernel's own stores must not be read this way.
  const bool constant = words.Has("nc") || words.opcode() == "ldu";
  Operation operation;
  operation.sources = {"b64", "b64"};
  operation.results.assign(count, RegisterFor(element));
  const std::string store = "st" + Dotted(place) + ".b64 ";
  if (!constant) {
    operation.code =
        store + At(place, 0) + ", S0;\n" + store + At(place, 8) + ", S1;\n";
  }
  operation.code += PolicyOf(words) + "$ " + List('D', count) + ", " +
                    (constant ? "[%in]" : At(place, 0)) + HintOf(words) + ";\n";
  operation.compute = [=](const Sources& in) {
    const size_t bytes = static_cast<size_t>(BitsOf(element)) / 8;
    Results out = {};
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = 0;
      memcpy(&bits, reinterpret_cast<const char*>(in.data()) + i * bytes,
             bytes);
      out[i] = Truncate(RegisterFor(element), ToInteger(element, bits));
    }
    return out;
  };
  return operation;
}

constexpr uint64_t kFill = 0xA5A5A5A5A5A5A5A5;

// Over a pattern; all 16 bytes are looked at.
Operation Store(const Words& words, const Place& place) {
  const Kind element = words.Type();
  const size_t count = CountOf(words);
  Operation operation;
  operation.sources.assign(count, RegisterFor(element));
  operation.results = {"b64", "b64"};
  const std::string store = "st" + Dotted(place) + ".b64 ";
  const std::string load = "ld" + Dotted(place) + ".b64 ";
  operation.code = store + At(place, 0) + ", %fill;\n" + store + At(place, 8) +
                   ", %fill;\n" + PolicyOf(words) + "$ " + At(place, 0) + ", " +
                   List('S', count) + HintOf(words) + ";\n" + load + "D0, " +
                   At(place, 0) + ";\n" + load + "D1, " + At(place, 8) + ";\n";
  operation.compute = [=](const Sources& in) {
    const size_t bytes = static_cast<size_t>(BitsOf(element)) / 8;
    Results out = {kFill, kFill};
    for (size_t i = 0; i < count; ++i) {
      memcpy(reinterpret_cast<char*>(out.data()) + i * bytes, &in[i], bytes);
    }
    return out;
  };
  return operation;
}

using Combine = std::function<uint64_t(const Sources&)>;

// The memory after the operation, from the memory before it and the operands.
Combine CombineOf(const Words& words) {
  const Kind kind = words.Type();
  const std::string name = words.OneOf(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  if (IsFloat(kind) || !HalfOf(kind).empty()) {
    const auto sum = Describe("add.rn." + kind)[0].compute;
    return [sum](const Sources& in) { return sum(in)[0]; };
  }
  static const auto& functions =
      *new std::map<std::string, __int128 (*)(__int128, __int128, __int128)>{
          {"add", [](__int128 a, __int128 b, __int128) { return a + b; }},
          {"min",
           [](__int128 a, __int128 b, __int128) { return a < b ? a : b; }},
          {"max",
           [](__int128 a, __int128 b, __int128) { return a < b ? b : a; }},
          {"inc", [](__int128 a, __int128 b,
                     __int128) { return a >= b ? __int128{0} : a + 1; }},
          {"dec", [](__int128 a, __int128 b,
                     __int128) { return a == 0 || a > b ? b : a - 1; }},
          {"and", [](__int128 a, __int128 b, __int128) { return a & b; }},
          {"or", [](__int128 a, __int128 b, __int128) { return a | b; }},
          {"xor", [](__int128 a, __int128 b, __int128) { return a ^ b; }},
          {"exch", [](__int128, __int128 b, __int128) { return b; }},
          {"cas",
           [](__int128 a, __int128 b, __int128 c) { return a == b ? c : a; }}};
  const auto found = functions.find(name);
  if (found == functions.end()) return nullptr;
  return [kind, function = found->second](const Sources& in) {
    return Truncate(kind,
                    function(ToInteger(kind, in[0]), ToInteger(kind, in[1]),
                             ToInteger(kind, in[2])));
  };
}

// Gives what was there and what is there now; red the latter alone.
std::optional<Operation> Atomic(const Words& words, const Place& place) {
  const Kind kind = words.Type();
  const Combine combine = CombineOf(words);
  if (combine == nullptr || CountOf(words) > 1) return {};
  const bool gives = words.opcode() == "atom", swaps = words.Has("cas");
  const std::string bits = std::to_string(BitsOf(kind));
  Operation operation;
  operation.sources.assign(swaps ? 3 : 2, kind);
  operation.results.assign(gives ? 2 : 1, kind);
  operation.code = "st" + Dotted(place) + ".b" + bits + " " + At(place, 0) +
                   ", S0;\n" + PolicyOf(words) + "$ " + (gives ? "D0, " : "") +
                   At(place, 0) + ", S1" + (swaps ? ", S2" : "") +
                   HintOf(words) + ";\nld" + Dotted(place) + ".b" + bits +
                   (gives ? " D1, " : " D0, ") + At(place, 0) + ";\n";
  operation.compute = [=](const Sources& in) {
    const uint64_t now = combine(in);
    return gives ? Results{in[0], now} : Results{now};
  };
  // Memory other than shared may flush what is subnormal.
  if (kind == "f32" && std::string(place.space) != "shared") {
    operation.open = [combine](const Sources& in) {
      return IsSubnormal("f32", in[0]) || IsSubnormal("f32", in[1]) ||
             IsSubnormal("f32", combine(in));
    };
  }
  return operation;
}

constexpr char kConstant[] = ".const .align 8 .u64 constant = 77;\n";

// %u0: generic, of something that the module has there.
std::string AddressIn(const std::string& space) {
  const std::string name = space == "const" ? "constant" : "p_count";
  return "mov.b64 %u0, " + name + ";\ncvta." + space + ".u64 %u0, %u0;\n";
}

// Is a generic address one of the space?
std::vector<Operation> InSpace(const Words& words) {
  std::vector<Operation> list;
  for (const char* place : {"global", "shared", "local"}) {
    Operation operation;
    operation.sources = {"u32"};
    operation.results = {"pred"};
    operation.code = std::string("$ D0, %g") + place + ";\n";
    const bool holds =
        words.Has(place) ||
        (std::string(place) == "shared" &&
         (words.Has("shared::cta") || words.Has("shared::cluster")));
    operation.compute = [=](const Sources&) { return Results{holds}; };
    list.push_back(operation);
  }
  for (const char* space : {"const", "param"}) {
    Operation operation;
    operation.sources = {"u32"};
    operation.results = {"pred"};
    operation.code = AddressIn(space) + "$ D0, %u0;\n";
    operation.declarations = kConstant;
    // Parameters of kernels lie in the global window.
    const bool holds =
        words.Has(space) ||
        (space[0] == 'p' && (words.Has("param::entry") || words.Has("global")));
    operation.compute = [=](const Sources&) { return Results{holds}; };
    list.push_back(operation);
  }
  return list;
}

// Loads of memory that cannot be written.
std::vector<Operation> ConvertedConstant(bool to) {
  Operation operation;
  operation.sources = {"b32"};
  operation.results = {"u64"};
  operation.code =
      to ? AddressIn("const") + "$ %u0, %u0;\nld.const.u64 D0, [%u0];\n"
         : "mov.u64 %u0, constant;\n$ %u0, %u0;\nld.u64 D0, "
           "[%u0];\n";
  operation.declarations = kConstant;
  operation.compute = [](const Sources&) { return Results{77}; };
  return {operation};
}

// A number stored by one kind of address and loaded by the other.
std::vector<Operation> Converted(const Words& words) {
  const std::string space = words.OneOf({"global", "shared", "local"});
  const bool to = words.Has("to");
  if (words.Has("const")) return ConvertedConstant(to);
  if (space.empty() || words.Type() != "u64") return {};
  Operation operation;
  operation.sources = {"b32"};
  operation.results = {"b32"};
  operation.code = (to ? "st.u32 [%g" : "st." + space + ".u32 [%") + space +
                   "], S0;\n$ %other, %" + (to ? "g" : "") + space + ";\nld" +
                   (to ? "." + space : "") + ".u32 D0, [%other];\n";
  operation.compute = [](const Sources& in) { return Results{in[0]}; };
  return {operation};
}

}  // namespace

namespace {

// A block is the only one of its cluster. 32 bits hold no generic address.
std::vector<Operation> OfCluster(const Words& words) {
  const bool narrow = words.Has("u32"), maps = words.opcode() == "mapa";
  const bool window = words.Has("shared::cluster");
  if (narrow && !window) return {};
  const std::string from = narrow ? "%t0" : window ? "%shared" : "%gshared";
  Operation operation;
  operation.sources = {"u32"};
  operation.results = {"u32"};
  operation.code = "st.shared.u32 [%shared], S0;\ncvt.u32.u64 %t0, %shared;\n";
  if (maps) {
    const std::string to = narrow ? "%t1" : "%u0";
    operation.code += "$ " + to + ", " + from + ", 0;\nld" +
                      (window ? ".shared::cluster" : "") + ".u32 D0, [" + to +
                      "];\n";
  } else {
    operation.code += "$ D0, " + from + ";\n";
  }
  operation.compute = [maps](const Sources& in) {
    return Results{maps ? in[0] : 0};
  };
  return {operation};
}

// A thread waits at a barrier of its own for what it has stored. 16 bytes have
// no place beside the barrier.
std::vector<Operation> Async(const Words& words) {
  const Kind type = words.Type();
  const bool pair = words.Has("v2"), adds = words.opcode() == "red";
  const int bytes = BitsOf(type) / 8 * (pair ? 2 : 1);
  if (bytes > 8 || words.Has("v4")) return {};
  const std::string address =
      words.Has("shared::cluster") ? "%shared" : "%gshared";
  const std::string size = std::to_string(bytes);
  Operation operation;
  operation.sources = {type, type};
  operation.results = {type};
  if (pair) operation.results.push_back(type);
  operation.code =
      "mbarrier.init.shared.b64 [%shared+8], 1;\n"
      "mbarrier.expect_tx.relaxed.cta.shared.b64 [%shared+8], " +
      size + ";\nmbarrier.arrive.shared.b64 %u0, [%shared+8];\n" +
      (adds ? "st.shared." + type + " [%shared], S0;\n" : "") + "$ [" +
      address + "], " +
      (adds   ? "S1"
       : pair ? "{S0, S1}"
              : "S0") +
      ", [" + address +
      "+8];\nAgain:\nmbarrier.try_wait.shared.b64 %q0, [%shared+8], %u0;\n"
      "@!%q0 bra Again;\nmbarrier.inval.shared.b64 [%shared+8];\nld.shared." +
      (pair ? "v2." + type + " {D0, D1}" : type + " D0") + ", [%shared];\n";
  if (adds) {
    const Combine combine = CombineOf(words);
    operation.compute = [combine](const Sources& in) {
      return Results{combine(in)};
    };
  } else {
    operation.compute = [](const Sources& in) { return Results{in[0], in[1]}; };
  }
  return {operation};
}

}  // namespace

std::vector<Operation> DescribeMemory(const Words& words) {
  const std::string& opcode = words.opcode();
  if (words.Has("async") && (opcode == "st" || opcode == "red")) {
    return Async(words);
  }
  if (opcode == "mapa" || opcode == "getctarank") return OfCluster(words);
  if (opcode == "isspacep") return InSpace(words);
  if (opcode == "cvta") return Converted(words);
  std::vector<Operation> list;
  for (const Place& place : PlacesOf(words)) {
    if (opcode == "ld" || opcode == "ldu") {
      list.push_back(Load(words, place));
    } else if (opcode == "st") {
      list.push_back(Store(words, place));
    } else if (opcode == "atom" || opcode == "red") {
      // There is nobody else to whom local memory could be atomic.
      if (std::string(place.address) == "glocal") continue;
      if (auto operation = Atomic(words, place)) list.push_back(*operation);
    }
    if (opcode == "ldu" || words.Has("nc")) break;
  }
  return list;
}

}  // namespace holdfast::forms
