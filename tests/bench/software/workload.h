// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_BENCH_SOFTWARE_WORKLOAD_H_
#define HOLDFAST_TESTS_BENCH_SOFTWARE_WORKLOAD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

// One line of the table: the same work on the software driver and natively.
class Workload {
 public:
  virtual ~Workload() = default;
  // Both run the work once, to its end, from the same inputs.
  virtual void RunDevice() = 0;
  virtual void RunNative() = 0;
  // Did both come to the same?
  virtual bool Equal() = 0;
  // The same by OpenCL; false where the kernel or the machine has none.
  virtual bool RunOpenCl() { return false; }
  virtual bool OpenClEqual() { return true; }
};

struct WorkloadEntry {
  std::string name;
  double bar;  // device / native must not exceed it
  // `tiny`: as little work as makes the kernels run.
  std::function<std::unique_ptr<Workload>(bool tiny)> make;
};

const std::vector<WorkloadEntry>& Workloads();

// part(begin, end) on as many threads as the driver uses, in equal parts of
// whole multiples of `grain`.
void InParallel(int begin, int end, int grain,
                const std::function<void(int, int)>& part);
int Threads();

}  // namespace holdfast::bench

#endif  // HOLDFAST_TESTS_BENCH_SOFTWARE_WORKLOAD_H_
