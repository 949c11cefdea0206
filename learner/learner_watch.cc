// The learner's other half: what it does because time has passed (the first grants, deadlines,
// silent members, reports) and what it does with checkpoints.
#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "learner/bulletin.h"
#include "learner/learner.h"
#include "learner/training_status.h"

namespace starling::learner {

namespace {

constexpr std::int64_t kReportMs = 200;    // between two status lines
constexpr std::int64_t kAloneMs = 10'000;  // between two complaints that nobody is there
constexpr std::size_t kRowsAtOnce = 256;   // actors in a status line

std::int64_t Ms(double seconds) { return static_cast<std::int64_t>(seconds * 1000.0); }

// In seconds; learner/status.h reads it.
nlohmann::ordered_json TimeRow(const WorkTimes& times, std::int64_t lanes_ns) {
  const auto of_us = [](std::uint64_t us) { return static_cast<double>(us) / 1e6; };
  const auto of_ns = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
  return {{"actors",
           {{"wait", of_us(times.wait_us)},
            {"refresh", of_us(times.refresh_us)},
            {"act", of_us(times.act_us)},
            {"gradient", of_us(times.gradient_us)},
            {"push", of_us(times.push_us)}}},
          {"learner",
           {{"receive", of_ns(times.receive_ns)},
            {"dispatch", of_ns(times.dispatch_ns)},
            {"idle", of_ns(times.idle_ns)},
            {"lanes", of_ns(lanes_ns)}}}};
}

}  // namespace

void Learner::WatchStart() {
  Judge& judge = pipeline_.judge();
  const std::int64_t now = clock_.NowMs();
  if (roster_.size() == 0 && now - last_alone_ms_ >= kAloneMs) {
    last_alone_ms_ = now;
    LogWarn("no actor is here; waiting for one on {}", socket_.endpoint());
  }
  if (judge.open()) return;
  const auto wanted = static_cast<std::size_t>(config_.updates.start_with);
  const bool late = now - started_ms_ >= Ms(config_.updates.start_timeout_s);
  if (roster_.size() >= wanted) {
    judge.Open();
  } else if (late && roster_.size() > 0) {
    LogWarn(
        "only {} of {} actors came within updates.start_timeout_s = {} s: going on with them; "
        "this run is not reproducible",
        roster_.size(), wanted, config_.updates.start_timeout_s);
    judge.Open();
  }
}

void Learner::WatchDeadlines() {
  const std::int64_t now = clock_.NowMs();
  std::vector<Grant> late;
  for (const Grant& grant : pipeline_.judge().state().outstanding) {
    const auto sent = granted_ms_.find(grant.number);
    if (sent != granted_ms_.end() && now - sent->second >= Ms(config_.staleness.deadline_s)) {
      late.push_back(grant);
    }
  }
  for (const Grant& grant : late) {
    pipeline_.judge().RevokeGrant(grant.slot, grant.number);
    granted_ms_.erase(grant.number);
    journal_.Append(LostRecord{grant.slot, grant.number, LostWhy::kDeadline});
    ++counters_.deadlines;
    LogWarn("actor {} did not spend its grant within staleness.deadline_s = {} s: going on without",
            grant.slot, config_.staleness.deadline_s);
  }
}

void Learner::WatchSilence() {
  for (std::uint32_t slot : roster_.SilentSince(clock_.NowMs() - Ms(config_.wire.timeout_s))) {
    Remove(slot, fmt::format("was silent for wire.timeout_s = {} s", config_.wire.timeout_s));
  }
}

bool Learner::MustStop() { return options_.abandoned && options_.abandoned(); }

void Learner::SaveCheckpoint(Pipeline::Finished::Checkpoint from, bool last) {
  const auto checkpoint = std::make_shared<Checkpoint>(CheckpointOf(
      config_, layout_, std::move(from.state), std::move(from.counters), from.journal_offset));
  journal_.Flush();
  newest_saved_ = checkpoint->version;
  if (checkpoint->weights.size() < layout_.size()) {  // the other shards write their parts first
    return AwaitParts(checkpoint);
  }
  while (!checkpoints_.Submit(checkpoint)) {
    if (!last) return SayDiskIsSlow(checkpoint->version);
    std::array<wire::PollItem, 1> bell{{{.fd = bell_.fd()}}};
    wire::Poll(bell, kReportMs);
    bell_.Silence();
  }
}

void Learner::SayDiskIsSlow(std::uint64_t version) {
  slow_disk_.Warn(
      clock_.NowMs(),
      fmt::format(
          "the disk is slower than checkpoint.every_steps = {}: no checkpoint of version {}",
          config_.checkpoint.every_steps, version));
}

void Learner::CollectCheckpoints() {
  while (const auto result = checkpoints_.Poll()) {
    checkpoint_trouble_ = result->error;
    if (result->path.empty()) {
      LogError("no checkpoint of version {}: {}", result->version, result->error);
      if (newest_saved_ == result->version) newest_saved_.reset();
    } else {
      last_saved_ = result->version;
      last_checkpoint_ = "checkpoints/" + result->path.filename().string();
      LogInfo("wrote {}", last_checkpoint_);
    }
  }
}

void Learner::Report(Moment moment) {
  const std::int64_t now = clock_.NowMs();
  const bool running = moment == Moment::kRunning, final = moment == Moment::kEnd;
  if (running && now - last_report_ms_ < kReportMs) return;
  last_report_ms_ = now;
  const std::string_view phase = !running ? "done" : first_grant_ms_ < 0 ? "waiting" : "running";
  nlohmann::ordered_json status = TrainingStatus(phase, term_, config_, pipeline_, counters_,
                                                 {.policy = newest_.policy_loss,
                                                  .value = newest_.value_loss,
                                                  .entropy = newest_.entropy,
                                                  .grad_norm = newest_.norm});
  status["actors_alive"] = roster_.size();
  status["actor_us"] = {{"wait", newest_.wait_us},
                        {"refresh", newest_.refresh_us},
                        {"act", newest_.act_us},
                        {"gradient", newest_.gradient_us},
                        {"push", newest_.push_us}};
  status["time"] = TimeRow(times_, pipeline_.busy_ns());
  if (final || now - last_metrics_ms_ >= Ms(config_.run.metrics_s)) {
    last_metrics_ms_ = now;
    if (!metrics_.Write(status)) refusals_.Warn(now, "metrics.jsonl: a line could not be written");
    board_.Show(status);
    journal_.Flush();
  }
  if (!journal_.trouble().empty() && !std::exchange(journal_trouble_said_, true)) {
    LogError("the journal is not complete, this run cannot be replayed: {}", journal_.trouble());
  }
  if (!options_.on_status && !options_.on_bulletin) return;
  auto& staleness = status["staleness"];
  staleness["bound"] = config_.staleness.bound == kUnbounded
                           ? nlohmann::ordered_json("unbounded")
                           : nlohmann::ordered_json(config_.staleness.bound);
  staleness["histogram"] = counters_.staleness.counts();
  status["version"] = pipeline_.published();
  status["checkpoint"] = last_checkpoint_;
  if (options_.on_bulletin) ShowBulletin(status, now);
  if (!options_.on_status) return;
  status["joined"] = JoinedRows(/*all=*/!running);
  status["final"] = final;
  options_.on_status(status);
}

void Learner::ShowBulletin(const nlohmann::ordered_json& status, std::int64_t now_ms) {
  auto bulletin = std::make_shared<Bulletin>();
  bulletin->at_ms = now_ms;
  bulletin->unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  bulletin->status = status;
  bulletin->actors = ActorRows(roster_, static_cast<std::size_t>(config_.actors.count), now_ms);
  bulletin->not_listed =
      roster_.size() - static_cast<std::size_t>(std::ranges::count_if(
                           bulletin->actors, [](const ActorRow& row) { return row.alive; }));
  options_.on_bulletin(std::move(bulletin));
}

// A pipe holds 64 KiB, and a line that does not fit is torn: a large fleet is told of in turns, a
// few hundred actors a line. The last lines are waited for, and tell of everybody.
nlohmann::ordered_json Learner::JoinedRows(bool all) {
  auto rows = nlohmann::ordered_json::array();
  for (const Member* member : roster_.InTurn(all ? roster_.size() : kRowsAtOnce)) {
    rows.push_back({member->slot, member->incarnation, member->accepted, member->steps,
                    member->version, member->staleness, member->wait_us / 1000});
  }
  return rows;
}

}  // namespace starling::learner
