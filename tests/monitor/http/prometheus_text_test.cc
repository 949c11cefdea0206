#include "monitor/http/pages.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/prometheus_parser.h"

namespace starling::monitor {
namespace {

using Type = PrometheusText::Type;

TEST(PrometheusText, IsWhatTheFormatSays) {
  PrometheusText text;
  text.Family(Type::kCounter, "a_total", "Some help.");
  text.Sample(3, {{"reason", "stale"}, {"slot", "1"}});
  text.Sample(1e15, {{"reason", "late"}, {"slot", "1"}});
  text.Gauge("b", "More.", 0.5);
  EXPECT_EQ(text.text(),
            "# HELP a_total Some help.\n# TYPE a_total counter\n"
            "a_total{reason=\"stale\",slot=\"1\"} 3\n"
            "a_total{reason=\"late\",slot=\"1\"} 1000000000000000\n"
            "# HELP b More.\n# TYPE b gauge\nb 0.5\n");
  EXPECT_NO_THROW(PrometheusPage(text.text()));
}

TEST(PrometheusText, NumbersThatAreNone) {
  PrometheusText text;
  text.Gauge("a", "A.", std::numeric_limits<double>::infinity());
  text.Gauge("b", "B.", -std::numeric_limits<double>::infinity());
  text.Gauge("c", "C.", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(text.text(),
              testing::AllOf(testing::HasSubstr("a +Inf\n"), testing::HasSubstr("b -Inf\n"),
                             testing::HasSubstr("c NaN\n")));
}

TEST(PrometheusText, LabelsAreEscaped) {
  PrometheusText text;
  text.Family(Type::kGauge, "a", "A.");
  const std::string evil = "back\\slash \"quoted\"\nnew line} 7 größe";
  text.Sample(1, {{"x", evil}});
  EXPECT_THAT(text.text(),
              testing::HasSubstr(R"(a{x="back\\slash \"quoted\"\nnew line} 7 größe"} 1)"));
  EXPECT_EQ(PrometheusPage(text.text()).Value("a", {{"x", evil}}), 1);
}

TEST(PrometheusText, LabelsThatAreNoUtf8AreMadeUtf8) {
  PrometheusText text;
  text.Family(Type::kGauge, "a", "A.");
  text.Sample(1, {{"x", "\xff\xc3 z"}});
  EXPECT_EQ(PrometheusPage(text.text()).Value("a", {{"x", "\uFFFD\uFFFD z"}}), 1);
}

TEST(PrometheusText, AHistogramIsCumulative) {
  PrometheusText text;
  // 5 times 0, 1 time 1, 2 times 3, once 4: 0 * 5 + 1 + 6 + 4 = 11
  text.Histogram("h", "H.", {5, 1, 0, 2, 1}, {0, 1, 2, 3, 8}, 11);
  const PrometheusPage page(text.text());
  const auto up_to = [&](const char* le) { return page.Value("h_bucket", {{"le", le}}); };
  EXPECT_EQ(up_to("0"), 5);
  EXPECT_EQ(up_to("1"), 6);
  EXPECT_EQ(up_to("2"), 6);
  EXPECT_EQ(up_to("3"), 8);
  EXPECT_EQ(up_to("8"), 9);
  EXPECT_EQ(up_to("+Inf"), 9);
  EXPECT_EQ(page.Value("h_count"), 9);
  EXPECT_EQ(page.Value("h_sum"), 11);
}

TEST(PrometheusText, AHistogramOfNothing) {
  PrometheusText text;
  text.Histogram("h", "H.", {}, {0, 1}, 0);
  EXPECT_EQ(PrometheusPage(text.text()).Value("h_count"), 0);
}

TEST(PrometheusParser, RefusesWhatIsWrong) {
  const std::string family = "# HELP a A.\n# TYPE a gauge\n";
  EXPECT_NO_THROW(PrometheusPage{family + "a 1\n"});
  for (const char* wrong :
       {"a 1", "a\n", "a one\n", "a 1\na 2\n", "b 1\n", "a{} 1\n", "a{x=1} 1\n",
        "a{x=\"1\\t\"} 1\n", "a{x=\"1\",x=\"2\"} 1\n", "a{x=\"1} 1\n", "# HELP a A.\n", "\n"}) {
    EXPECT_THROW(PrometheusPage(family + wrong), std::runtime_error) << wrong;
  }
  EXPECT_THROW(PrometheusPage("a 1\n"), std::runtime_error);
  EXPECT_THROW(PrometheusPage("# HELP a A.\n# TYPE a counter\na 1\n"), std::runtime_error);
  const std::string histogram = "# HELP h H.\n# TYPE h histogram\n";
  EXPECT_NO_THROW(PrometheusPage{
      histogram + "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\nh_sum 0\nh_count 1\n"});
  EXPECT_THROW(PrometheusPage(histogram + "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum "
                                          "0\nh_count 1\n"),
               std::runtime_error);
  EXPECT_THROW(PrometheusPage(histogram + "h_bucket{le=\"1\"} 1\nh_sum 0\nh_count 1\n"),
               std::runtime_error);
}

}  // namespace
}  // namespace starling::monitor
