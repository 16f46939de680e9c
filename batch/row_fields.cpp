// SPDX-License-Identifier: Apache-2.0
// Derives the columns of an output with --fields from the whole lines of rows, as JSON lines or as
// CSV (RFC 4180). Native lines and lines of batch requests have the same columns.
#include "row_fields.hpp"

#include "base/similar_word.hpp"
#include "element_json.hpp"
#include "json_text.hpp"
#include "written_line.hpp"

#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {
namespace {

namespace dom = simdjson::dom;

/// A field whose name differs from its place in a native line, or that is at another place in the
/// line of a batch request.
struct known_field {
  std::string_view name;
  std::string_view native;  ///< path in native lines
  std::string_view request; ///< path in the lines of batch requests; empty: not in them
};
constexpr auto known_fields = std::array{
    known_field{"answer", "", ""}, // see answer_of()
    known_field{"status", "status", ""},
    known_field{"messages", "output.messages", ""},
    known_field{"output", "output", ""},
    known_field{"structured_response", "output.structured_response", ""},
    known_field{"error", "error", "error"},
    known_field{"error.kind", "error.kind", "response.body.error.type"},
    known_field{"error.code", "error.code", "error.code"},
    known_field{"error.message", "error.message", "error.message"},
    known_field{"error.http_status", "error.http_status", ""},
    known_field{"error.node", "error.node", ""},
    known_field{"error.step", "error.step", ""},
    known_field{"error.attempts", "error.attempts", ""},
    known_field{"error.answer", "error.answer", ""},
    known_field{"usage", "usage", "response.body.usage"},
    known_field{"usage.input_tokens", "usage.input_tokens", "response.body.usage.prompt_tokens"},
    known_field{"usage.output_tokens", "usage.output_tokens",
                "response.body.usage.completion_tokens"},
    known_field{"usage.total_tokens", "usage.total_tokens", "response.body.usage.total_tokens"},
    known_field{"cost", "cost", ""},
    known_field{"steps", "steps", ""},
    known_field{"model_calls", "model_calls", ""},
    known_field{"tool_calls", "tool_calls", ""},
    known_field{"wall_ms", "wall_ms", ""},
    known_field{"barrier_wait_ms", "barrier_wait_ms", ""},
    known_field{"attempt", "attempt", ""},
    known_field{"job_id", "job_id", ""},
};
constexpr auto default_csv_fields =
    std::array<std::string_view, 4>{"status", "answer", "error.code", "error.message"};
constexpr auto response_prefix = std::string_view{"response."};
constexpr auto columns_prefix = std::string_view{"columns."};

const known_field* find_known(std::string_view name) noexcept {
  const auto* found = std::ranges::find(known_fields, name, &known_field::name);
  return found != known_fields.end() ? found : nullptr;
}

/// Appends the columns of one field: several for an object in a CSV file, because a cell with JSON
/// text is hard to use.
void add_known(std::vector<output_column>& out, const known_field& field, output_format format) {
  const auto prefix = std::string{field.name} + '.';
  const auto has_members =
      std::ranges::any_of(known_fields, [&](const auto& f) { return f.name.starts_with(prefix); });
  if (format != output_format::csv || !has_members) {
    out.push_back({std::string{field.name}, std::string{field.name}});
    return;
  }
  for (const auto& member : known_fields)
    if (member.name.starts_with(prefix))
      out.push_back({std::string{member.name}, std::string{member.name}});
}

error unknown_field(std::string_view name, std::span<const std::string> response_names,
                    std::span<const std::string> input_names) {
  auto known = std::vector<std::string>{"id"};
  for (const auto& field : known_fields)
    known.emplace_back(field.name);
  if (!response_names.empty())
    known.emplace_back("response");
  for (const auto& one : response_names)
    known.push_back(std::string{response_prefix} + one);
  known.insert(known.end(), input_names.begin(), input_names.end());
  const auto meant = std::ranges::find(response_names, name) != response_names.end()
                         ? std::optional{std::string{response_prefix}.append(name)}
                         : similar_word(name, known);
  return {errc::invalid_argument,
          fmt::format("--fields: unknown field {}{}; known fields: {}", quoted_excerpt(name),
                      meant ? "; did you mean '" + *meant + "'?" : std::string{},
                      fmt::join(known, ", "))};
}

bool contains(std::span<const std::string> names, std::string_view name) noexcept {
  return std::ranges::find(names, name) != names.end();
}

/// Appends the columns of one name in `--fields`. Returns false if the name is unknown. A member of
/// the response and a column of the input with the same name both get their longer forms, so that
/// the header of the output shows which of them it is.
bool add_columns(std::vector<output_column>& out, const std::string& name, output_format format,
                 std::span<const std::string> response_names,
                 std::span<const std::string> input_names) {
  if (const auto* known = find_known(name)) {
    add_known(out, *known, format);
    return true;
  }
  const auto add_response = [&](const std::string& member) {
    const auto is_taken = is_row_field(member) || contains(input_names, member);
    out.push_back({is_taken ? std::string{response_prefix} + member : member,
                   std::string{response_prefix} + member});
  };
  if (name == "response" && !response_names.empty()) {
    std::ranges::for_each(response_names, add_response);
    return true;
  }
  if (name.starts_with(response_prefix) &&
      contains(response_names, name.substr(response_prefix.size()))) {
    add_response(name.substr(response_prefix.size()));
    return true;
  }
  const auto has_prefix = name.starts_with(columns_prefix);
  const auto column = has_prefix ? name.substr(columns_prefix.size()) : name;
  if (!contains(input_names, column))
    return false;
  const auto is_taken = is_row_field(column) || contains(response_names, column);
  const auto path = std::string{columns_prefix} + column;
  out.push_back({is_taken ? path : column, path});
  return true;
}

void append_text_of(std::string& out, dom::element content) {
  auto text = std::string_view{};
  auto blocks = dom::array{};
  if (content.get(text) == simdjson::SUCCESS)
    out += text;
  if (content.get(blocks) != simdjson::SUCCESS)
    return;
  for (auto block : blocks) {
    auto type = std::string_view{};
    if (block.get(text) == simdjson::SUCCESS ||
        (block["type"].get(type) == simdjson::SUCCESS && type == "text" &&
         block["text"].get(text) == simdjson::SUCCESS))
      out += text;
  }
}

/// Returns the text of the row's last AI message; nullopt if the row has none.
std::optional<std::string> answer_of(dom::object line) {
  auto out = std::string{};
  auto content = dom::element{};
  auto messages = dom::array{};
  if (line["response"]["body"]["choices"].at(0)["message"]["content"].get(content) ==
      simdjson::SUCCESS) {
    append_text_of(out, content);
    return out;
  }
  if (line["output"]["messages"].get(messages) != simdjson::SUCCESS)
    return std::nullopt;
  auto last = std::optional<dom::element>{};
  for (auto said : messages) {
    auto type = std::string_view{};
    if (said["type"].get(type) == simdjson::SUCCESS && type == "ai" &&
        said["content"].get(content) == simdjson::SUCCESS)
      last = content;
  }
  if (!last)
    return std::nullopt;
  append_text_of(out, *last);
  return out;
}

void append_csv_text(std::string& out, std::string_view text) {
  out += '"';
  for (const auto c : text) {
    if (c == '\0') { // most readers of CSV end a field at this character
      out += "\xEF\xBF\xBD";
      continue;
    }
    if (c == '"')
      out += '"';
    out += c;
  }
  out += '"';
}

/// Appends a value to a JSON line or to a CSV record.
class cell_writer {
public:
  cell_writer(std::string& out, output_format format) : out_{out}, format_{format} {}

