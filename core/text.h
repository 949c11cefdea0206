// Numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace starling {

std::string HumanCount(double count);       // three digits: "999", "81.2k", "5.00M"
std::string HumanTime(double seconds);      // "0:07", "12:34", "1:02:03", "3d 04:05"
std::string Grouped(std::uint64_t number);  // "1,234,567"
std::string Rounded(double number);         // to an integer, grouped
// "1 run", "2 runs".
std::string Plural(std::size_t count, std::string_view noun);

}  // namespace starling
