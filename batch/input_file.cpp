// SPDX-License-Identifier: Apache-2.0
// Opens the input of a job: finds its format, decompresses it, and reads the names of its columns.
#include "input_file.hpp"

#include "base/utf8.hpp"
#include "element_json.hpp"
#include "gzip_reader.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <sys/stat.h>

namespace superstep::detail {
namespace {

constexpr auto byte_order_mark = std::string_view{"\xEF\xBB\xBF"};

std::string name_of(const batch_options& options) {
  return options.input == "-" ? "standard input" : options.input;
}

/// Returns the separator of the fields; '\0' if the rows are JSON.
char separator_of(const batch_options& options) {
  auto format = options.input_as;
  if (format == input_format::by_name) {
    auto name = options.input;
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name.ends_with(".gz"))
      name.resize(name.size() - std::string_view{".gz"}.size());
    if (name.ends_with(".csv"))
      format = input_format::csv;
    else if (name.ends_with(".tsv"))
      format = input_format::tsv;
  }
  if (format == input_format::csv)
    return options.delimiter != '\0' ? options.delimiter : ',';
  return format == input_format::tsv ? '\t' : '\0';
}

/// Opens a file whose bytes can be read at any position.
result<file> open_bytes(const batch_options& options, const std::function<bool()>& is_stopped) {
  auto input = file::open_input(options.input);
  if (!input)
    return input;
  struct stat info {};
  if (::fstat(input->fd(), &info) == 0 && S_ISREG(info.st_mode)) {
    auto start = std::string{};
    if (auto read = input->read_at(0, 2, start); !read)
      return read.error();
    if (!is_gzip(start))
      return input;
  }
  auto kept = file::open_nameless(options.output);
  if (!kept)
    return kept;
  if (auto copied = copy_decompressed(*input, *kept, is_stopped); !copied)
    return copied.error();
  return kept;
}

/// Fails if the table lacks a column that the options name.
result<void> check_columns(const table_columns& columns, const batch_options& options) {
  const auto name = name_of(options);
  const auto has =
      " of " + name + "; it has the columns " + columns.names_text() + columns.delimiter_hint();
  if (!options.input_template)
    return error{errc::parse_failed,
                 name + " has the columns " + columns.names_text() + columns.delimiter_hint() +
                     ", but the agent file does not say how they become messages; add for example "
                     "input: {messages: [{role: user, content: \"{{question}}\"}]}"};
  for (const auto& used : options.input_template->placeholders())
    if (!columns.contains(used.name))
      return error{errc::parse_failed,
                   used.where + ": {{" + used.name + "}} is not a column" + has};
  if (!options.id_field.empty() && !columns.contains(options.id_field))
    return error{errc::parse_failed,
                 "--id-field: " + quoted_excerpt(options.id_field) + " is not a column" + has};
  return {};
}

/// Reads the names of the columns, in the first record that is not blank.
result<void> read_header(input_file& into, char separator, const batch_options& options) {
  const auto& path = into.name;
  auto reader = line_reader{into.bytes, options.line_bytes_max, {.separator = separator}};
  auto line = reader.next();
  while (line && *line && (*line)->number > 0 &&
         into.is_blank(without_byte_order_mark((*line)->text)))
    line = reader.next();
  if (!line)
    return line.error();
  if (!*line)
    return error{errc::parse_failed, path + " is empty: its first line must name the columns"};
  auto& first = **line;
  if (auto fault = find_fault_of_file(first.text); !fault.empty())
    return error{errc::parse_failed, path + ' ' + fault + "; nothing was run"};
  const auto where = path + ":" + std::to_string(first.number) + ": ";
  if (first.is_too_long)
    return error{errc::too_large, where + "the names of the columns have " +
                                      std::to_string(first.size) +
                                      " bytes, more than --max-line-bytes allows"};
  const auto text = first.offset == 0 ? without_byte_order_mark(first.text) : first.text;
  auto columns = table_columns::parse(text, separator);
  if (!columns)
    return error{columns.error().code, where + columns.error().text};
  into.format.columns = std::move(*columns);
  const auto end = first.offset + first.size + (first.is_complete ? 1 : 0);
  if (auto read = into.bytes.read_at(0, static_cast<std::size_t>(end), into.header); !read)
    return read.error();
  into.lines = static_cast<std::uint64_t>(std::ranges::count(into.header, '\n'));
  return {};
}

} // namespace

std::string_view without_byte_order_mark(std::string_view first_line) noexcept {
  if (first_line.starts_with(byte_order_mark))
    first_line.remove_prefix(byte_order_mark.size());
  return first_line;
}

bool input_file::is_blank(std::string_view line) const noexcept {
  return line.find_first_not_of(" \t\r") == std::string_view::npos &&
         (!format.columns || line.find(format.columns->separator()) == std::string_view::npos);
}

std::string find_fault_of_file(std::string_view first_line) {
  const auto fault = find_encoding_fault(first_line);
  return fault && fault->is_whole ? fault->text + "; " + fault->advice : std::string{};
}

result<input_file> open_records(const batch_options& options,
                                const std::function<bool()>& is_stopped) {
  auto bytes = open_bytes(options, is_stopped);
  if (!bytes)
    return bytes.error();
  auto out = input_file{};
  out.name = name_of(options);
  out.bytes = std::move(*bytes);
  out.format.messages = options.input_template;
  out.format.id_field = options.id_field;
  if (const auto separator = separator_of(options); separator != '\0')
    if (auto read = read_header(out, separator, options); !read)
      return read.error();
  return out;
}

result<input_file> open_rows(const batch_options& options, const stop_request& stop) {
  auto out = open_records(options, [&stop] { return stop.current() != stop_request::none; });
  if (!out)
    return out;
  if (options.delimiter != '\0' &&
      (!out->format.columns || out->format.columns->separator() != options.delimiter))
    return error{errc::invalid_argument, "--delimiter: " + out->name +
                                             " is not a CSV file; use it with --input-format csv"};
  if (out->format.columns)
    if (auto checked = check_columns(*out->format.columns, options); !checked)
      return checked.error();
  return out;
}

} // namespace superstep::detail