  void put_text(std::string_view text) {
    if (format_ == output_format::csv)
      append_csv_text(out_, text);
    else
      append_quoted(out_, text);
  }
  void put_null() {
    if (format_ != output_format::csv)
      out_ += "null";
  }
  /// Puts an amount of dollars, without an exponent, as in whole lines.
  void put_usd(double dollars) {
    constexpr auto billionths = 1e9;
    append_usd(out_, std::llround(dollars * billionths));
  }
  void put(dom::element value) {
    auto text = std::string_view{};
    if (value.is_null())
      put_null();
    else if (value.get(text) == simdjson::SUCCESS)
      put_text(text);
    else if (format_ == output_format::csv && (value.is_array() || value.is_object()))
      append_csv_text(out_, to_text(to_json_value(value)));
    else
      append_text(out_, to_json_value(value));
  }

private:
  std::string& out_;
  output_format format_;
};

/// A column with its places in both kinds of lines.
struct resolved_column {
  std::string name;
  const known_field* known = nullptr; ///< null for a column of the input or of the response
  std::string path;                   ///< in native lines, if `known` is null
};

} // namespace

bool is_row_field(std::string_view name) noexcept {
  return find_known(name) != nullptr || name == "id";
}

result<std::vector<output_column>> columns_of(const std::vector<std::string>& fields,
                                              output_format format,
                                              std::span<const std::string> response_names,
                                              std::span<const std::string> input_names) {
  auto out = std::vector<output_column>{{"id", "id"}};
  auto wanted = fields;
  if (wanted.empty()) {
    wanted.assign(default_csv_fields.begin(), default_csv_fields.end());
    if (!response_names.empty())
      wanted.emplace_back("response");
  }
  for (const auto& name : wanted)
    if (name != "id" && !add_columns(out, name, format, response_names, input_names))
      return unknown_field(name, response_names, input_names);
  for (auto one = out.begin(); one != out.end(); ++one)
    if (std::ranges::find(out.begin(), one, one->name, &output_column::name) != one)
      return error{errc::invalid_argument,
                   "--fields: the field " + quoted_excerpt(one->name) + " is given twice"};
  return out;
}

