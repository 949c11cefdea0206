#include "net/cpu/gemm_bf16.h"

#include <algorithm>

#include "net/cpu/one_thread.h"

namespace starling::net::cpu {

void Bf16Gemm::operator()(Order a_order, Order b_order, int m, int n, int k, const Bfloat16* a,
                          const Bfloat16* b, float* c) {
  [[maybe_unused]] static thread_local const bool one_thread = (UseOneThread(), true);
  Product& product = Find(a_order, b_order, m, n, k);
  product.arguments[DNNL_ARG_SRC].set_data_handle(const_cast<Bfloat16*>(a));
  product.arguments[DNNL_ARG_WEIGHTS].set_data_handle(const_cast<Bfloat16*>(b));
  product.arguments[DNNL_ARG_DST].set_data_handle(c);
  product.primitive.execute(stream_, product.arguments);
}

Bf16Gemm::Product& Bf16Gemm::Find(Order a_order, Order b_order, int m, int n, int k) {
  const auto found = std::ranges::find_if(products_, [&](const Product& p) {
    return p.a_order == a_order && p.b_order == b_order && p.m == m && p.n == n && p.k == k;
  });
  return found != products_.end() ? *found
                                  : products_.emplace_back(Make(a_order, b_order, m, n, k));
}

Bf16Gemm::Product Bf16Gemm::Make(Order a_order, Order b_order, int m, int n, int k) const {
  using dnnl::memory;
  const auto stored = [](Order order) {
    return order == Order::kTransposed ? memory::format_tag::ba : memory::format_tag::ab;
  };
  const memory::desc a({m, k}, memory::data_type::bf16, stored(a_order));
  const memory::desc b({k, n}, memory::data_type::bf16, stored(b_order));
  const memory::desc c({m, n}, memory::data_type::f32, memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // allocated here and once
  const dnnl::matmul::primitive_desc plan({a, b, c}, attributes, engine_);
  return {a_order,
          b_order,
          m,
          n,
          k,
          dnnl::matmul(plan),
          {{DNNL_ARG_SRC, memory(a, engine_, nullptr)},
           {DNNL_ARG_WEIGHTS, memory(b, engine_, nullptr)},
           {DNNL_ARG_DST, memory(c, engine_, nullptr)},
           {DNNL_ARG_SCRATCHPAD, memory(plan.scratchpad_desc(), engine_)}}};
}

}  // namespace starling::net::cpu
