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
  // Returns true if both runs had the same results.
  virtual bool Equal() = 0;
  // The same by OpenCL. RunOpenCl returns false if the kernel or the machine
  // has none.
  virtual bool RunOpenCl() { return false; }
  virtual bool OpenClEqual() { return true; }
};

struct WorkloadEntry {
  std::string name;
  double bar;  // the limit of device time / native time
  // `tiny`: the least work for which the kernels run.
  std::function<std::unique_ptr<Workload>(bool tiny)> make;
};

const std::vector<WorkloadEntry>& Workloads();

// Calls part(begin, end) on as many threads as the driver uses, with equal
// parts that are multiples of `grain`.
void InParallel(int begin, int end, int grain,
                const std::function<void(int, int)>& part);
int Threads();

}  // namespace holdfast::bench

#endif  // HOLDFAST_TESTS_BENCH_SOFTWARE_WORKLOAD_H_
