// The tables of a report, as HTML.
#pragma once

#include <string>
#include <vector>

#include "tools/report/groups.h"
#include "tools/report/score.h"

namespace starling::report {

// A short piece of the line of a group of this style, for legends and tables.
std::string Chip(std::size_t style);

// A cell with chip and label of a group.
std::string GroupCell(const Group& group);

// A row for each group: its numbers, what limits its speed.
std::string ResultTable(const std::vector<Group>& groups, Measure measure);

// A row for each key in which groups differ, or for each group if they are many; "" if they differ
// in nothing.
std::string DifferenceTable(const std::vector<Group>& groups);

// A row for every run, whatever has become of it.
std::string RunTable(const std::vector<results::LoadedRun>& runs, const std::vector<Group>& groups,
                     Measure measure);

}  // namespace starling::report
