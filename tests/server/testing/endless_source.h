// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_TESTING_ENDLESS_SOURCE_H_
#define HOLDFAST_TESTS_SERVER_TESTING_ENDLESS_SOURCE_H_

namespace holdfast {

// A source whose compilation never ends, though its templates stay below the
// compiler's limit of depth.
inline constexpr char kEndlessSource[] = R"(
template <unsigned long N, unsigned long M> struct F {
  static constexpr unsigned long value =
      F<N - 1, M>::value + F<N - 1, M + (1ul << N)>::value;
};
template <unsigned long M> struct F<0, M> {
  static constexpr unsigned long value = M;
};
__global__ void f(unsigned long* x) { *x = F<60, 0>::value; })";

}  // namespace holdfast

#endif  // HOLDFAST_TESTS_SERVER_TESTING_ENDLESS_SOURCE_H_
