// SPDX-License-Identifier: Apache-2.0
// The outcomes of rows as columns, for the adapters of data frameworks. The threads that end the
// runs store the outcomes without the GIL. A column is then converted at once, so that a row costs
// little.
#include "row_block.hpp"

#include "base/utf8.hpp"
#include "convert.hpp"
#include "failure.hpp"
#include "results.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace superstep::python {

namespace {

constexpr auto text_names =
    std::to_array<std::string_view>({"answer", "status", "error", "messages"});
constexpr auto count_names = std::to_array<std::string_view>(
    {"usage_input_tokens", "usage_output_tokens", "steps", "model_calls", "tool_calls"});

/// Returns the position of a name; the number of names if it is not among them.
template <std::size_t Size>
std::size_t position_of(const std::array<std::string_view, Size>& names, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

[[noreturn]] void throw_unknown(std::string_view name) {
  throw nb::key_error(std::string{name}.c_str());
}

/// Returns a new object of type bytes whose content the caller writes.
nb::object new_bytes(std::size_t size) {
  auto* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
  if (made == nullptr)
    throw nb::python_error();
  return nb::steal(made);
}

/// Appends an item to a list that was made with its size.
void set_item(nb::list& list, std::size_t i, nb::object item) {
  PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), item.release().ptr());
}

nb::list new_list(std::size_t size) {
  auto* const made = PyList_New(static_cast<Py_ssize_t>(size));
  if (made == nullptr)
    throw nb::python_error();
  return nb::steal<nb::list>(made);
}

/// Returns a conversation as JSON text, whose memory has its size.
std::string json_of(const message_list& messages) {
  constexpr auto kept_max = std::size_t{1} << 20U;
  thread_local auto buffer = std::string{}; // grows to the size of the usual conversations
  buffer.clear();
  append_json(buffer, messages);
  auto out = buffer;
  if (buffer.capacity() > kept_max)
    buffer = {};
  return out;
}

} // namespace

void row_result::set(run_result<chat_state> result, bool stores_messages) {
  const auto& state = result.state;
  status_ = result.status;
  failure_ = std::move(result.error);
  if (!state.messages.empty() && state.messages.back().type == message_type::ai)
    answer_ = valid_utf8(superstep::text_of(state.messages.back()));
  if (stores_messages)
    messages_ = valid_utf8(json_of(state.messages));
  counts_ = {state.usage.input_tokens, state.usage.output_tokens,
             static_cast<std::int64_t>(result.stats.steps), std::int64_t{state.model_calls},
             std::int64_t{state.tool_calls}};
}

void row_result::describe_failure() {
  if (const auto failed = std::exchange(failure_, std::nullopt))
    error_ = describe_exception(handled_exception_of(*failed));
}

void row_block::describe_failures() {
  if (std::exchange(are_failures_texts_, true))
    return;
  for (auto& row : rows_)
    row.describe_failure();
}

std::string_view row_block::text_of(const row_result& row, std::size_t column) const noexcept {
  switch (column) {
  case 0:
    return row.answer_;
  case 1:
    return status_name(row.status_);
  case 2:
    return row.error_;
  default:
    return row.messages_;
  }
}

nb::list row_block::column(std::string_view name) {
  describe_failures();
  auto out = new_list(rows_.size());
  if (const auto at = position_of(text_names, name); at < text_names.size()) {
    auto before = nb::object{}; // the texts of many rows are equal
    auto before_text = std::string_view{};
    for (auto i = std::size_t{0}; i < rows_.size(); ++i) {
      const auto text = text_of(rows_[i], at);
      if (!before.is_valid() || text != before_text) {
        before = to_python(text);
        before_text = text;
      }
      set_item(out, i, before);
    }
    return out;
  }
  const auto at = position_of(count_names, name);
  if (at == count_names.size())
    throw_unknown(name);
  for (auto i = std::size_t{0}; i < rows_.size(); ++i)
    set_item(out, i, nb::int_(rows_[i].counts_[at]));
  return out;
}

template <class Offset>
nb::tuple row_block::text_buffers(std::size_t column, std::size_t bytes) const {
  const auto offsets = new_bytes((rows_.size() + 1) * sizeof(Offset));
  const auto characters = new_bytes(bytes);
  auto* offset = PyBytes_AsString(offsets.ptr());
  auto* const begin = PyBytes_AsString(characters.ptr());
  auto end = std::size_t{0};
  const auto write_offset = [&] {
    const auto value = static_cast<Offset>(end);
    std::memcpy(offset, &value, sizeof value);
    offset += sizeof value;
  };
  write_offset();
  for (const auto& row : rows_) {
    const auto text = text_of(row, column);
    std::ranges::copy(text, begin + end);
    end += text.size();
    write_offset();
  }
  return nb::make_tuple(offsets, characters);
}

nb::tuple row_block::buffers(std::string_view name) {
  describe_failures();
  if (const auto at = position_of(text_names, name); at < text_names.size()) {
    auto bytes = std::size_t{0};
    for (const auto& row : rows_)
      bytes += text_of(row, at).size();
    return bytes <= std::size_t{std::numeric_limits<std::int32_t>::max()}
               ? text_buffers<std::int32_t>(at, bytes)
               : text_buffers<std::int64_t>(at, bytes);
  }
  const auto at = position_of(count_names, name);
  if (at == count_names.size())
    throw_unknown(name);
  const auto numbers = new_bytes(rows_.size() * sizeof(std::int64_t));
  auto* to = PyBytes_AsString(numbers.ptr());
  for (const auto& row : rows_) {
    std::memcpy(to, &row.counts_[at], sizeof(std::int64_t));
    to += sizeof(std::int64_t);
  }
  return nb::make_tuple(nb::none(), numbers);
}

} // namespace superstep::python
