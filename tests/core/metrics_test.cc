#include "core/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using Json = nlohmann::ordered_json;

TEST(MetricsFile, EveryLineIsReadableAtOnce) {
  const TempDir dir;
  MetricsFile metrics(dir / "metrics.jsonl");
  EXPECT_TRUE(metrics.Write({{"steps", 160}, {"loss", 0.5}}));
  EXPECT_EQ(ReadFile(dir / "metrics.jsonl"), "{\"steps\":160,\"loss\":0.5}\n");
  EXPECT_TRUE(metrics.Write({{"steps", 320}}));
  EXPECT_EQ(ReadFile(dir / "metrics.jsonl"), "{\"steps\":160,\"loss\":0.5}\n{\"steps\":320}\n");
}

TEST(MetricsFile, GoesOnBehindWhatIsThere) {
  const TempDir dir;
  const auto path = dir.Write("metrics.jsonl", "{\"a\":1}\n");
  MetricsFile(path).Write({{"b", 2}});
  EXPECT_EQ(ReadFile(path), "{\"a\":1}\n{\"b\":2}\n");
}

TEST(MetricsFile, ATornLastLineIsEndedFirst) {
  const TempDir dir;
  const auto path = dir.Write("metrics.jsonl", "{\"a\":1}\n{\"b\":");
  MetricsFile metrics(path);
  metrics.Write({{"c", 3}});
  metrics.Write({{"d", 4}});
  EXPECT_EQ(ReadFile(path), "{\"a\":1}\n{\"b\":\n{\"c\":3}\n{\"d\":4}\n");
}

TEST(MetricsFile, OneValueIsOneLineWhateverItHolds) {
  const TempDir dir;
  MetricsFile metrics(dir / "m");
  EXPECT_TRUE(metrics.Write({{"text", "two\nlines"}, {"bytes", "\xff"}, {"nan", std::nan("")}}));
  const std::string text = ReadFile(dir / "m");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(Json::parse(text)["text"], "two\nlines");
  EXPECT_TRUE(Json::parse(text)["nan"].is_null());
}

TEST(MetricsFile, NamesAPathThatCannotBeOpened) {
  const TempDir dir;
  const std::string error =
      ErrorOf<std::system_error>([&] { MetricsFile(dir / "absent/metrics.jsonl"); });
  EXPECT_NE(error.find("absent/metrics.jsonl"), std::string::npos);
  EXPECT_NE(error.find("No such file"), std::string::npos);
}

TEST(MetricsFile, AFullDiskIsReportedAndSurvived) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  MetricsFile metrics("/dev/full");
  EXPECT_FALSE(metrics.Write({{"a", 1}}));
  EXPECT_FALSE(metrics.Write({{"a", 1}}));
}

}  // namespace
}  // namespace starling
