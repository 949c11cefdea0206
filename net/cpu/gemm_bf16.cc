#include "net/cpu/gemm_bf16.h"

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "core/check.h"
#include "net/cpu/one_thread.h"

namespace starling::net::cpu {

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
  [[maybe_unused]] static thread_local const bool one_thread = (UseOneThread(), true);
  CHECK(product.put == Put::kReplace);
  kernels_->Run(product);
}

}  // namespace starling::net::cpu
