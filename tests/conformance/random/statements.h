// SPDX-License-Identifier: Apache-2.0
//
// The statements of random programs, by family; each function writes one.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_

#include <functional>
#include <string>

#include "tests/conformance/random/builder.h"

namespace holdfast::random_ptx {

// Values: an instruction of the forms table whose result has defined bits; a
// register's bits in one of another class, NaN in its canonical form.
void Compute(Builder& b);
void Convey(Builder& b);
// The text that leaves a floating point register's bits in `to`, an untyped
// register of the same width.
std::string Canonical(const std::string& from, Class of, const std::string& to);
uint64_t Canonical(uint64_t bits, Class of);

// Memory: loads of what nobody writes, loads, stores and atomic operations on
// what a thread has for itself, and sums of all threads.
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
void Leave(Builder& b, size_t label);  // some of the threads, for a label
void Exit(Builder& b);                 // some of the threads, for ever
// `callees`: numbers of functions that a call may reach.
void Call(Builder& b);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_STATEMENTS_H_
