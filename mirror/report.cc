#include "mirror/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/check.h"
#include "wire/codec.h"

namespace starling::mirror {

namespace {

// A report and the message of its gradient, "" if there is none.
struct Packed {
  Report report;
  Bytes header, fields;

  void Fields(StateBytes& bytes) {
    bytes.Tag("RPRT");
    bytes(report.stop);
    Circumstances& root = report.circumstances;
    bytes(root.seconds), bytes(root.may_save), bytes(root.save_failed), bytes(root.journal_broken);
    bytes(report.hashed);
    bytes(report.hash);
    bytes.Bytes(header);
    bytes.Bytes(fields);
    if (header.empty()) return;
    if (!report.gradient) report.gradient.emplace();
    bytes(report.gradient->norm.finite);
    bytes(report.gradient->norm.norm);
  }
};

Bytes Copy(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Bytes Pack(Report report) {
  Packed packed{.report = std::move(report), .header = {}, .fields = {}};
  if (auto& gradient = packed.report.gradient) {
    gradient->body.buffer = 1;  // so the message brings no values
    const wire::Frames frames = wire::Encode(gradient->header, gradient->body);
    packed.header = Copy(frames.header_bytes());
    packed.fields = Copy(frames.field_bytes());
  }
  Bytes bytes;
  SaveState(packed, bytes);
  return bytes;
}

std::vector<Report> Unpack(const std::vector<Bytes>& all) {
  std::vector<Report> reports;
  for (const Bytes& bytes : all) {
    Packed packed;
    RestoreState(packed, bytes);
    if (auto& gradient = packed.report.gradient) {
      const wire::DecodeResult decoded =
          wire::Decode({3, packed.header, packed.fields, /*tensor=*/{}}, /*max_elements=*/0);
      if (!decoded) {
        throw std::runtime_error(fmt::format(
            "rank {} speaks another language ({}): all ranks need the same version of Starling",
            reports.size(), wire::RefusalName(decoded.refusal)));
      }
      gradient->header = decoded.message.header;
      gradient->body = std::get<wire::Gradient>(decoded.message.body);
      gradient->body.buffer = 0;
    }
    reports.push_back(std::move(packed.report));
  }
  return reports;
}

void CheckSameWeights(std::span<const Report> reports) {
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    const Report &first = reports[0], &other = reports[rank];
    CHECK(other.hashed == first.hashed && other.hash == first.hash,
          "the weights of rank {} are not those of rank 0: version {} has the hash {:016x}, and {} "
          "has {:016x}",
          rank, other.hashed, other.hash, first.hashed, first.hash);
  }
}

}  // namespace starling::mirror
