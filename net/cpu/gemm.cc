#include "net/cpu/gemm.h"

#include <dnnl.h>

#include "core/check.h"
#include "net/cpu/one_thread.h"

namespace starling::net::cpu {

void Gemm(const Product<float>& p) {
  [[maybe_unused]] static thread_local const bool one_thread = (UseOneThread(), true);
  const int a_width = p.a_transposed ? p.rows : p.depth;
  const int b_width = p.b_transposed ? p.depth : p.columns;
  const dnnl_status_t status = dnnl_sgemm(
      p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.depth, 1.0f, p.a,
      a_width, p.b, b_width, p.put == Put::kAdd ? 1.0f : 0.0f, p.c, p.columns);
  CHECK(status == dnnl_success, "dnnl_sgemm of {} x {} x {}: status {}", p.rows, p.columns, p.depth,
        static_cast<int>(status));
}

}  // namespace starling::net::cpu
