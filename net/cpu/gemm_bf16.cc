#include "net/cpu/gemm_bf16.h"

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "net/cpu/one_thread.h"

namespace starling::net::cpu {

class Bf16Gemm::Products {
 public:
  struct Shape {
    Order a_order, b_order;
    int m, n, k;
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  struct Product {
    Shape shape;
    dnnl::matmul primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  void Run(const Shape& shape, const Bfloat16* a, const Bfloat16* b, float* c) {
    const auto found = std::ranges::find(all_, shape, &Product::shape);
    Product& product = found != all_.end() ? *found : all_.emplace_back(Make(shape));
    product.arguments[DNNL_ARG_SRC].set_data_handle(const_cast<Bfloat16*>(a));
    product.arguments[DNNL_ARG_WEIGHTS].set_data_handle(const_cast<Bfloat16*>(b));
    product.arguments[DNNL_ARG_DST].set_data_handle(c);
    product.primitive.execute(stream_, product.arguments);
  }

 private:
  Product Make(const Shape& shape) const {
    using dnnl::memory;
    const auto stored = [](Order order) {
      return order == Order::kTransposed ? memory::format_tag::ba : memory::format_tag::ab;
    };
    const auto [a_order, b_order, m, n, k] = shape;
    const memory::desc a({m, k}, memory::data_type::bf16, stored(a_order));
    const memory::desc b({k, n}, memory::data_type::bf16, stored(b_order));
    const memory::desc c({m, n}, memory::data_type::f32, memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // allocated here, once
    const dnnl::matmul::primitive_desc plan({a, b, c}, attributes, engine_);
    return {shape,
            dnnl::matmul(plan),
            {{DNNL_ARG_SRC, memory(a, engine_, nullptr)},
             {DNNL_ARG_WEIGHTS, memory(b, engine_, nullptr)},
             {DNNL_ARG_DST, memory(c, engine_, nullptr)},
             {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad_desc(), engine_)}}};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Product> all_;
};

Bf16Gemm::Bf16Gemm() : products_(std::make_unique<Products>()) {}
Bf16Gemm::~Bf16Gemm() = default;

void Bf16Gemm::Multiply(Order a_order, Order b_order, int m, int n, int k, const Bfloat16* a,
                        const Bfloat16* b, float* c) {
  [[maybe_unused]] static thread_local const bool one_thread = (UseOneThread(), true);
  products_->Run({a_order, b_order, m, n, k}, a, b, c);
}

}  // namespace starling::net::cpu
