// SPDX-License-Identifier: Apache-2.0
// Parses and checks one line of a job's input with simdjson. scan.cpp calls this for each line.
#include "batch/input_row.hpp"

#include "base/utf8.hpp"
#include "element_json.hpp"
#include "json_text.hpp"
#include "written_line.hpp"

#include <superstep/base/detail/assert.hpp>

#include <boost/container/small_vector.hpp>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <new>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace superstep {
namespace {

namespace dom = simdjson::dom;
using detail::bad_member;
using detail::quoted_excerpt;

// The members of each format; all others are columns.
constexpr auto openai_members = std::array<std::string_view, 3>{"method", "url", "body"};
constexpr auto native_members =
    std::array<std::string_view, 4>{"input", "thread_id", "config", "tags"};
constexpr auto chat_members = std::array<std::string_view, 1>{"messages"};

std::span<const std::string_view> members_of(row_shape shape) noexcept {
  switch (shape) {
  case row_shape::openai:
    return openai_members;
  case row_shape::native:
    return native_members;
  case row_shape::columns:
    return {};
  case row_shape::chat:
    break;
  }
  return chat_members;
}

bool has(dom::object row, std::string_view name) noexcept {
  return row.at_key(name).error() == simdjson::SUCCESS;
}

result<row_shape> shape_of(dom::object row) {
  if (has(row, "body") || has(row, "url"))
    return row_shape::openai;
  if (has(row, "input"))
    return row_shape::native;
  if (has(row, "messages"))
    return row_shape::chat;
  auto names = std::string{};
  constexpr auto names_shown = 5;
  auto count = 0;
  for (auto [name, value] : row)
    if (++count <= names_shown)
      names += (names.empty() ? "" : ", ") + quoted_excerpt(name);
  if (count > names_shown)
    names += ", …";
  return error{errc::parse_failed,
               "unknown kind of row: it must have the member \"messages\" (chat "
               "row), \"input\" (native row) or \"body\" (batch request), but "
               "has " +
                   (names.empty() ? "no members" : "only " + names) +
                   "; for rows with columns of your own, set the key input of the agent file"};
}

/// The names of columns in the order of their first use.
class column_names {
public:
  void add(std::string_view name) {
    constexpr auto names_max = std::size_t{1'000};
    if (seen_.size() < names_max && !seen_.contains(name)) {
      seen_.emplace(name);
      list_.emplace_back(name);
    }
  }
  [[nodiscard]] const std::vector<std::string>& list() const noexcept { return list_; }

private:
  std::set<std::string, std::less<>> seen_;
  std::vector<std::string> list_;
};

result<void> check_unique(dom::object row) {
  auto names = boost::container::small_vector<std::string_view, 16>{};
  for (auto [name, value] : row)
    names.push_back(name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return error{errc::parse_failed, "duplicate member " + quoted_excerpt(*twice)};
  return {};
}

// Returns the text of the line from which a dead letter was made: without the error that the job
// added, and with the line's own column `error`, which that error contains. Returns nullopt if the
// line is not a dead letter.
std::optional<std::string> line_of_letter(dom::object row) {
  auto failure = dom::element{};
  if (row.at_key("error").get(failure) != simdjson::SUCCESS || !detail::is_row_error(failure))
    return std::nullopt;
  auto out = std::string{"{"};
  for (auto [name, value] : row) {
    if (name == "error" && failure["column"].get(value) != simdjson::SUCCESS)
      continue;
    out += out.size() > 1 ? "," : "";
    detail::append_quoted(out, name);
    out += ':';
    out += simdjson::minify(value);
  }
  return out + '}';
}

// Returns the members of a row that its format does not use, as the text of a JSON object.
// Adds their names to `names`.
std::string other_members(dom::object row, row_shape shape, std::string_view id_member,
                          column_names& names) {
  const auto used = members_of(shape);
  auto out = std::string{};
  for (auto [name, value] : row) {
    if (name == id_member || std::ranges::find(used, name) != used.end())
      continue;
    out += out.empty() ? '{' : ',';
    detail::append_quoted(out, name);
    out += ':';
    out += simdjson::minify(value);
    names.add(name);
  }
  if (!out.empty())
    out += '}';
  return out;
}

// Returns the name of the member with the row's key, unless --id-field names it.
std::string_view default_id_member(dom::object row, row_shape shape) noexcept {
  if (shape == row_shape::openai)
    return "custom_id";
  if (shape == row_shape::native)
    return "id";
  return has(row, "custom_id") ? "custom_id" : "id";
}

// Reads the key of a row of columns. Tables of other programs often have numbers as keys.
bool read_column_key(dom::element value, std::string& into) {
  auto text = std::string_view{};
  auto number = std::int64_t{0};
  auto large = std::uint64_t{0};
  if (value.get(text) == simdjson::SUCCESS)
    into = text;
  else if (value.get(number) == simdjson::SUCCESS)
    into = std::to_string(number);
  else if (value.get(large) == simdjson::SUCCESS)
    into = std::to_string(large);
  else
    return false;
  return !into.empty();
}

// Reads the key of a row. A row without a key uses its line number, unless the parser got none or
// --id-field names the member.
result<void> read_key(dom::object row, const detail::row_format& format, input_row& into) {
  const auto name = std::string_view{into.id_member};
  auto key = std::string{};
  auto value = dom::element{};
  const auto is_missing = row.at_key(name).get(value) != simdjson::SUCCESS;
  const auto is_column = !format.id_field.empty() || into.shape == row_shape::columns;
  if (is_missing && into.line != 0 && format.id_field.empty()) {
    key = std::to_string(into.line);
    into.is_numbered = true;
  } else if (is_column) {
    if (is_missing && !format.id_field.empty())
      return error{errc::parse_failed,
                   "the row has no member " + quoted_excerpt(name) + ", which --id-field names"};
    if (is_missing || !read_column_key(value, key))
      return bad_member(name, "a non-empty string or an integer, because it is the row's key");
  } else {
    auto text = std::string_view{};
    if (!is_missing && !value.is_string() && read_column_key(value, key))
      return bad_member(name,
                        "a string, because it is the row's key; for integers, use --id-field " +
                            std::string{name});
    if (is_missing || value.get(text) != simdjson::SUCCESS || text.empty())
      return bad_member(name, "a non-empty string, because it is the row's key");
    key = text;
  }
  if (key.size() > row_key_bytes_max)
    return bad_member(name, "at most " + std::to_string(row_key_bytes_max) + " bytes long");
  into.request.config.run_id = key;
  into.request.config.recursion_limit = 0; // 0: the row specifies no limit, so the job's applies
  into.request.key = std::move(key);
  return {};
}

result<void> read_messages(dom::element value, std::string_view where, message_list& into) {
  auto list = dom::array{};
  if (value.get(list) != simdjson::SUCCESS)
    return bad_member(where, "a list of messages");
  auto i = std::size_t{0};
  for (auto item : list) {
    auto read = detail::read_message(item, where, i);
    if (!read)
      return read.error();
    into.push_back(std::move(*read));
    ++i;
  }
  return {};
}

result<void> expect_text(dom::object row, std::string_view name, std::string_view text) {
  auto value = std::string_view{};
  if (row.at_key(name).get(value) != simdjson::SUCCESS || value != text)
    return bad_member(name, '"' + std::string{text} + '"');
  return {};
}

// Reads the body of a batch request. Rejects members that a batch cannot support. All other members
// except `messages` are passed to the model as parameters, and the model checks them.
result<void> read_body(dom::object body, row_request& into) {
  for (auto [name, value] : body) {
    if (name == "messages") {
      if (auto read = read_messages(value, "body.messages", into.messages); !read)
        return read;
    } else if (name == "stream" || name == "stream_options") {
      if (auto streams = false; value.get(streams) != simdjson::SUCCESS || streams)
        return bad_member("body." + std::string{name}, "absent, because batches do not stream");
    } else if (name == "n") {
      if (auto n = std::int64_t{0}; value.get(n) != simdjson::SUCCESS || n != 1)
        return bad_member("body.n", "1, because a row has one answer");
    } else if (name == "tools" || name == "tool_choice" || name == "functions") {
      return bad_member("body." + std::string{name},
                        "absent, because the agent file defines the tools");
    } else {
      into.parameters.insert_or_assign(name, detail::to_json_value(value));
    }
  }
  if (into.messages.empty())
    return bad_member("body.messages", "a list of at least one message");
  return {};
}

result<void> read_openai(dom::object row, input_row& into) {
  if (auto method = expect_text(row, "method", "POST"); !method)
    return method;
  if (auto url = expect_text(row, "url", "/v1/chat/completions"); !url)
    return url;
  auto body = dom::object{};
  if (row.at_key("body").get(body) != simdjson::SUCCESS)
    return bad_member("body", "an object: the body of a chat completion request");
  return read_body(body, into.request);
}

result<void> read_config(dom::object config, run_config& into) {
  for (auto [name, value] : config) {
    auto where = "config." + std::string{name};
    auto object = dom::object{};
    if (name == "recursion_limit") {
      auto limit = std::uint64_t{0};
      if (value.get(limit) != simdjson::SUCCESS || limit == 0 ||
          limit > std::numeric_limits<std::uint32_t>::max())
        return bad_member(where, "a number of super-steps, at least 1");
      into.recursion_limit = static_cast<std::uint32_t>(limit);
    } else if (name == "configurable" || name == "metadata") {
      if (value.get(object) != simdjson::SUCCESS)
        return bad_member(where, "an object");
      (name == "metadata" ? into.metadata : into.configurable) = detail::to_json_object(object);
    } else {
      return error{errc::parse_failed,
                   "unknown member " + quoted_excerpt(where) +
                       "; known members: recursion_limit, configurable, metadata"};
    }
  }
  return {};
}

result<void> read_tags(dom::element value, std::vector<std::string>& into) {
  auto list = dom::array{};
  if (value.get(list) != simdjson::SUCCESS)
    return bad_member("tags", "a list of strings");
  for (auto item : list) {
    auto tag = std::string_view{};
    if (item.get(tag) != simdjson::SUCCESS)
      return bad_member("tags", "a list of strings");
    into.emplace_back(tag);
  }
  return {};
}

result<void> read_state(dom::element value, row_request& into) {
  auto state = dom::object{};
  if (value.get(state) != simdjson::SUCCESS)
    return bad_member("input", "an object with the initial state, such as {\"messages\": […]}");
  for (auto [name, member] : state) {
    if (name == "messages") {
      if (auto read = read_messages(member, "input.messages", into.messages); !read)
        return read;
    } else {
      into.input.insert_or_assign(name, detail::to_json_value(member));
    }
  }
  return {};
}

result<void> read_native(dom::object row, input_row& into) {
  for (auto [name, value] : row) {
    auto read = result<void>{};
    auto object = dom::object{};
    auto text = std::string_view{};
    const auto is_optional = name == "thread_id" || name == "config" || name == "tags";
    if (name == "input") {
      read = read_state(value, into.request);
    } else if (is_optional && value.is_null()) {
      continue;
    } else if (name == "thread_id") {
      if (value.get(text) != simdjson::SUCCESS)
        return bad_member(name, "a string");
      into.request.config.thread_id = text;
    } else if (name == "config") {
      if (value.get(object) != simdjson::SUCCESS)
        return bad_member(name, "an object");
      read = read_config(object, into.request.config);
    } else if (name == "tags") {
      read = read_tags(value, into.request.config.tags);
    }
    if (!read)
      return read;
  }
  return {};
}

result<void> read_chat(dom::object row, input_row& into) {
  auto read = read_messages(row["messages"].value_unsafe(), "messages", into.request.messages);
  if (read && into.request.messages.empty())
    return bad_member("messages", "a list of at least one message");
  return read;
}

// Returns the text that a column's value has in a message.
std::string text_of(dom::element value) {
  auto text = std::string_view{};
  if (value.get(text) == simdjson::SUCCESS)
    return std::string{text};
  return value.is_null() ? std::string{} : simdjson::minify(value);
}

// Returns the text of a member, or of a member of nested objects if `name` contains dots.
std::optional<std::string> find_column(dom::object row, std::string_view name) {
  const auto value = detail::value_at(row, name);
  return value ? std::optional{text_of(*value)} : std::nullopt;
}

result<void> read_columns(dom::object row, const message_template& messages, input_row& into) {
  auto filled = messages.fill([row](std::string_view name) { return find_column(row, name); });
  if (!filled)
    return filled.error();
  into.request.messages = std::move(*filled);
  return {};
}

/// Returns advice for a line that may be one of a CSV file; else an empty text.
std::string csv_hint(std::string_view line) {
  return !line.starts_with('{') && line.find(',') != std::string_view::npos
             ? "; a CSV needs --input-format csv"
             : "";
}

} // namespace

std::string find_row_key(const json::object& row, const std::string& id_field, std::uint64_t line) {
  // A text as `input` is a column of a table, or of rows for a template of messages.
  const auto* const input = row.if_contains("input");
  const auto is_native =
      input != nullptr && input->is_object() && !row.contains("body") && !row.contains("url");
  for (const auto* name : {id_field.c_str(), is_native ? "id" : "custom_id", "id"})
    if (const auto* const found = row.if_contains(name); found && found->is_string())
      return std::string{found->get_string()};
    else if (found != nullptr && (found->is_int64() || found->is_uint64()))
      return to_text(*found);
  return std::to_string(line);
}

std::string_view name_of(row_shape shape) noexcept {
  switch (shape) {
  case row_shape::openai:
    return "batch request";
  case row_shape::native:
    return "native";
  case row_shape::columns:
    return "column";
  case row_shape::chat:
    break;
  }
  return "chat";
}

struct row_parser::impl {
  explicit impl(detail::row_format of_file) : format{std::move(of_file)} {}

