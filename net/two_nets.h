// A net whose critic is its own: two stacks of the same layers read the same observations; the
// policy head stands on one, the value head on the other.
//
// Thread safety: none.
#pragma once

#include <vector>

#include "net/part.h"

namespace starling::net {

template <class T>
class TwoNets final : public Model<T> {
 public:
  // `whole`: the net with both heads.
  TwoNets(const PartSpec& whole, Backend<T>& backend, const Batch& batch);

  const ParameterLayout& layout() const override { return layout_; }  // of the actor, the critic
  PolicyShape policy() const override { return actor_.policy(); }
  std::span<T> observations() override { return actor_.observations(); }
  std::span<std::uint8_t> resets() override { return actor_.resets(); }
  std::span<const T> logits() const override { return actor_.logits(); }
  std::span<const T> values() const override { return critic_.values(); }

  using Model<T>::Forward;
  void Forward(std::span<const T> parameters, const Block& block, int before) override;
  void Forward(std::span<const T> parameters, int step) override;
  void Carry(int step) override;
  std::vector<std::span<T>> carried() override;
  void CarriedFields(StateBytes& state) override;
  void Backward(std::span<const T> parameters, int steps, std::span<const T> dlogits,
                std::span<const T> dvalues, std::span<T> gradient) override;

 private:
  // The parts of a flat vector.
  template <class U>
  std::span<U> OfActor(std::span<U> all) const {
    return all.first(actor_.layout().size());
  }
  template <class U>
  std::span<U> OfCritic(std::span<U> all) const {
    return all.subspan(actor_.layout().size());
  }

  Part<T> actor_, critic_;
  ParameterLayout layout_;
};

}  // namespace starling::net
