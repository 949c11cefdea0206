// Measures the price of keys: the CPU time that sealing and opening a megabyte takes, the rate of
// several senders to one learner's socket with 1, 2 and 4 I/O threads beside the ceiling that this
// time sets on all cores, and the updates per second of real runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <fstream>
#include <optional>
#include <thread>

#include "bench/figure.h"
#include "bench/training_run.h"
#include "core/clock.h"
#include "core/config/config_rules.h"
#include "wire/codec.h"
#include "wire/key_authenticator.h"
#include "wire/keys.h"
#include "wire/socket.h"

namespace starling::bench {
namespace {

constexpr std::size_t kFloats = 133'000;  // the net of bench/minatar.toml, rounded
constexpr std::size_t kSenders = 4;
constexpr std::int64_t kPollMs = 20;

double ProcessCpuSeconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

// The keys of one server, and a list that admits its clients.
struct Keyed {
  explicit Keyed(const std::filesystem::path& dir) : allowed(dir) {
    std::filesystem::create_directory(allowed);
    wire::WriteKeyFiles(allowed, "client", client);
  }
  const std::filesystem::path allowed;
  const wire::KeyPair server = wire::NewKeyPair(), client = wire::NewKeyPair();
};

// Sends gradients as fast as the queue takes them, until `stop`.
void SendUntil(const std::atomic<bool>& stop, const std::string& endpoint, const Keyed* keys) {
  wire::Context context;
  wire::SocketOptions options{.max_elements = kFloats, .linger_ms = 0};
  if (keys) options.keys = keys->client, options.server_key = keys->server.public_key;
  wire::ClientSocket socket(context, endpoint, options);
  std::shared_ptr<float[]> values = std::make_shared<float[]>(kFloats, 0.5f);
  const wire::Frames frames =
      wire::Encode({}, wire::Gradient{}, wire::SharedTensor(values, kFloats));
  std::array<wire::PollItem, 1> item{{{.socket = &socket, .want_writable = true}}};
  while (!stop) {
    if (!socket.Send(frames)) wire::Poll(item, kPollMs);
  }
}

struct Flow {
  double mb_per_second = 0, cpu_ms_per_mb = 0;
};

// Receives from kSenders threads for `seconds`; the messages are neither decoded nor copied.
Flow Measure(std::int64_t io_threads, const Keyed* keys, double seconds) {
  wire::Context context(io_threads);
  std::optional<wire::KeyAuthenticator> gate;
  wire::SocketOptions options{.max_elements = kFloats};
  if (keys) {
    gate.emplace(context, keys->allowed);
    options.keys = keys->server;
  }
  wire::ServerSocket server(context, "tcp://127.0.0.1:*", options);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> senders;
  for (std::size_t i = 0; i < kSenders; ++i) {
    senders.emplace_back([&] { SendUntil(stop, server.endpoint(), keys); });
  }
  // 1. Warm up until every sender is connected, then measure.
  const SteadyClock clock;
  std::array<wire::PollItem, 2> items{{{.socket = &server}, {.socket = gate ? &*gate : nullptr}}};
  std::uint64_t received = 0;
  wire::Envelope envelope;
  const auto receive_for = [&](double span) {
    const std::int64_t end = clock.NowNs() + static_cast<std::int64_t>(span * 1e9);
    received = 0;
    while (clock.NowNs() < end) {
      wire::Poll(items, kPollMs);
      if (gate) gate->Answer();
      while (server.Receive(envelope)) ++received;
    }
  };
  receive_for(seconds / 3);
  const std::int64_t begin = clock.NowNs();
  const double cpu = ProcessCpuSeconds();
  receive_for(seconds);
  // 2. The CPU time is of both ends: sending, sealing, opening, receiving.
  const double spent = ProcessCpuSeconds() - cpu;
  const double wall = static_cast<double>(clock.NowNs() - begin) / 1e9;
  stop = true;
  const double mb = static_cast<double>(received) * kFloats * sizeof(float) / 1e6;
  return {.mb_per_second = mb / wall, .cpu_ms_per_mb = mb > 0 ? spent * 1e3 / mb : 0};
}

// Updates per second of `actors` real actors over `settings`.
double UpdatesPerSecond(const Site& site, const std::string& name,
                        std::vector<std::string> settings) {
  settings.insert(settings.end(),
                  {"actors.count=2", Set("run.steps", site.quick ? 20'000 : 1'000'000)});
  return TrainingRun(site, {.name = "encryption-" + name, .overrides = std::move(settings)})
      .UpdatesPerSecond();
}

}  // namespace

Result MeasureEncryption(const Site& site) {
  const double seconds = site.quick ? 0.2 : 5;
  const Keyed keys(site.scratch / "allowed");
  const auto secret = wire::WriteKeyFiles(site.scratch, "learner", keys.server).secret_file;
  Result result;
  // 1. The price of a megabyte, and the rates of one socket.
  const Flow plain = Measure(1, nullptr, seconds);
  const auto cores = static_cast<double>(UsableCores());
  for (const std::int64_t threads : {1, 2, 4}) {
    const Flow sealed = Measure(threads, &keys, seconds);
    const double ceiling = 1e3 * cores / sealed.cpu_ms_per_mb;  // MB/s with every core at work
    result.rows.push_back(
        {.what = fmt::format("sealed and opened, {} senders, {} I/O threads", kSenders, threads),
         .measured = fmt::format("{:.2f} ms of CPU per MB (plain {:.2f}); {:.0f} MB/s, {:.2f} of "
                                 "the ceiling of {:.0f} cores",
                                 sealed.cpu_ms_per_mb, plain.cpu_ms_per_mb, sealed.mb_per_second,
                                 sealed.mb_per_second / ceiling, cores)});
    result.json[fmt::format("{}_io_threads", threads)] = {{"mb_per_second", sealed.mb_per_second},
                                                          {"cpu_ms_per_mb", sealed.cpu_ms_per_mb},
                                                          {"ceiling_mb_per_second", ceiling}};
  }
  result.json["plain"] = {{"mb_per_second", plain.mb_per_second},
                          {"cpu_ms_per_mb", plain.cpu_ms_per_mb}};
  // 2. Real runs.
  const std::string tcp = "wire.endpoint=tcp://127.0.0.1:0";
  const std::vector<std::string> keyed = {tcp, Set("wire.secret", secret.string()),
                                          Set("wire.allowed", keys.allowed.string())};
  std::vector<std::string> measured;
  const auto add = [&](const std::string& name, const std::vector<std::string>& settings) {
    const double rate = UpdatesPerSecond(site, name, settings);
    measured.push_back(fmt::format("{} {:.0f}", name, rate));
    result.json["updates_per_second"][name] = rate;
  };
  add("ipc", {});
  add("tcp", {tcp});
  for (const int threads : {1, 2, 4}) {
    std::vector<std::string> settings = keyed;
    settings.push_back(Set("wire.io_threads", threads));
    add(fmt::format("keys-{}", threads), settings);
  }
  result.rows.push_back({.what = "updates per second of two actors",
                         .measured = fmt::format("{}", fmt::join(measured, ", "))});
  return result;
}

}  // namespace starling::bench
