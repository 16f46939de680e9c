// SPDX-License-Identifier: Apache-2.0
// Finds the expected answers of rows, by the reader of the inputs of jobs.
#include "results/gold.hpp"

#include "batch/input_row.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace superstep::results {

namespace {

std::uint64_t key_hash(std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key);
}

/// Returns the expected answer in the columns of an output line; null if there is none.
json::value gold_in_columns(simdjson::dom::object line, const std::string& field) {
  auto columns = simdjson::dom::element{};
  if (line.at_key("columns").get(columns) != simdjson::SUCCESS)
    return nullptr;
  const auto parsed = parse_json(simdjson::to_string(columns));
  if (!parsed || !parsed->is_object())
    return nullptr;
  const auto* const found = member_at(parsed->get_object(), field);
  return found != nullptr ? *found : json::value{};
}

} // namespace

const json::value* member_at(const json::object& from, std::string_view path) {
  if (const auto* const found = from.if_contains(path))
    return found;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1))
    if (const auto* const below = from.if_contains(path.substr(0, dot));
        below && below->is_object())
      if (const auto* const found = member_at(below->get_object(), path.substr(dot + 1)))
        return found;
  return nullptr;
}

result<gold_file> gold_file::open(const batch_options& from) {
  auto opened = detail::open_records(from);
  if (!opened)
    return opened.error();
  auto out = gold_file{*std::move(opened), from.id_field};
  auto lines = detail::line_reader{out.file_.bytes, from.line_bytes_max, out.file_.rows()};
  while (true) {
    const auto line = lines.next();
    if (!line)
      return line.error();
    if (!*line)
      break;
    if (detail::is_blank((*line)->text))
      continue;
    const auto object = (*line)->is_too_long
                            ? result<json::object>{error{errc::too_large, "the line is too long"}}
                            : out.object_of((*line)->text, (*line)->number);
    if (!object)
      return error{object.error().code,
                   from.input + ':' + std::to_string((*line)->number) + ": " + object.error().text};
    const auto key = find_row_key(*object, from.id_field, (*line)->number);
    out.rows_.push_back({key_hash(key), (*line)->offset, (*line)->size, (*line)->number});
  }
  std::ranges::stable_sort(out.rows_, {}, &place::hash);
  return out;
}

result<json::object> gold_file::find(const std::string& key) const {
  auto found = line_of(key);
  const auto mark = key.rfind('#');
  if (!found || !found->empty() || mark == std::string::npos ||
      key.find_first_not_of("0123456789", mark + 1) != std::string::npos)
    return found;
  return line_of(key.substr(0, mark));
}

result<json::object> gold_file::line_of(const std::string& key) const {
  const auto hash = key_hash(key);
  for (auto at = std::ranges::lower_bound(rows_, hash, {}, &place::hash);
       at != rows_.end() && at->hash == hash; ++at) {
    auto text = std::string{};
    if (auto read = file_.bytes.read_at(at->offset, at->size, text); !read)
      return read.error();
    auto line = object_of(text, at->number);
    if (!line)
      return error{errc::parse_failed, file_.name + " was changed while it was read"};
    if (find_row_key(*line, id_field_, at->number) == key)
      return line;
  }
  return json::object{};
}

/// Converts a line: JSON, or a record of a table.
result<json::object> gold_file::object_of(std::string_view line, std::uint64_t number) const {
  auto text = number == 1 ? detail::without_byte_order_mark(line) : line;
  auto converted = std::string{};
  if (file_.format.columns) {
    auto record = file_.format.columns->to_json(text);
    if (!record)
      return record.error();
    converted = *std::move(record);
    text = converted;
  }
  auto parsed = parse_json(text);
  if (!parsed)
    return parsed.error();
  if (!parsed->is_object())
    return error{errc::parse_failed, "must be a JSON object"};
  return std::move(parsed->as_object());
}

result<void> gold_source::open_file(const std::string& path, input_format format) {
  auto from = batch_options{};
  from.input = path;
  from.input_as = format;
  from.delimiter = options_->delimiter;
  from.id_field = options_->id_field;
  from.output = options_->output;
  auto opened = gold_file::open(from);
  if (!opened)
    return error{opened.error().code, "expected answers: " + opened.error().text};
  file_.emplace(*std::move(opened));
  return {};
}

result<gold_source> gold_source::open(const score_options& options) {
  auto out = gold_source{options};
  if (!options.gold_file.empty())
    if (auto opened = out.open_file(options.gold_file, input_format::by_name); !opened)
      return opened.error();
  return out;
}

result<json::value> gold_source::find(const std::string& key, simdjson::dom::object line) {
  if (options_->gold_file.empty()) {
    auto in_line = gold_in_columns(line, options_->field);
    if (!in_line.is_null() || options_->input.empty())
      return in_line;
    if (!file_)
      if (auto opened = open_file(options_->input, options_->input_as); !opened)
        return opened.error();
  }
  const auto found = file_->find(key);
  if (!found)
    return found.error();
  const auto* const wanted = member_at(*found, options_->field);
  return wanted != nullptr ? *wanted : json::value{};
}

result<expected_rows> expected_rows::open(const score_options& options) {
  auto gold = gold_source::open(options);
  if (!gold)
    return gold.error();
  auto reader = result_reader::open(options.output);
  if (!reader)
    return reader.error();
  return expected_rows{options, *std::move(gold), *std::move(reader)};
}

result<void> expected_rows::for_each(
    const std::function<result<void>(const result_line& row, simdjson::dom::object line,
                                     const json::value& gold)>& see) {
  return reader_.for_each([&]() -> result<void> {
    const auto row = read_result_line(reader_.object(), options_->answer);
    const auto wanted = gold_.find(row.key, reader_.object());
    return wanted ? see(row, reader_.object(), *wanted) : wanted.error();
  });
}

} // namespace superstep::results
