// What is shown of a line of the process that plays.
#include "tools/watch/live_picture.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/count_in.h"
#include "tests/support/html.h"

namespace starling::watch {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json SomeLine() {
  return {{"png", "iVBORw0KGgo="},
          {"steps", 1234567},
          {"episode", 2},
          {"step", 7},
          {"value", 0.5},
          {"last", 3.0},
          {"choices",
           {{{{"name", "left"}, {"p", 0.25}, {"taken", false}},
             {{"name", "<b>right"}, {"p", 0.75}, {"taken", true}}}}}};
}

std::string HtmlOf(const json& line) {
  const auto shown = PictureOf(line.dump());
  EXPECT_TRUE(shown) << line;
  const std::string html = shown ? json::parse(*shown)["html"].get<std::string>() : "";
  EXPECT_EQ(HtmlMistake(html), "");
  return html;
}

TEST(PictureOfTest, HasABarForEachAction) {
  EXPECT_EQ(json::parse(*PictureOf(SomeLine().dump()))["png"], "iVBORw0KGgo=");
  const std::string html = HtmlOf(SomeLine());
  EXPECT_EQ(CountIn(html, "<meter"), 2u);
  EXPECT_THAT(html, HasSubstr("value=\"0.250\""));
  EXPECT_THAT(html, AllOf(HasSubstr("class=\"word taken\">&lt;b&gt;right</th>"), HasSubstr("75 %"),
                          Not(HasSubstr("<b>"))));
  EXPECT_THAT(html, HasSubstr("value 0.50; step 7 of episode 2, with the weights of 1,234,567 "
                              "steps; the last episode returned 3"));
}

TEST(PictureOfTest, ABoxHasAMeanAndADeviationForEachCoordinate) {
  json line = SomeLine();
  line.erase("choices");
  line["coordinates"] = {{0.5, 1.25}, {-2.0, 0.1}};
  line["last"] = nullptr;
  const std::string html = HtmlOf(line);
  EXPECT_THAT(
      html, AllOf(HasSubstr("0.50 ± 1.25"), HasSubstr("-2.00 ± 0.10"), Not(HasSubstr("returned"))));
}

TEST(PictureOfTest, ANetThatHasLeftTheNumbersIsShownAllTheSame) {
  json line = SomeLine();
  line["value"] = nullptr;  // not finite
  EXPECT_THAT(HtmlOf(line), HasSubstr("value nan"));
}

TEST(PictureOfTest, CoordinatesMayHaveLeftThem) {
  json line = SomeLine();
  line.erase("choices");
  line["coordinates"] = {{nullptr, nullptr}};
  EXPECT_THAT(HtmlOf(line), HasSubstr("nan ± nan"));
}

// There is no `starling` beside this test.
TEST(LivePictureTest, AGameThatCannotBeStartedIsNamed) {
  FakeClock clock;
  LivePicture picture("nowhere", clock);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(json::parse(picture.Newest())["html"].get<std::string>(),
                HasSubstr("the game could not be started"));
    clock.AdvanceMs(60'000);
    picture.Tend();
  }
}

TEST(PictureOfTest, WhatIsNoLineIsNoPicture) {
  const std::string text = SomeLine().dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(PictureOf(text.substr(0, size))) << size;
  }
  for (const char* key : {"png", "steps", "episode", "step", "value", "last", "choices"}) {
    json without = SomeLine();
    without.erase(key);
    EXPECT_FALSE(PictureOf(without.dump())) << key;
  }
  json evil = SomeLine();
  evil["png"] = "\" onerror=\"alert(1)";
  EXPECT_FALSE(PictureOf(evil.dump()));
}

}  // namespace
}  // namespace starling::watch
