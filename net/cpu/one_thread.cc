#include "net/cpu/one_thread.h"

#include <omp.h>

namespace starling::net {

void UseOneThread() {
  omp_set_dynamic(0);
  omp_set_num_threads(1);
}

}  // namespace starling::net
