// A stack of its own for the signal handlers of a thread.
#pragma once

#include <signal.h>

#include <cstddef>
#include <memory>

namespace starling {

// While it lives, handlers that were installed with SA_ONSTACK and interrupt the thread that made
// it run on this stack; the kernel puts the thread's registers there, too. For threads that run
// code which points the stack register elsewhere (net/cpu/gemm.h). Does nothing if the thread has
// such a stack already. REQUIRES: it is destroyed by the thread that made it.
class SignalStack {
 public:
  SignalStack() {
    if (sigaltstack(nullptr, &before_) != 0 || (before_.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    const stack_t stack{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
    if (sigaltstack(&stack, nullptr) != 0) memory_.reset();
  }
  ~SignalStack() {
    if (memory_) sigaltstack(&before_, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 64 << 10;  // with AMX the registers alone take 11 KB

  std::unique_ptr<std::byte[]> memory_{};
  stack_t before_{};
};

}  // namespace starling
