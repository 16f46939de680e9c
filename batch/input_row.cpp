// SPDX-License-Identifier: Apache-2.0
// Parses and checks one line of a job's input with simdjson. scan.cpp calls this for each line.
#include "batch/input_row.hpp"

#include "base/utf8.hpp"
#include "element_json.hpp"

#include <superstep/base/detail/assert.hpp>

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace superstep {
namespace {

namespace dom = simdjson::dom;
using detail::bad_member;
using detail::quoted_excerpt;

// The allowed members of each format. All three lists contain `error`, so that a file of dead
// letters can be used as input.
constexpr auto openai_members =
    std::array<std::string_view, 5>{"custom_id", "method", "url", "body", "error"};
constexpr auto native_members =
    std::array<std::string_view, 6>{"id", "input", "thread_id", "config", "tags", "error"};
constexpr auto chat_members =
    std::array<std::string_view, 4>{"custom_id", "id", "messages", "error"};

std::span<const std::string_view> members_of(row_shape shape) noexcept {
  switch (shape) {
  case row_shape::openai:
    return openai_members;
  case row_shape::native:
    return native_members;
  case row_shape::chat:
    break;
  }
  return chat_members;
}

std::string joined(std::span<const std::string_view> names) {
  auto out = std::string{};
  for (const auto name : names)
    out.append(out.empty() ? "" : ", ").append(name);
  return out;
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
                   (names.empty() ? "no members" : "only " + names)};
}

// Rejects unknown and duplicate members. `seen` has one bit for each allowed member. Rows have few
// members, so a linear search is fastest.
result<void> check_members(dom::object row, row_shape shape) {
  const auto known = members_of(shape);
  auto seen = std::uint32_t{0};
  for (auto [name, value] : row) {
    auto found = std::ranges::find(known, name);
    if (found == known.end())
      return error{errc::parse_failed, "unknown member " + quoted_excerpt(name) + " in a " +
                                           std::string{name_of(shape)} +
                                           " row; known members: " + joined(known)};
    auto bit = 1U << static_cast<unsigned>(found - known.begin());
    if ((seen & bit) != 0)
      return error{errc::parse_failed, "duplicate member " + quoted_excerpt(name)};
    seen |= bit;
  }
  return {};
}

// Reads the key of a row. A row without a key uses its line number, unless the parser got none.
result<void> read_key(dom::object row, std::string_view name, input_row& into) {
  auto value = std::string_view{};
  auto number = std::string{};
  if (into.line != 0 && !has(row, name)) {
    number = std::to_string(into.line);
    value = number;
    into.is_numbered = true;
  } else if (row.at_key(name).get(value) != simdjson::SUCCESS || value.empty())
    return bad_member(name, "a non-empty string, because it is the row's key");
  if (value.size() > row_key_bytes_max)
    return bad_member(name, "at most " + std::to_string(row_key_bytes_max) + " bytes long");
  into.key_name = name;
  into.request.key = value;
  into.request.config.run_id = value;
  into.request.config.recursion_limit = 0; // 0: the row specifies no limit, so the job's applies
  return {};
}

result<void> read_messages(dom::element value, std::string_view where, message_list& into) {
  auto list = dom::array{};
  if (value.get(list) != simdjson::SUCCESS)
    return bad_member(where, "a list of messages");
  auto i = std::size_t{0};
  for (auto item : list) {
    auto read = detail::read_message(item, std::string{where} + "[" + std::to_string(i) + "]");
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
  if (auto key = read_key(row, "custom_id", into); !key)
    return key;
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
  if (auto key = read_key(row, "id", into); !key)
    return key;
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
  const auto has_custom_id = has(row, "custom_id");
  if (has_custom_id && has(row, "id"))
    return error{errc::parse_failed, R"("custom_id" and "id" are both present; use only one)"};
  if (auto key = read_key(row, has_custom_id ? "custom_id" : "id", into); !key)
    return key;
  auto read = read_messages(row["messages"].value_unsafe(), "messages", into.request.messages);
  if (read && into.request.messages.empty())
    return bad_member("messages", "a list of at least one message");
  return read;
}

} // namespace

std::string_view name_of(row_shape shape) noexcept {
  switch (shape) {
  case row_shape::openai:
    return "batch request";
  case row_shape::native:
    return "native";
  case row_shape::chat:
    break;
  }
  return "chat";
}

struct row_parser::impl {
  dom::parser parser;
  std::optional<row_shape> shape;

  result<input_row> parse(std::string_view line, std::uint64_t number);
};

result<input_row> row_parser::impl::parse(std::string_view line, std::uint64_t number) {
  auto document = dom::element{};
  if (auto failed = parser.parse(line.data(), line.size()).get(document)) {
    if (const auto fault = find_encoding_fault(line))
      return error{errc::parse_failed, fault->text + "; convert the file, for example with iconv"};
    // simdjson has one general code, with a long text, for most syntax errors.
    const auto why = failed == simdjson::TAPE_ERROR
                         ? std::string{}
                         : std::string{" ("} + simdjson::error_message(failed) + ")";
    return error{errc::parse_failed, "not JSON" + why +
                                         ": each line must be one complete JSON object, not " +
                                         quoted_excerpt(line)};
  }
  auto row = dom::object{};
  if (document.get(row) != simdjson::SUCCESS)
    return error{errc::parse_failed, "must be a JSON object, not " + quoted_excerpt(line)};
  auto found = shape_of(row);
  if (!found)
    return found.error();
  if (shape && *shape != *found)
    return error{errc::parse_failed,
                 "a " + std::string{name_of(*found)} + " row in a file that begins with a " +
                     std::string{name_of(*shape)} + " row; all rows must have the same format"};
  if (auto members = check_members(row, *found); !members)
    return members.error();
  auto into = input_row{};
  into.shape = *found;
  into.line = number;
  into.has_error = has(row, "error");
  auto read = *found == row_shape::openai   ? read_openai(row, into)
              : *found == row_shape::native ? read_native(row, into)
                                            : read_chat(row, into);
  if (!read)
    return read.error();
  shape = found.value(); // only a valid line determines the format of the file
  return into;
}

row_parser::row_parser() : impl_{std::make_unique<impl>()} {}
row_parser::row_parser(row_parser&&) noexcept = default;
row_parser::~row_parser() = default;

result<input_row> row_parser::parse(std::string_view line, std::uint64_t number) {
  SUPERSTEP_ASSERT(impl_);
  return impl_->parse(line, number);
}

std::optional<row_shape> row_parser::shape() const noexcept {
  return impl_->shape;
}

} // namespace superstep
