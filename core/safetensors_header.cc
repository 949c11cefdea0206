#include "core/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace starling {
namespace {

using HeaderJson = nlohmann::json;

// Handles the parser's events one by one. A tree of values would keep only the last of equal names,
// nest without limit, and need quadratic time for the million names that a hostile header can have.
class Reader final : public HeaderJson::json_sax_t {
 public:
  bool start_object(std::size_t) override {
    if (++depth_ > 2) Refuse("nests too deeply");
    if (depth_ == 2) fields_.clear();
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    auto& names = depth_ == 1 ? names_ : fields_;
    if (!names.insert(name).second) Refuse(fmt::format("names \"{}\" twice", name));
    (depth_ == 1 ? name_ : field_) = name;
    if (depth_ == 1 && !InMetadata()) header_.tensors.push_back({name, {}, {}, {}});
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2) return Value("a list");
    ++depth_;
    if (InMetadata() || field_ == "dtype") RefuseField("a list");
    if (IsList()) List().emplace();
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (depth_ != 3 || !IsList()) return Value("a number");
    List()->push_back(number);
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && InMetadata()) {
      header_.metadata[field_] = text;
    } else if (depth_ == 2 && field_ == "dtype") {
      header_.tensors.back().dtype = text;
    } else {
      return Value("a string");
    }
    return true;
  }
  bool null() override { return Value("null"); }
  bool boolean(bool) override { return Value("a boolean"); }
  bool number_integer(std::int64_t) override { return Value("a negative number"); }
  bool number_float(double, const std::string&) override { return Value("no natural number"); }
  bool binary(HeaderJson::binary_t&) override { return Value("binary"); }
  bool parse_error(std::size_t position, const std::string&,
                   const HeaderJson::exception&) override {
    Refuse(fmt::format("is not JSON (at byte {} of it)", position));
  }

  RawHeader Take() { return std::move(header_); }

 private:
  [[noreturn]] static void Refuse(const std::string& what) {
    throw std::runtime_error("its header " + what);
  }
  [[noreturn]] void RefuseField(const char* found) const {
    throw std::runtime_error(fmt::format("{} \"{}\": {} is {}",
                                         InMetadata() ? "metadata" : "tensor",
                                         InMetadata() ? field_ : name_, field_, found));
  }
  // Handles a value of an unexpected type: refuses it unless it is in an unknown field of a tensor.
  bool Value(const char* found) const {
    if (depth_ == 0) Refuse("is not a JSON object");
    if (depth_ == 1) {
      Refuse(fmt::format("has \"{}\", which is {} instead of an object", name_, found));
    }
    if (depth_ == 3 && found == std::string_view("a list")) Refuse("nests too deeply");
    if (InMetadata() || field_ == "dtype" || IsList()) RefuseField(found);
    return true;
  }
  bool InMetadata() const { return name_ == "__metadata__"; }
  bool IsList() const { return field_ == "shape" || field_ == "data_offsets"; }
  std::optional<std::vector<std::uint64_t>>& List() {
    RawTensor& tensor = header_.tensors.back();
    return field_ == "shape" ? tensor.shape : tensor.data_offsets;
  }

  int depth_ = 0;  // 1 in the header, 2 in a tensor or the metadata, 3 in a list
  std::string name_, field_;
  std::unordered_set<std::string> names_, fields_;
  RawHeader header_;
};

}  // namespace

RawHeader ParseSafetensorsHeader(std::string_view text) {
  if (!text.starts_with('{')) throw std::runtime_error("its header is not a JSON object");
  Reader reader;
  HeaderJson::sax_parse(text, &reader);
  return reader.Take();
}

}  // namespace starling
