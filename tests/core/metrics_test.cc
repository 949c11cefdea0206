#include "core/metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using Json = nlohmann::ordered_json;

using MetricsFileTest = TempDirTest;

TEST_F(MetricsFileTest, EveryLineIsReadableAtOnce) {
  MetricsFile metrics(dir_ / "metrics.jsonl");
  EXPECT_TRUE(metrics.Write({{"steps", 160}, {"loss", 0.5}}));
  EXPECT_EQ(ReadFile(dir_ / "metrics.jsonl"), "{\"steps\":160,\"loss\":0.5}\n");
  EXPECT_TRUE(metrics.Write({{"steps", 320}}));
  EXPECT_EQ(ReadFile(dir_ / "metrics.jsonl"), "{\"steps\":160,\"loss\":0.5}\n{\"steps\":320}\n");
}

TEST_F(MetricsFileTest, GoesOnBehindWhatIsThere) {
  const auto path = dir_.Write("metrics.jsonl", "{\"a\":1}\n");
  MetricsFile(path).Write({{"b", 2}});
  EXPECT_EQ(ReadFile(path), "{\"a\":1}\n{\"b\":2}\n");
}

TEST_F(MetricsFileTest, ATornLastLineIsEndedFirst) {
  const auto path = dir_.Write("metrics.jsonl", "{\"a\":1}\n{\"b\":");
  MetricsFile metrics(path);
  metrics.Write({{"c", 3}});
  metrics.Write({{"d", 4}});
  EXPECT_EQ(ReadFile(path), "{\"a\":1}\n{\"b\":\n{\"c\":3}\n{\"d\":4}\n");
}

TEST_F(MetricsFileTest, OneValueIsOneLineWhateverItHolds) {
  MetricsFile metrics(dir_ / "m");
  EXPECT_TRUE(metrics.Write({{"text", "two\nlines"}, {"bytes", "\xff"}, {"nan", std::nan("")}}));
  const std::string text = ReadFile(dir_ / "m");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(Json::parse(text)["text"], "two\nlines");
  EXPECT_TRUE(Json::parse(text)["nan"].is_null());
}

TEST_F(MetricsFileTest, NamesAPathThatCannotBeOpened) {
  const std::string error =
      ErrorOf<std::system_error>([&] { MetricsFile(dir_ / "absent/metrics.jsonl"); });
  EXPECT_NE(error.find("absent/metrics.jsonl"), std::string::npos);
  EXPECT_NE(error.find("No such file"), std::string::npos);
}

TEST_F(MetricsFileTest, AFullDiskIsReportedAndSurvived) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  MetricsFile metrics("/dev/full");
  EXPECT_FALSE(metrics.Write({{"a", 1}}));
  EXPECT_FALSE(metrics.Write({{"a", 1}}));
}

}  // namespace
}  // namespace starling