struct field_writer::impl {
  dom::parser parser;
  std::vector<resolved_column> columns;
  output_format format;

  void put(cell_writer& into, const resolved_column& column, dom::object line) const;
};

/// Writes the value of one column.
void field_writer::impl::put(cell_writer& into, const resolved_column& column,
                             dom::object line) const {
  if (column.name == "id")
    return into.put_text(key_of(line));
  if (column.name == "answer" && column.known != nullptr) {
    const auto answer = answer_of(line);
    return answer ? into.put_text(*answer) : into.put_null();
  }
  const auto is_request = line.at_key("response").error() == simdjson::SUCCESS;
  if (column.known == nullptr || !is_request) {
    const auto value = value_at(line, column.known != nullptr ? column.known->native : column.path);
    if (column.known != nullptr && column.known->name == "cost" && value && value->is_double())
      return into.put_usd(value->get_double().value_unsafe());
    return value ? into.put(*value) : into.put_null();
  }
  if (column.name == "status")
    return into.put_text(has_failed(line) ? "error" : "ok");
  auto value = column.known->request.empty() ? std::nullopt : value_at(line, column.known->request);
  // An error that the server reported with an HTTP status is in the body of the response.
  const auto is_error = column.name == "error" || column.name.starts_with("error.");
  if (is_error && (!value || value->is_null()))
    value = value_at(line, "response.body." + column.name);
  if (column.name == "error.http_status" && has_failed(line))
    value = value_at(line, "response.status_code");
  return value ? into.put(*value) : into.put_null();
}

field_writer::field_writer(std::vector<output_column> columns, output_format format)
    : impl_{std::make_unique<impl>()} {
  impl_->format = format;
  for (auto& column : columns) {
    const auto* known = find_known(column.path);
    auto path = std::move(column.path);
    if (known == nullptr && path.starts_with(response_prefix))
      path.replace(0, response_prefix.size(), "output.structured_response.");
    impl_->columns.push_back({std::move(column.name), known, std::move(path)});
  }
}

field_writer::field_writer(field_writer&&) noexcept = default;
field_writer::~field_writer() = default;

void field_writer::append_header(std::string& out) const {
  if (impl_->format != output_format::csv)
    return;
  for (const auto& column : impl_->columns) {
    if (&column != impl_->columns.data())
      out += ',';
    append_csv_text(out, column.name);
  }
  out += '\n';
}

result<void> field_writer::append_row(std::string& out, std::string_view line) {
  auto object = dom::object{};
  const auto failed = impl_->parser.parse(line.data(), line.size()).get(object);
  if (failed == simdjson::MEMALLOC)
    throw std::bad_alloc{};
  if (failed != simdjson::SUCCESS)
    return error{errc::parse_failed,
                 "a line of the rows file is not a JSON object: " + quoted_excerpt(line)};
  const auto is_csv = impl_->format == output_format::csv;
  auto cells = cell_writer{out, impl_->format};
  out += is_csv ? "" : "{";
  for (const auto& column : impl_->columns) {
    if (&column != impl_->columns.data())
      out += ',';
    if (!is_csv) {
      append_quoted(out, column.name);
      out += ':';
    }
    impl_->put(cells, column, object);
  }
  out += is_csv ? "\n" : "}\n";
  return {};
}

} // namespace superstep::detail
