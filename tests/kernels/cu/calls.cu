// SPDX-License-Identifier: Apache-2.0
struct Particle {
  double mass;
  float position[3];
  char kind;
  short charge;
};

extern "C" __global__ void struct_by_value(Particle p, const int3 shift,
                                           double* out) {
  out[0] = p.mass;
  for (int i = 0; i < 3; ++i) {
    out[1 + i] = p.position[i] + (&shift.x)[i];
  }
  out[4] = p.kind;
  out[5] = p.charge;
}

extern "C" __global__ void dynamic_shared(const int* in, int* out) {
  extern __shared__ int words[];
  __shared__ int fixed[4];
  const int t = threadIdx.x;
  if (t < 4) fixed[t] = t * 1000;
  words[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  out[blockIdx.x * blockDim.x + t] = words[blockDim.x - 1 - t] + fixed[t & 3];
}

// Lists made on the device's heap.
struct Node {
  int value;
  Node* next;
};

extern "C" __global__ void device_lists(int* out) {
  Node* head = nullptr;
  for (int i = 0; i < 4 + threadIdx.x % 3; ++i) {
    Node* node = (Node*)malloc(sizeof(Node));
    node->value = i * threadIdx.x;
    node->next = head;
    head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    Node* next = head->next;
    sum = sum * 3 + head->value;
    free(head);
    head = next;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void print(int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    printf("thread %d: %5.2f %s %llx%%\n", t, t * 0.5, t % 2 ? "odd" : "even",
           (1ull << 40) + t);
  }
}

extern "C" __global__ void checked(const int* in, int limit) {
  assert(in[threadIdx.x] < limit);
}