  detail::row_format format;
  dom::parser parser;
  std::optional<row_shape> shape;
  column_names names;

  result<void> parse(std::string_view line, input_row& into);
  result<dom::object> read_object(std::string_view line);
  result<row_shape> read_shape(dom::object row) const;
};

result<dom::object> row_parser::impl::read_object(std::string_view line) {
  auto document = dom::element{};
  if (auto failed = parser.parse(line.data(), line.size()).get(document)) {
    if (failed == simdjson::MEMALLOC)
      throw std::bad_alloc{}; // the line may be valid; there was too little memory to parse it
    if (const auto fault = find_encoding_fault(line))
      return error{errc::parse_failed, fault->text + "; " + fault->advice};
    // simdjson has one general code, with a long text, for most syntax errors.
    const auto why = failed == simdjson::TAPE_ERROR
                         ? std::string{}
                         : std::string{" ("} + simdjson::error_message(failed) + ")";
    return error{errc::parse_failed, "not JSON" + why +
                                         ": each line must be one complete JSON object, not " +
                                         quoted_excerpt(line) + csv_hint(line)};
  }
  auto row = dom::object{};
  if (document.get(row) != simdjson::SUCCESS)
    return error{errc::parse_failed, "must be a JSON object, not " + quoted_excerpt(line)};
  return row;
}

result<row_shape> row_parser::impl::read_shape(dom::object row) const {
  if (format.messages)
    return row_shape::columns;
  auto found = shape_of(row);
  if (found && shape && *shape != *found)
    return error{errc::parse_failed,
                 "a " + std::string{name_of(*found)} + " row in a file that begins with a " +
                     std::string{name_of(*shape)} + " row; all rows must have the same format"};
  return found;
}

/// @pre into.line is set
result<void> row_parser::impl::parse(std::string_view line, input_row& into) {
  auto text = std::string{}; // simdjson copies what it needs
  if (format.columns) {
    auto converted = format.columns->to_json(line);
    if (!converted)
      return converted.error();
    text = std::move(*converted);
    line = text;
  }
  auto object = read_object(line);
  if (!object)
    return object.error();
  if (auto checked = check_unique(*object); !checked)
    return checked.error();
  into.has_error = has(*object, "error");
  if (auto original = into.has_error ? line_of_letter(*object) : std::nullopt) {
    text = *std::move(original);
    object = read_object(text);
    if (!object)
      return object.error();
  }
  const auto row = *object;
  auto found = read_shape(row);
  if (!found)
    return found.error();
  if (format.id_field.empty() && has(row, "custom_id") && has(row, "id") &&
      *found != row_shape::openai && *found != row_shape::native)
    return error{errc::parse_failed, R"("custom_id" and "id" are both present; use only one, or )"
                                     R"(name the one to use with --id-field)"};
  into.shape = *found;
  into.id_member = format.id_field.empty() ? default_id_member(row, *found) : format.id_field;
  into.key_name = into.id_member == "custom_id" || *found == row_shape::openai ? "custom_id" : "id";
  auto read = read_key(row, format, into);
  if (read)
    read = *found == row_shape::openai    ? read_openai(row, into)
           : *found == row_shape::native  ? read_native(row, into)
           : *found == row_shape::columns ? read_columns(row, *format.messages, into)
                                          : read_chat(row, into);
  if (!read)
    return read;
  into.columns = other_members(row, *found, into.id_member, names);
  shape = found.value(); // only a valid line determines the format of the file
  return {};
}

row_parser::row_parser(detail::row_format format)
    : impl_{std::make_unique<impl>(std::move(format))} {}
row_parser::row_parser(row_parser&&) noexcept = default;
row_parser::~row_parser() = default;

result<input_row> row_parser::parse(std::string_view line, std::uint64_t number) {
  SUPERSTEP_ASSERT(impl_);
  auto out = result<input_row>{};
  out->line = number;
  if (auto parsed = impl_->parse(line, *out); !parsed)
    out = parsed.error();
  return out;
}

std::vector<std::string> row_parser::columns() const {
  return impl_->names.list();
}

std::optional<row_shape> row_parser::shape() const noexcept {
  return impl_->shape;
}

} // namespace superstep
