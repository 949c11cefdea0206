// The share of matrix products in the time of nets on a GPU. It is timed, not profiled
// (bench/net_products.h).
#include <fmt/format.h>

#include "bench/gpu_rows.h"
#include "bench/net_products.h"
#include "net/backend.h"

namespace starling::bench {
namespace {

constexpr double kWantedInProducts = 0.6;  // share of the time

struct NetOnGpu {
  const char *name, *key;
  net::ModelSpec spec;
  int envs, steps;
};

std::string TableOf(const ProductTimes& times, Json& list) {
  std::string table = Head({"op", "rows × in × out", "µs", "its product alone, µs"});
  for (const auto& [product, op_us, product_us] : times.products) {
    table += Line({product.what,
                   fmt::format("{} × ({} × {} × {})", product.times, product.rows, product.shape.in,
                               product.shape.out),
                   fmt::format("{:.1f}", op_us), fmt::format("{:.1f}", product_us)});
    list.push_back({{"op", product.what},
                    {"us", op_us},
                    {"product_us", product_us},
                    {"flops", product.flops()}});
  }
  return table;
}

void AddNet(GpuRows& rows, const NetOnGpu& one, Precision precision, double wanted = 0) {
  const std::string in = NameOf(precision);
  Row empty{.what = fmt::format("{} in {} on a GPU: matrix products, each timed alone, in {} "
                                "forward passes of {} and the backward pass",
                                one.name, in, one.steps, one.envs)};
  if (wanted > 0) empty.wanted = fmt::format("≥ {:.0f} %", 100 * wanted);
  rows.Add(fmt::format("{}_{}", one.key, in), std::move(empty), [&](Row& row) {
    Tell(fmt::format("products of {} in {}", one.name, in));
    const auto gpu = OpenGpu(0);
    const auto backend = net::MakeCudaBackend(*gpu, precision);
    const ProductTimes times =
        MeasureProducts(*backend, one.spec, one.envs, one.steps, rows.site().quick ? 0.2 : 4);
    row.measured =
        fmt::format("{:.0f} % ({:.0f} of {:.0f} µs), {:.1f} TFLOP/s in all", 100 * times.share(),
                    times.products_us(), times.whole_us, times.flops() / times.whole_us / 1e6);
    if (wanted > 0) row.holds = rows.site().Judged(times.share() >= wanted);
    Json list = Json::array();
    rows.details() +=
        fmt::format("\nThe ops of {} in {}, each alone, and the product in it:\n\n", one.name, in) +
        TableOf(times, list);
    return Json{{"whole_us", times.whole_us},
                {"products_us", times.products_us()},
                {"share", times.share()},
                {"flops", times.flops()},
                {"products", list}};
  });
}

}  // namespace

Result MeasureGpuProducts(const Site& site) {
  GpuRows rows(site);
  const bool quick = site.quick;
  const NetOnGpu atari{"the A3C paper's Atari net", "atari", AtariSpec(), quick ? 8 : 256,
                       quick ? 2 : 8};
  const NetOnGpu minatar{"the MinAtar net", "minatar", MinatarSpec(), quick ? 8 : 4096,
                         quick ? 2 : 5};
  for (const Precision precision : {Precision::kF32, Precision::kTf32, Precision::kBf16}) {
    const double wanted = precision == Precision::kF32 ? kWantedInProducts : 0;
    AddNet(rows, atari, precision, wanted);
    AddNet(rows, minatar, precision);
  }
  return rows.Take();
}

}  // namespace starling::bench
