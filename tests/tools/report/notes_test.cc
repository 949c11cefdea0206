#include "tools/report/notes.h"

#include <gmock/gmock.h>

#include "tests/support/html.h"

namespace starling::report {
namespace {

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

TEST(NotesTest, NothingElseMeansAnything) {
  const std::string html = NotesToHtml("<script>x</script>\n#tag\n-1 & *2*");
  EXPECT_EQ(HtmlMistake(html), "");
  EXPECT_EQ(html, "<p>&lt;script&gt;x&lt;/script&gt;\n#tag\n-1 &amp; *2*</p>\n");
  EXPECT_EQ(NotesToHtml(""), "");
  EXPECT_EQ(NotesToHtml("\n \n"), "");
}

}  // namespace
}  // namespace starling::report
