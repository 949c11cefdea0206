#include "net/two_nets.h"

#include <utility>

#include "core/check.h"

namespace starling::net {
namespace {

PartSpec ActorOf(PartSpec whole) {
  whole.value = false;
  return whole;
}

PartSpec CriticOf(PartSpec whole) {
  whole.policy.reset();
  whole.prefix = "critic.";
  return whole;
}

}  // namespace

template <class T>
TwoNets<T>::TwoNets(const PartSpec& whole, Backend<T>& backend, const Batch& batch)
    : actor_(ActorOf(whole), backend, batch), critic_(CriticOf(whole), backend, batch, &actor_) {
  for (const ParameterLayout* part : {&actor_.layout(), &critic_.layout()}) {
    for (const Parameter& parameter : part->parameters()) {
      layout_.Add(parameter.name, parameter.shape);
    }
  }
}

template <class T>
void TwoNets<T>::Forward(std::span<const T> parameters, const Block& block, int before) {
  CHECK(parameters.size() == layout_.size());
  actor_.Forward(OfActor(parameters), block, before);
  critic_.Forward(OfCritic(parameters), block, before);
}

template <class T>
void TwoNets<T>::Forward(std::span<const T> parameters, int step) {
  CHECK(parameters.size() == layout_.size());
  actor_.Forward(OfActor(parameters), step);
  critic_.Forward(OfCritic(parameters), step);
}

template <class T>
void TwoNets<T>::Carry(int step) {
  actor_.Carry(step);
  critic_.Carry(step);
}

template <class T>
std::vector<std::span<T>> TwoNets<T>::carried() {
  std::vector<std::span<T>> all = actor_.carried();
  for (const std::span<T> array : critic_.carried()) all.push_back(array);
  return all;
}

template <class T>
void TwoNets<T>::CarriedFields(StateBytes& state) {
  actor_.CarriedFields(state);
  critic_.CarriedFields(state);
}

template <class T>
void TwoNets<T>::Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                          std::span<const T> dvalues, std::span<T> gradient) {
  CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size());
  actor_.Backward(OfActor(parameters), steps, dlogits, {}, OfActor(gradient));
  critic_.Backward(OfCritic(parameters), steps, {}, dvalues, OfCritic(gradient));
}

template class TwoNets<float>;
template class TwoNets<double>;

}  // namespace starling::net
