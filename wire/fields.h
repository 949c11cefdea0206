// The second frame: the body of a message as a MessagePack map, and the keys of every body. Part of
// the codec: other files include wire/codec.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "wire/protocol.h"

namespace starling::wire {

// CHECKs the limits of protocol.h, but shortens the text of a Leave to its limit.
std::string PackFields(const Body& body);

// Sets `body` to a body of `kind`. Returns false unless the bytes are exactly one map with every
// key of this kind once, of the right type and within its limits. Ignores unknown keys. Never
// throws. REQUIRES: bytes.size() <= kMaxFieldsBytes.
bool UnpackFields(Kind kind, std::span<const std::byte> bytes, Body& body);

// ---- the keys, for packing, unpacking and counting: Visit calls visit(key, member) or
// visit(key, member, limit) for each

// T is Struct or const Struct.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

// The items of lists, as arrays of their members.
auto Members(Is<Episode> auto& episode) { return std::tie(episode.episode_return, episode.length); }
auto Members(Is<Grant> auto& grant) {
  return std::tie(grant.number, grant.version, grant.use, grant.acting);
}
auto Members(Is<GradientOutcome> auto& one) {
  return std::tie(one.gradient, one.outcome, one.staleness);
}
auto Members(Is<NamedShape> auto& tensor) { return std::tie(tensor.name, tensor.shape); }
auto Members(Is<ShardAddress> auto& shard) { return std::tie(shard.endpoint, shard.snapshot); }
auto Members(Is<ApplyUpdate::Item> auto& item) {
  return std::tie(item.slot, item.incarnation, item.gradient, item.weight, item.sums,
                  item.staleness);
}

void Visit(auto& visit, Is<Hello> auto& hello) {
  visit("slot", hello.slot);
  visit("host", hello.host, kMaxTextBytes);
  visit("pid", hello.pid);
  visit("fresh", hello.fresh);
}
void Visit(auto& visit, Is<Welcome> auto& welcome) {
  visit("config", welcome.config, kMaxConfigBytes);
  visit("snapshot", welcome.snapshot, kMaxTextBytes);
  visit("beacon", welcome.beacon, kMaxTextBytes);
  visit("buffers", welcome.buffers, kMaxTextBytes);
  visit("shards", welcome.shards, kMaxShardsNamed);
  visit("life", welcome.life);
  visit("state", welcome.state);
  visit("tensors", welcome.tensors, kMaxTensors);
}
void Visit(auto& visit, Is<Gradient> auto& gradient) {
  visit("grant", gradient.grant);
  visit("buffer", gradient.buffer);
  visit("weights", gradient.weights);
  visit("samples", gradient.samples);
  visit("use", gradient.use);
  visit("played", gradient.played);
  visit("norm", gradient.norm);
  visit("ploss", gradient.policy_loss);
  visit("vloss", gradient.value_loss);
  visit("entropy", gradient.entropy);
  visit("kl", gradient.kl);
  visit("clipped", gradient.clipped);
  visit("wait_us", gradient.wait_us);
  visit("refresh_us", gradient.refresh_us);
  visit("act_us", gradient.act_us);
  visit("act_wait_us", gradient.act_wait_us);
  visit("grad_us", gradient.gradient_us);
  visit("push_us", gradient.push_us);
  visit("episodes", gradient.episodes, kMaxEpisodes);
  visit("before", gradient.episodes_before);
  visit("cut", gradient.episodes_cut);
  visit("replaced", gradient.envs_replaced);
}
void Visit(auto& visit, Is<Answer> auto& answer) {
  visit("outcomes", answer.outcomes, kMaxOutcomes);
  visit("grants", answer.grants, kMaxGrants);
  visit("cut", answer.cut);
  visit("weights", answer.weights);
}
void Visit(auto&, Is<Heartbeat> auto&) {}
void Visit(auto& visit, Is<Fetch> auto& fetch) { visit("version", fetch.version); }
void Visit(auto& visit, Is<Weights> auto& weights) {
  visit("steps", weights.steps);
  visit("entropy", weights.entropy);
}
void Visit(auto& visit, Is<Leave> auto& leave) {
  visit("reason", leave.reason, kLeaveReasons);
  visit("text", leave.text, kMaxTextBytes);
}
void Visit(auto& visit, Is<GradientSlice> auto& slice) { visit("gradient", slice.gradient); }
void Visit(auto& visit, Is<ShardHello> auto& hello) {
  visit("shard", hello.shard);
  visit("pid", hello.pid);
}
void Visit(auto& visit, Is<ShardWelcome> auto& welcome) {
  visit("checkpoint", welcome.checkpoint, kMaxTextBytes);
  visit("endpoint", welcome.endpoint, kMaxTextBytes);
  visit("snapshot", welcome.snapshot, kMaxTextBytes);
  visit("local_key", welcome.local_key, kMaxTextBytes);
}
void Visit(auto& visit, Is<ShardReady> auto& ready) {
  visit("endpoint", ready.address.endpoint, kMaxTextBytes);
  visit("snapshot", ready.address.snapshot, kMaxTextBytes);
}
void Visit(auto& visit, Is<SliceHeld> auto& held) {
  visit("gradient", held.gradient);
  visit("norm", held.norm);
  visit("key", held.key, kMaxTextBytes);
}
void Visit(auto& visit, Is<DiscardSlice> auto& discard) { visit("gradient", discard.gradient); }
void Visit(auto& visit, Is<ApplyUpdate> auto& update) {
  visit("items", update.items, kMaxUpdateItems);
  visit("lr", update.lr);
  visit("scale", update.scale);
  visit("samples", update.samples);
  visit("step", update.optimizer_step);
  visit("steps", update.steps);
  visit("entropy", update.entropy);
  visit("checkpoint", update.checkpoint);
  visit("more", update.more);
}
void Visit(auto&, Is<ShardApplied> auto&) {}
void Visit(auto& visit, Is<ShardSaved> auto& saved) { visit("error", saved.error, kMaxTextBytes); }
void Visit(auto&, Is<ReloadKeys> auto&) {}
void Visit(auto& visit, Is<FetchState> auto& fetch) { visit("offset", fetch.offset); }
void Visit(auto& visit, Is<State> auto& state) {
  visit("offset", state.offset);
  visit("total", state.total);
  visit("bytes", state.bytes, kMaxStatePart);
}
void Visit(auto& visit, Is<Acted> auto& acted) {
  visit("grant", acted.grant);
  visit("weights", acted.weights);
}

}  // namespace starling::wire
