// Keeps oneDNN, which Debian builds on OpenMP, from starting a thread per core.
#pragma once

namespace starling::net {

// From now on products asked for by the *calling thread* run in it alone (OpenMP keeps this setting
// per thread). The backend calls it for every thread that uses it. With a team of one no pool is
// ever started, so nothing is left that could spin.
void UseOneThread();

}  // namespace starling::net
