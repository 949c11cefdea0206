#include "bench/bare/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "bench/actor_speed.h"
#include "bench/net_products.h"
#include "core/gpu.h"
#include "net/backend.h"

namespace starling::bare {
namespace {

using bench::ActorCase;
using bench::ActorSpeed;
using bench::ProductTimes;

void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "\"";
}

// The members of a JSON object.
class Object {
 public:
  void Add(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "\n" : ",\n") + Quoted(key) + ": " + value;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// Calls measure(), which adds to `json` under `key`. If it throws, adds the reason instead.
void Try(Object& json, const std::string& key, const std::string& what,
         const std::function<void()>& measure) {
  try {
    measure();
  } catch (const std::exception& error) {
    Say(fmt::format("{}: not measured: {}", what, error.what()));
    json.Add(key, fmt::format("{{\"not_measured\": {}}}", Quoted(error.what())));
  }
}

void Measure(const std::vector<ActorCase>& cases, double seconds, Object& json) {
  const ActorCase* best = nullptr;
  double most = 0;
  for (const ActorCase& one : cases) {
    Try(json, one.key, one.what, [&] {
      const ActorSpeed speed = bench::MeasureActor(one.config, seconds);
      Say(fmt::format("{}{}: {:.0f} steps/s ({:.0f} to {:.0f}; acting {:.0f} %, gradient {:.0f} %)",
                      one.what, speed.where, speed.steps_per_second, speed.least, speed.most,
                      100 * speed.act, 100 * speed.gradient));
      json.Add(one.key,
               fmt::format("{{\"steps_per_second\": {:.0f}, \"least\": {:.0f}, \"most\": "
                           "{:.0f}, \"act\": {:.3f}, \"gradient\": {:.3f}, \"steps\": {}}}",
                           speed.steps_per_second, speed.least, speed.most, speed.act,
                           speed.gradient, speed.steps));
      if (speed.steps_per_second > most) most = speed.steps_per_second, best = &one;
    });
  }
  if (best != nullptr && cases.size() > 1) Say(fmt::format("  the best: {}", best->what));
}

void MeasureProducts(const char* name, Precision precision, double seconds, bool quick,
                     Object& json) {
  const int envs = quick ? 8 : 256, steps = quick ? 2 : 8;
  const std::string what = fmt::format(
      "the A3C Atari net, {}, {} envs x {} steps forward and backward", name, envs, steps);
  const std::string key = fmt::format("atari_{}", name);
  Try(json, key, what, [&] {
    // The whole net in one line, then each of its products.
    const auto gpu = OpenGpu(0);
    const auto backend = net::MakeCudaBackend(*gpu, precision);
    const ProductTimes times =
        bench::MeasureProducts(*backend, bench::AtariSpec(), envs, steps, seconds);
    Say(fmt::format("{}: {:.0f} us, {:.1f} TFLOP/s; its products {:.0f} us, {:.0f} %", what,
                    times.whole_us, times.flops() / times.whole_us / 1e6, times.products_us(),
                    100 * times.share()));
    std::string list;
    for (const ProductTimes::One& one : times.products) {
      const auto& [product, op_us, product_us] = one;
      Say(fmt::format("  {:<32} {:>2} x ({} x {} x {}): {:.1f} us, its product alone {:.1f} us",
                      product.what, product.times, product.rows, product.shape.in,
                      product.shape.out, op_us, product_us));
      list += fmt::format("{}{{\"op\": {}, \"us\": {:.2f}, \"product_us\": {:.2f}}}",
                          list.empty() ? "" : ", ", Quoted(product.what), op_us, product_us);
    }
    json.Add(key, fmt::format("{{\"whole_us\": {:.2f}, \"products_us\": {:.2f}, \"share\": {:.3f}, "
                              "\"products\": [{}]}}",
                              times.whole_us, times.products_us(), times.share(), list));
  });
}

}  // namespace

std::string MeasureSpeed(double seconds, bool quick) {
  Object json;
  const GpuSearch found = FindGpus();
  if (found.gpus.empty()) {
    Say("nothing is measured on a GPU: " + found.why_none);
    json.Add("gpu", fmt::format("{{\"none\": {}}}", Quoted(found.why_none)));
  } else {
    json.Add("gpu", Quoted(found.gpus[0].name));
    Measure(bench::CasesOnGpu(quick), seconds, json);
    MeasureProducts("f32", Precision::kF32, seconds, quick, json);
    MeasureProducts("tf32", Precision::kTf32, seconds, quick, json);
    MeasureProducts("bf16", Precision::kBf16, seconds, quick, json);
    Measure(bench::CasesStaged(quick), seconds, json);
  }
  Say("on the processor, by the plain loops of the reference:");
  Measure({bench::CaseOnProcessor()}, quick ? 0 : seconds, json);
  return json.text();
}

}  // namespace starling::bare
