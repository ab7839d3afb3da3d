// SPDX-License-Identifier: Apache-2.0
//
// Writes the statements of random programs, by family. Each function writes one
// statement.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_

#include <functional>
#include <string>

#include "tests/conformance/random/builder.h"

namespace holdfast::random_ptx {

// Values. Compute writes an instruction of the forms table whose result has
// defined bits. Convey copies the bits of a floating-point register, with NaN
// in its canonical form, to an untyped register, or back.
void Compute(Builder& b);
void Convey(Builder& b);
// Returns the PTX that copies the canonical bits of the floating-point register
// `from`, of class `of`, to `to`, an untyped register of the same width. The
// second function computes the same.
std::string Canonical(const std::string& from, Class of, const std::string& to);
uint64_t Canonical(uint64_t bits, Class of);

// Memory: loads of bytes that no thread writes; loads, stores and atomic
// operations on the thread's own bytes; sums over all threads.
void Load(Builder& b);
void Store(Builder& b);
void Atomic(Builder& b);
void Sum(Builder& b);

// Warps and blocks.
void WarpOperation(Builder& b);
void Exchange(Builder& b);  // through shared memory, between barriers
void BarrierReduction(Builder& b);

// Control flow around statements that `inner` writes.
using Inner = std::function<void(Builder&)>;
void If(Builder& b, const Inner& inner);
void Loop(Builder& b, const Inner& inner);
void Switch(Builder& b, const Inner& inner);
// Branches in all directions among a few pieces of code, as long as a
// thread's fuel lasts.
void Maze(Builder& b, const Inner& inner);
void Leave(Builder& b, size_t label);  // some of the threads branch to a label
void Exit(Builder& b);                 // some of the threads end
// Calls one of the functions behind this one in the program, so that calls end.
// Writes nothing if there are fewer than two.
void Call(Builder& b);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_
