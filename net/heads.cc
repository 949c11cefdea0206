// Ops above a net, on the host: the defaults of net/backend.h.
#include <vector>

#include "net/backend.h"

namespace starling::net {

template <class T>
void Backend<T>::SampleActions(int n, int actions, const T* logits, RandomStream* streams,
                               std::int32_t* taken) {
  const std::size_t rows = n;
  std::vector<float> uniforms(rows);
  for (std::size_t i = 0; i < rows; ++i) uniforms[i] = streams[i].Uniform();
  net::SampleActions(n, actions, std::span(logits, rows * actions), uniforms, {taken, rows});
}

template <class T>
void Backend<T>::AddBootstrap(const AddBootstrapArgs<T>& args) {
  const T gamma = static_cast<T>(args.gamma);
  for (int i = 0; i < args.n; ++i) {
    if (args.ends[i] == args.truncated) args.rewards[i] += gamma * args.values[i];
  }
}

template <class T>
void Backend<T>::ClipByGlobalNorm(std::size_t size, double max_norm, T* gradient, double* norm) {
  *norm = net::ClipByGlobalNorm(std::span(gradient, size), max_norm);
}

template class Backend<float>;
template class Backend<double>;

}  // namespace starling::net
