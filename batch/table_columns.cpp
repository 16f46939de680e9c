// SPDX-License-Identifier: Apache-2.0
// Parses the records of CSV and TSV files. Records become JSON objects, so that the rest of a job
// does not depend on the format of its input.
#include "table_columns.hpp"

#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "element_json.hpp"
#include "json_text.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace superstep::detail {
namespace {

/// Reads the fields of one record in order.
class field_reader {
public:
  field_reader(std::string_view record, char separator) : rest_{record}, separator_{separator} {
    if (rest_.ends_with('\r'))
      rest_.remove_suffix(1);
  }

  /// Reads the next field into `into`. @pre is_done() is false
  result<void> next(std::string& into) {
    into.clear();
    ++count_;
    if (rest_.starts_with('"'))
      return read_quoted(into);
    const auto end = std::min(rest_.find(separator_), rest_.size());
    into = rest_.substr(0, end);
    if (into.find('\r') != std::string::npos)
      return error{errc::parse_failed,
                   "field " + std::to_string(count_) +
                       " contains a carriage return; quote the field, or end lines with a newline"};
    return take_separator(end);
  }
  /// Whether the record has no further field.
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// Returns the number of fields read so far.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
  result<void> read_quoted(std::string& into) {
    auto at = std::size_t{1};
    while (true) {
      const auto quote = rest_.find('"', at);
      if (quote == std::string_view::npos)
        return error{errc::parse_failed, "the quotes of field " + std::to_string(count_) +
                                             " are not closed; it begins " +
                                             quoted_excerpt(rest_.substr(1))};
      into += rest_.substr(at, quote - at);
      at = quote + 1;
      if (at >= rest_.size() || rest_[at] != '"')
        break;
      into += '"'; // two quotes mean one
      ++at;
    }
    if (at < rest_.size() && rest_[at] != separator_)
      return error{errc::parse_failed,
                   "field " + std::to_string(count_) +
                       " has text after its closing quote: " + quoted_excerpt(rest_.substr(at)) +
                       "; within a quoted field, write \"\" for a quote"};
    return take_separator(at);
  }

  result<void> take_separator(std::size_t end) {
    is_done_ = end >= rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return {};
  }

  std::string_view rest_;
  char separator_;
  std::size_t count_ = 0;
  bool is_done_ = false;
};

result<void> check_encoding(std::string_view record) {
  if (const auto fault = find_encoding_fault(record))
    return error{errc::parse_failed, fault->text + "; " + fault->advice};
  return {};
}

} // namespace

result<table_columns> table_columns::parse(std::string_view record, char separator) {
  if (auto checked = check_encoding(record); !checked)
    return checked.error();
  auto out = table_columns{};
  out.separator_ = separator;
  auto fields = field_reader{record, separator};
  auto seen = std::unordered_map<std::string, std::size_t>{};
  auto name = std::string{};
  while (!fields.is_done()) {
    if (auto read = fields.next(name); !read)
      return read.error();
    if (name.empty())
      name = "column_" + std::to_string(fields.count());
    const auto [first, is_new] = seen.try_emplace(name, fields.count());
    if (!is_new)
      return error{errc::parse_failed, "the columns " + std::to_string(first->second) + " and " +
                                           std::to_string(fields.count()) +
                                           " have the same name, " + quoted_excerpt(name) +
                                           "; give each column its own name"};
    out.names_.push_back(name);
    append_quoted(out.quoted_.emplace_back(), name);
  }
  return out;
}

result<std::string> table_columns::to_json(std::string_view record) const {
  if (auto checked = check_encoding(record); !checked)
    return checked.error();
  auto fields = field_reader{record, separator_};
  auto out = std::string{"{"};
  auto value = std::string{};
  while (!fields.is_done()) {
    if (auto read = fields.next(value); !read)
      return read.error();
    if (fields.count() > names_.size())
      continue; // counts the fields for the error text
    if (out.size() > 1)
      out += ',';
    out += quoted_[fields.count() - 1];
    out += ':';
    append_quoted(out, value);
  }
  if (fields.count() != names_.size())
    return error{errc::parse_failed, "has " + counted(fields.count(), "field") +
                                         ", but the first line names " +
                                         counted(names_.size(), "column") + ": " + names_text()};
  out += '}';
  return out;
}

bool table_columns::contains(std::string_view name) const noexcept {
  return std::ranges::find(names_, name) != names_.end();
}

std::string table_columns::delimiter_hint() const {
  if (names_.size() != 1)
    return {};
  for (const auto& [separator, option] : {std::pair{';', "';'"}, {'\t', "tab"}, {'|', "'|'"}})
    if (separator != separator_ && names_.front().find(separator) != std::string::npos)
      return "; if " + std::string{option} + " separates the names, use --delimiter " + option;
  return {};
}

std::string table_columns::names_text() const {
  constexpr auto shown = std::size_t{20};
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < std::min(shown, names_.size()); ++i)
    out.append(i > 0 ? ", " : "").append(quoted_excerpt(names_[i]));
  return names_.size() > shown ? out + ", …" : out;
}

} // namespace superstep::detail
