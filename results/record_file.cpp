// SPDX-License-Identifier: Apache-2.0
// Reads the inputs of jobs as JSON objects, without the checks of rows that run.
#include "results/record_file.hpp"

namespace superstep::results {

result<record_file> record_file::open(const batch_options& from,
                                      const std::function<bool()>& is_cancelled) {
  auto opened = detail::open_records(from, is_cancelled);
  if (!opened)
    return opened.error();
  return record_file{*std::move(opened), from.line_bytes_max};
}

result<void> record_file::for_each(const visitor& see) const {
  auto lines = detail::line_reader{file_.bytes, line_bytes_max_, file_.rows()};
  while (true) {
    const auto line = lines.next();
    if (!line)
      return line.error();
    if (!*line)
      return {};
    if (file_.is_blank((*line)->text))
      continue;
    const auto content = (*line)->is_too_long
                             ? result<json::object>{error{errc::too_large, "the line is too long"}}
                             : parse((*line)->text, (*line)->number);
    const auto wants_more = see(content, {(*line)->offset, (*line)->size, (*line)->number});
    if (!wants_more)
      return wants_more.error();
    if (!*wants_more)
      return {};
  }
}

result<json::object> record_file::at(const record_place& place) const {
  auto text = std::string{};
  if (auto read = file_.bytes.read_at(place.offset, place.size, text); !read)
    return read.error();
  auto line = parse(text, place.number);
  if (!line)
    return error{errc::parse_failed, name() + " was changed while it was read"};
  return line;
}

/// Converts a line: JSON, or a record of a table.
result<json::object> record_file::parse(std::string_view line, std::uint64_t number) const {
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

} // namespace superstep::results
