#include "net/cpu/gemm.h"

#include <dnnl.h>

#include "core/check.h"
#include "net/cpu/one_thread.h"

namespace starling::net::cpu {

void Gemm(Order a_order, Order b_order, int m, int n, int k, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc) {
  [[maybe_unused]] static thread_local const bool one_thread = (UseOneThread(), true);
  const auto letter = [](Order order) { return order == Order::kTransposed ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a_order), letter(b_order), m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc);
  CHECK(status == dnnl_success, "dnnl_sgemm of {} x {} x {}: status {}", m, n, k,
        static_cast<int>(status));
}

}  // namespace starling::net::cpu
