// SPDX-License-Identifier: Apache-2.0
//
// Writes the text of a random program. Writer is implemented in several files:
// expressions.cc (values and places), statements.cc, functions.cc (functions
// and calls) and generator.cc (the program).
//
// Nothing depends on the order in which C evaluates operands: expressions have
// no side effects, and a call is a statement whose arguments are expressions.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_WRITER_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_WRITER_H_

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/random_c/program.h"
#include "tests/conformance/random_c/random.h"
#include "tests/conformance/random_c/types.h"

namespace holdfast::random_c {

// An object that an expression may name. `text` is the name, or "(*p)".
struct Variable {
  std::string text;
  Type type;
  bool writable = true;
  // False if the program may not take its address, such as a bit-field's.
  bool addressable = true;
  // A member of a union, whose bits can be read as another type.
  bool in_union = false;
};

struct Formal {
  enum class Pass { kValue, kPointer, kConstPointer };
  Type type;
  Pass pass = Pass::kValue;
};

// Functions of one signature, which a table may hold. A recursive group has a
// first argument of its own, the depth.
struct Group {
  std::vector<std::string> functions;
  Type result;
  std::vector<Formal> formals;
  bool recursive = false;
  std::string constant_table;  // its name, if there is one
  double cost = 0;             // statements of one call, at most
};

class Writer {
 public:
  Writer(uint64_t seed, Program* program);

  void Write();

 private:
  // expressions.cc
  std::string Expression(Scalar scalar, int depth);
  std::string Leaf(Scalar scalar);
  std::string Constant(Scalar scalar);
  std::string IntegerExpression(Scalar scalar, int depth);
  std::string FloatExpression(Scalar scalar, int depth);
  std::string Condition(int depth);
  std::string Converted(const Variable& place, Scalar to);
  // Returns an expression for an index below `extent`.
  std::string Index(size_t extent);
  // Returns a random scalar within the variable, at any depth.
  Variable ScalarIn(Variable variable);
  std::optional<Variable> AnyScalarPlace(bool writable);
  // Returns a random place of exactly this type; nullopt if there is none.
  std::optional<Variable> PlaceOf(const Type& type, bool writable,
                                  bool addressable);
  void FindPlaces(const Variable& variable, const Type& type,
                  std::vector<Variable>* found);

  // statements.cc
  void Statements(size_t count, int depth);
  void Statement(int depth);
  void Assign();
  void CopyRecord();
  void Declare();
  void If(int depth);
  void Loop(int depth);
  void WalkArray();
  void Switch(int depth);
  void Atomic();
  void Leave();
  // Emits `text`, the statements of `inner` in a scope of their own, and `end`.
  void Nest(const std::string& text, const std::string& end, int rounds,
            const std::function<void()>& inner);
  void Emit(const std::string& text, bool removable = true);
  std::string NewName(const char* letter);
  void AddLocal(const Type& type);
  std::string Initial(const Type& type);

  // functions.cc
  Type AnyValueType(bool small);
  void WriteGroup(bool recursive);
  void WriteFunction(const Group& group, size_t at);
  void WriteTable(Group* group);
  std::string SignatureOf(const Group& group, const std::string& name,
                          bool names) const;
  bool Call(const Group& group, const std::string& depth);
  void CallAny();
  std::string TargetOf(const Group& group);
  std::optional<std::string> Argument(const Formal& formal);
  bool CanCall(const Group& group) const;

  // generator.cc
  void WriteRecords();
  void WriteFill(const Record& record);
  void WriteHash(const Record& record);
  void WriteConstants();
  void WriteKernel();
  void WriteHost();
  std::string KernelFormals(bool names) const;

  Random random_;
  Program& program_;
  std::deque<Record> records_;
  std::vector<Group> groups_;
  std::vector<Variable> globals_;

  // Of the kernel.
  struct Passed {
    Type type;
    bool buffer = false;  // of so many
    size_t count = 1;
    bool result = false;
    const char* element = nullptr;  // of a buffer of numbers
  };
  std::vector<Passed> passed_;

  // Of the function that is being written.
  std::vector<Variable> scope_;
  std::deque<Node>* nodes_ = nullptr;
  bool in_kernel_ = false;
  const Group* own_group_ = nullptr;
  int own_calls_ = 0;  // of a recursive function, to its own group
  std::optional<Type> result_;
  int loops_ = 0;  // around the statement
  std::vector<std::string> labels_;
  double cost_ = 0, rounds_ = 1, most_ = 0;
  size_t names_ = 0;
  int indices_ = 0;  // around the index that is being written
};

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_WRITER_H_
