// The ops above a net, on the host: the defaults of net/backend.h.
#include <vector>

#include "net/backend.h"
#include "net/norm.h"

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
void Backend<T>::AddBootstrap(int n, double gamma, const std::uint8_t* ends, std::uint8_t truncated,
                              const T* values, T* rewards) {
  for (int i = 0; i < n; ++i) {
    if (ends[i] == truncated) rewards[i] += static_cast<T>(gamma) * values[i];
  }
}

template <class T>
void Backend<T>::Advantages(const UnrollShape& shape, const T* rewards,
                            const std::uint8_t* terminals, const T* values, const T* bootstrap,
                            T* advantages, T* returns) {
  const std::size_t envs = shape.envs, n = shape.steps * envs;
  GeneralisedAdvantages<T>(shape.steps, shape.envs, {rewards, n}, {terminals, n}, {values, n},
                           {bootstrap, envs}, shape.gamma, shape.lambda, {advantages, n},
                           {returns, n});
}

template <class T>
void Backend<T>::Loss(int n, int actions, const T* logits, const T* values,
                      const std::int32_t* taken, const T* advantages, const T* returns,
                      const LossWeights* weights, T* dlogits, T* dvalues, LossReport* report) {
  const std::size_t rows = n, size = rows * actions;
  *report = ActorCriticLoss<T>(n, actions, {logits, size}, {values, rows}, {taken, rows},
                               {advantages, rows}, {returns, rows}, *weights, {dlogits, size},
                               {dvalues, rows});
}

template <class T>
void Backend<T>::ClipByGlobalNorm(std::size_t size, double max_norm, T* gradient, double* norm) {
  *norm = net::ClipByGlobalNorm(std::span(gradient, size), max_norm);
}

template class Backend<float>;
template class Backend<double>;

}  // namespace starling::net
