#include "net/cpu/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "core/signal_stack.h"

namespace starling::net::cpu {

void PrepareThread() {
  [[maybe_unused]] static thread_local const SignalStack signal_stack;
  omp_set_dynamic(0);
  omp_set_num_threads(1);
}

void Gemm(const Product<float>& p) {
  [[maybe_unused]] static thread_local const bool prepared = (PrepareThread(), true);
  const int a_width = p.a_transposed ? p.rows : p.depth;
  const int b_width = p.b_transposed ? p.depth : p.columns;
  const dnnl_status_t status = dnnl_sgemm(
      p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.depth, 1.0f, p.a,
      a_width, p.b, b_width, p.put == Put::kAdd ? 1.0f : 0.0f, p.c, p.columns);
  CHECK(status == dnnl_success, "dnnl_sgemm of {} x {} x {}: status {}", p.rows, p.columns, p.depth,
        static_cast<int>(status));
}

bool HasBf16Products() {
#ifdef STARLING_PORTABLE
  // Not by oneDNN, which would choose its instructions now (make_backend.cc).
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  // A bit set; the one of AMX contains this one.
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
#endif
}

class Bf16Gemm::Kernels {
 public:
  void Run(const Product<Bfloat16>& p) {
    const Shape shape{p.rows, p.depth, p.columns, p.a_transposed, p.b_transposed};
    const auto found = std::ranges::find(all_, shape, &Kernel::shape);
    Kernel& kernel = found != all_.end() ? *found : all_.emplace_back(Make(shape));
    kernel.arguments[DNNL_ARG_SRC].set_data_handle(const_cast<Bfloat16*>(p.a));
    kernel.arguments[DNNL_ARG_WEIGHTS].set_data_handle(const_cast<Bfloat16*>(p.b));
    kernel.arguments[DNNL_ARG_DST].set_data_handle(p.c);
    kernel.primitive.execute(stream_, kernel.arguments);
  }

 private:
  struct Shape {
    int rows, depth, columns;
    bool a_transposed, b_transposed;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  struct Kernel {
    Shape shape;
    dnnl::matmul primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  Kernel Make(const Shape& s) const {
    using dnnl::memory;
    const auto stored = [](bool transposed) {
      return transposed ? memory::format_tag::ba : memory::format_tag::ab;
    };
    const memory::desc a({s.rows, s.depth}, memory::data_type::bf16, stored(s.a_transposed));
    const memory::desc b({s.depth, s.columns}, memory::data_type::bf16, stored(s.b_transposed));
    const memory::desc c({s.rows, s.columns}, memory::data_type::f32, memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // allocated here, once
    const dnnl::matmul::primitive_desc plan({a, b, c}, attributes, engine_);
    return {s,
            dnnl::matmul(plan),
            {{DNNL_ARG_SRC, memory(a, engine_, nullptr)},
             {DNNL_ARG_WEIGHTS, memory(b, engine_, nullptr)},
             {DNNL_ARG_DST, memory(c, engine_, nullptr)},
             {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad_desc(), engine_)}}};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Kernel> all_;
};

Bf16Gemm::Bf16Gemm() : kernels_(std::make_unique<Kernels>()) {}
Bf16Gemm::~Bf16Gemm() = default;

void Bf16Gemm::Multiply(const Product<Bfloat16>& product) {
  [[maybe_unused]] static thread_local const bool prepared = (PrepareThread(), true);
  CHECK(product.put == Put::kReplace);
  kernels_->Run(product);
}

}  // namespace starling::net::cpu
