// SPDX-License-Identifier: Apache-2.0
// Finds the expected answers of rows, by the reader of the inputs of jobs.
#include "results/gold.hpp"

#include "base/error_words.hpp"
#include "batch/element_json.hpp"
#include "batch/input_row.hpp"
#include "results/answer_field.hpp"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

namespace superstep::results {

namespace {

std::uint64_t key_hash(std::string_view key) noexcept {
  return std::hash<std::string_view>{}(key);
}

} // namespace

json::object columns_of(simdjson::dom::object line) {
  auto columns = simdjson::dom::object{};
  if (line.at_key("columns").get(columns) != simdjson::SUCCESS)
    return {};
  return detail::to_json_object(columns);
}

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

const json::value* column_at(const json::object& from, std::string_view name) {
  constexpr auto prefix = std::string_view{"columns."};
  const auto* const found = member_at(from, name);
  return found == nullptr && name.starts_with(prefix) ? member_at(from, name.substr(prefix.size()))
                                                      : found;
}

bool is_answer(const json::value& column) noexcept {
  const auto* const text = column.if_string();
  return !column.is_null() && (text == nullptr || text->find_first_not_of(" \t\r\n") != text->npos);
}

batch_options input_of(const score_options& options, const std::string& path, input_format format) {
  auto out = batch_options{};
  out.input = path;
  out.input_as = format;
  out.delimiter = options.delimiter;
  out.output = options.output;
  out.line_bytes_max = path == options.gold_file
                           ? std::max(options.line_bytes_max, out.line_bytes_max)
                           : options.line_bytes_max;
  return out;
}

result<gold_file> gold_file::open(const score_options& options, const std::string& path,
                                  input_format format) {
  const auto fail = [](const error& why) {
    return error{why.code, "expected answers: " + why.text};
  };
  auto opened = record_file::open(input_of(options, path, format), options.is_cancelled);
  if (!opened)
    return fail(opened.error());
  auto out = gold_file{*std::move(opened), options.id_field};
  out.facts_.set_hint(out.file_.delimiter_hint());
  const auto read = out.file_.for_each(
      [&](const result<json::object>& line, const record_place& place) -> result<bool> {
        if (auto checked = check_cancelled(options); !checked)
          return checked.error();
        if (!line && path != options.gold_file)
          return true;
        if (!line)
          return error{line.error().code,
                       path + ':' + std::to_string(place.number) + ": " + line.error().text};
        const auto key = find_row_key(*line, options.id_field, place.number);
        out.facts_.add_line(*line, options.field, key);
        const auto is_numbered = key != find_row_key(*line, options.id_field, place.number + 1);
        out.is_numbered_ = is_numbered && (out.is_numbered_ || out.rows_.empty());
        out.last_number_ = place.number;
        out.rows_.push_back({key_hash(key), place});
        return true;
      });
  if (!read)
    return fail(read.error());
  std::ranges::stable_sort(out.rows_, {}, &indexed_line::hash);
  if (path == options.gold_file)
    if (const auto checked = out.check_distinct(path); !checked)
      return fail(checked.error());
  return out;
}

/// Fails if two lines have the same id: only one of them could be the expected answer.
result<void> gold_file::check_distinct(const std::string& path) const {
  auto lines = std::map<std::string, std::uint64_t>{}; // of ids with the hash of the line before
  for (auto at = std::size_t{1}; at < rows_.size(); ++at) {
    if (rows_[at].hash != rows_[at - 1].hash)
      continue;
    if (at < 2 || rows_[at - 2].hash != rows_[at].hash)
      lines.clear();
    for (const auto& place : {rows_[at - 1].place, rows_[at].place}) {
      const auto line = file_.at(place);
      if (!line)
        return line.error();
      const auto [first, is_new] =
          lines.try_emplace(find_row_key(*line, id_field_, place.number), place.number);
      if (!is_new && first->second != place.number)
        return error{errc::parse_failed, path + ": the lines " + std::to_string(first->second) +
                                             " and " + std::to_string(place.number) +
                                             " have the same id " +
                                             detail::quoted_excerpt(first->first)};
    }
  }
  return {};
}

result<json::object> gold_file::find(const std::string& key) const {
  auto found = line_of(key);
  const auto repeated = repeated_row_of(key);
  return !found || !found->empty() || repeated.empty() ? found : line_of(std::string{repeated});
}

result<json::object> gold_file::line_of(const std::string& key) const {
  const auto hash = key_hash(key);
  for (auto at = std::ranges::lower_bound(rows_, hash, {}, &indexed_line::hash);
       at != rows_.end() && at->hash == hash; ++at) {
    auto line = file_.at(at->place);
    if (!line || find_row_key(*line, id_field_, at->place.number) == key)
      return line;
  }
  return json::object{};
}

result<gold_file_ptr> gold_files::open(const score_options& options, const std::string& path,
                                       input_format format) {
  auto failed = std::error_code{};
  auto version = opened_file{}; // that of a pipe never changes, because it can be read only once
  if (std::filesystem::is_regular_file(path, failed)) {
    version.changed = std::filesystem::last_write_time(path, failed);
    version.size = failed ? 0 : std::filesystem::file_size(path, failed);
  }
  const auto known = files_.find(path);
  if (!failed && known != files_.end() && known->second.changed == version.changed &&
      known->second.size == version.size)
    return known->second.file;
  auto opened = gold_file::open(options, path, format);
  if (!opened)
    return opened.error();
  version.file = std::make_shared<const gold_file>(*std::move(opened));
  if (!failed)
    files_.insert_or_assign(path, version);
  return version.file;
}

result<gold_file_ptr> open_gold(const score_options& options, const std::string& path,
                                input_format format) {
  auto own = gold_files{};
  return (options.files ? *options.files : own).open(options, path, format);
}

gold_source::gold_source(const score_options& options) : options_{&options} {
  if (!options.gold_file.empty())
    numbers_ = number_check{is_input_table(options.output)};
}

result<void> gold_source::open_file(const std::string& path, input_format format) {
  auto opened = open_gold(*options_, path, format);
  if (!opened)
    return opened.error();
  file_ = *std::move(opened);
  facts_.add(file_->facts());
  return {};
}

result<gold_source> gold_source::open(const score_options& options) {
  auto out = gold_source{options};
  if (!options.gold_file.empty())
    if (auto opened = out.open_file(options.gold_file, input_format::by_name); !opened)
      return opened.error();
  return out;
}

result<void> gold_source::check_numbers() const {
  // check_gold() has compared the file with the input before the job.
  return options_->gold_file.empty() ? result<void>{}
                                     : numbers_.check(*file_, options_->input.empty());
}

result<json::value> gold_source::find(const std::string& key, simdjson::dom::object line) {
  numbers_.add(key);
  if (options_->gold_file.empty()) {
    const auto columns = columns_of(line);
    if (!columns.empty())
      facts_.add_line(columns, options_->field);
    if (const auto* const found = column_at(columns, options_->field); found && is_answer(*found))
      return *found;
    // A line with selected fields
    const auto path = (options_->field.starts_with("columns.") ? "" : "columns.") + options_->field;
    if (const auto field = detail::value_at(line, path))
      if (auto value = detail::to_json_value(*field); is_answer(value))
        return value;
    if (options_->input.empty())
      return json::value{};
    if (!file_)
      if (auto opened = open_file(options_->input, options_->input_as); !opened)
        return opened.error();
  }
  const auto found = file_->find(key);
  if (!found)
    return found.error();
  if (!found->empty())
    facts_.set_matched();
  const auto* const wanted = column_at(*found, options_->field);
  return wanted != nullptr && is_answer(*wanted) ? *wanted : json::value{};
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
  auto answer = answer_field{options_->answer};
  auto read = reader_.for_each([&]() -> result<void> {
    if (auto checked = check_cancelled(*options_); !checked)
      return checked;
    const auto row = read_result_line(reader_.object(), options_->answer);
    if (first_key_.empty())
      first_key_ = row.key;
    answer.add(reader_.object(), row);
    const auto wanted = gold_.find(row.key, reader_.object());
    return wanted ? see(row, reader_.object(), *wanted) : wanted.error();
  });
  if (!read)
    return read;
  if (auto checked = gold_.check_numbers(); !checked)
    return checked;
  return answer.check(options_->output);
}

} // namespace superstep::results
