#include "tools/report/notes.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/html.h"

namespace starling::report {
namespace {

using testing::HasSubstr;

TEST(NotesTest, ParagraphsHeadingsAndLists) {
  const std::string html = NotesToHtml(
      "# What it shows\n"
      "Bounds cost little,\n"
      "up to 8.\n"
      "\n"
      "Except:\r\n"
      "- with one actor\n"
      "- with a bound of 0, which\n"
      "  waits\n"
      "## How\n"
      "On two cores.\n");
  EXPECT_EQ(HtmlMistake(html), "");
  EXPECT_EQ(html,
            "<h2>What it shows</h2>\n"
            "<p>Bounds cost little,\nup to 8.</p>\n"
            "<p>Except:</p>\n"
            "<ul>\n<li>with one actor</li>\n<li>with a bound of 0, which\nwaits</li>\n</ul>\n"
            "<h3>How</h3>\n"
            "<p>On two cores.</p>\n");
}

TEST(NotesTest, CodeStandsInBackquotes) {
  EXPECT_EQ(NotesToHtml("`a < b` and `c"), "<p><code>a &lt; b</code> and `c</p>\n");
}

TEST(NotesTest, PartsAndTheEndHaveTheirOwn) {
  const Notes notes =
      NotesOf("claim\n--- delay\nolder\n\n---\nmethod\n--- bound\n", {"bound", "delay"});
  EXPECT_EQ(notes.top, "<div class=\"notes\">\n<p>claim</p>\n</div>\n");
  EXPECT_EQ(notes.parts.at("delay"), "<div class=\"notes\">\n<p>older</p>\n</div>\n");
  EXPECT_EQ(notes.end, "<div class=\"notes\">\n<p>method</p>\n</div>\n");
  EXPECT_EQ(notes.parts.at("bound"), "");
  EXPECT_EQ(NotesOf("", {}).top, "");
  EXPECT_EQ(NotesOf("----\n ---\n", {}).top, "<div class=\"notes\">\n<p>----\n---</p>\n</div>\n");
}

TEST(NotesTest, APartThatIsNotThereIsNamed) {
  const auto mistake = [](const std::string& text, const std::vector<std::string>& parts) {
    try {
      NotesOf(text, parts);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(mistake("--- dely\n", {"bound", "delay"}),
              HasSubstr("\"--- dely\": no such part; there are bound, delay; did you mean"));
  EXPECT_THAT(mistake("---\ta\n", {"a", "a"}), HasSubstr("2 parts have this name"));
  EXPECT_THAT(mistake("--- a\n", {}), HasSubstr("without --parts there are no parts"));
  EXPECT_THAT(mistake("---\n---\n", {}), HasSubstr("\"---\": it is there twice"));
}

TEST(NotesTest, NothingElseMeansAnything) {
  const std::string html = NotesToHtml("<script>x</script>\n#tag\n-1 & *2*");
  EXPECT_EQ(HtmlMistake(html), "");
  EXPECT_EQ(html, "<p>&lt;script&gt;x&lt;/script&gt;\n#tag\n-1 &amp; *2*</p>\n");
  EXPECT_EQ(NotesToHtml(""), "");
  EXPECT_EQ(NotesToHtml("\n \n"), "");
}

}  // namespace
}  // namespace starling::report
