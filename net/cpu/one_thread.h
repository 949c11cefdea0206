// Prevents oneDNN, which Debian builds on OpenMP, from starting one thread per core.
#pragma once

namespace starling::net {

// From now on products of the *calling thread* run on it alone; OpenMP keeps this setting per
// thread. The products call it once on each thread that uses them. A team of one never starts a
// thread pool, so no idle thread spins.
void UseOneThread();

}  // namespace starling::net
