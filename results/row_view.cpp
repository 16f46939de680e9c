// SPDX-License-Identifier: Apache-2.0
// Shows one row of an output file: numbers, conversation and error.
#include "results/row_view.hpp"

#include "base/ascii_text.hpp"
#include "base/error_words.hpp"
#include "base/similar_word.hpp"
#include "base/visible_text.hpp"
#include "batch/usd_text.hpp"
#include "results/result_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::results {

namespace {

/// Longest content of a message that is printed as a whole.
constexpr auto content_bytes_max = std::size_t{100'000};

const json::value* find(const json::object& from, std::string_view name) {
  const auto* const found = from.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string text_at(const json::object& from, std::string_view name) {
  const auto* const found = find(from, name);
  return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

/// Returns a scalar, or compact JSON.
std::string plain(const json::value& value) {
  return value.is_string() ? std::string{value.get_string()} : superstep::to_text(value);
}

std::string indented(const std::string& text, std::string_view by) {
  auto out = std::string{by};
  const auto shown = std::string_view{text}.substr(0, content_bytes_max);
  for (auto i = std::size_t{0}; i < shown.size(); ++i) {
    if (shown.substr(i, 2) == "\r\n") // the line break of Windows
      continue;
    out += shown[i];
    if (shown[i] == '\n')
      out += by;
  }
  if (text.size() > content_bytes_max)
    out += fmt::format("… ({} bytes)", text.size());
  return out + '\n';
}

/// Returns the arguments of a call: those of superstep's form, or the text of OpenAI's form.
std::string call_text(const json::value& call) {
  if (!call.is_object())
    return superstep::to_text(call);
  const auto& members = call.get_object();
  if (const auto* const function = find(members, "function"); function && function->is_object())
    return text_at(function->get_object(), "name") + ' ' +
           text_at(function->get_object(), "arguments");
  const auto* const args = find(members, "args");
  return text_at(members, "name") + ' ' +
         (args != nullptr ? superstep::to_text(*args) : std::string{"{}"});
}

std::string message_text(const json::object& message) {
  auto type = text_at(message, "type");
  if (type.empty())
    type = text_at(message, "role");
  auto out = type;
  if (const auto name = text_at(message, "name"); !name.empty())
    out += ' ' + name;
  if (text_at(message, "status") == "error")
    out += " (error)";
  if (const auto id = text_at(message, "tool_call_id"); !id.empty())
    out += " [" + id + ']';
  if (const auto* const usage = find(message, "usage_metadata"); usage && usage->is_object()) {
    const auto* const in = find(usage->get_object(), "input_tokens");
    const auto* const made = find(usage->get_object(), "output_tokens");
    if (in != nullptr && made != nullptr)
      out += fmt::format(" ({} tokens in, {} out)", superstep::to_text(*in),
                         superstep::to_text(*made));
  }
  out += '\n';
  if (const auto* const content = find(message, "content"); content != nullptr) {
    const auto text = plain(*content);
    if (!text.empty())
      out += indented(text, "  ");
  }
  if (const auto* const calls = find(message, "tool_calls"); calls && calls->is_array())
    for (const auto& call : calls->get_array())
      out += "  -> " + call_text(call) +
             (call.is_object() ? " [" + text_at(call.get_object(), "id") + "]" : std::string{}) +
             '\n';
  return out;
}

/// Returns the super-step in a message id (`key-step-position`), 0 if the id has another form.
std::uint64_t step_of(const json::object& message, const std::string& key) {
  const auto id = text_at(message, "id");
  const auto prefix = key + '-';
  if (!id.starts_with(prefix))
    return 0;
  const auto end = id.find('-', prefix.size());
  auto step = std::uint64_t{0};
  for (const auto c : std::string_view{id}.substr(prefix.size(), end - prefix.size())) {
    if (end == std::string::npos || c < '0' || c > '9')
      return 0;
    step = 10 * step + static_cast<std::uint64_t>(c - '0');
  }
  return step;
}

std::string conversation_text(const json::array& messages, const std::string& key) {
  auto out = std::string{};
  auto shown = std::uint64_t{0};
  for (const auto& one : messages) {
    if (!one.is_object())
      continue;
    if (const auto step = step_of(one.get_object(), key); step > shown) {
      out += fmt::format("\n-- super-step {}\n", step);
      shown = step;
    }
    out += message_text(one.get_object());
  }
  return out;
}

/// The model calls and tokens of a row.
struct call_sums {
  std::uint64_t calls = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
};

std::uint64_t number_at(const json::object& from, std::string_view name) {
  const auto* const found = find(from, name);
  auto failed = boost::system::error_code{};
  const auto number = found != nullptr ? found->to_number<std::uint64_t>(failed) : 0;
  return failed ? 0 : number;
}

void add_usage(call_sums& sums, const json::object& from, std::string_view name) {
  if (const auto* const usage = find(from, name); usage && usage->is_object()) {
    sums.input_tokens += number_at(usage->get_object(), "input_tokens");
    sums.output_tokens += number_at(usage->get_object(), "output_tokens");
  }
}

/// Returns a line about the model calls of the row whose answers are not in the conversation; empty
/// if there are none.
std::string hidden_calls_text(const json::object& line, const json::array& messages,
                              const std::string& key) {
  auto all = call_sums{number_at(line, "model_calls")};
  add_usage(all, line, "usage");
  auto shown = call_sums{};
  for (const auto& one : messages)
    // The messages of the input have no super-step.
    if (one.is_object() && text_at(one.get_object(), "type") == "ai" &&
        step_of(one.get_object(), key) > 0) {
      ++shown.calls;
      add_usage(shown, one.get_object(), "usage_metadata");
    }
  const auto rest = [](std::uint64_t from, std::uint64_t part) {
    return from > part ? from - part : 0;
  };
  const auto calls = rest(all.calls, shown.calls);
  const auto input = rest(all.input_tokens, shown.input_tokens);
  const auto output = rest(all.output_tokens, shown.output_tokens);
  // The call with which a row has failed has no answer. The error below describes it.
  if (calls == 0 || (find(line, "error") != nullptr && input + output == 0))
    return {};
  return fmt::format(
      "\n-- {} without a message here ({} tokens in, {} out), such as requests for the structured "
      "response, or answers that were rejected; --events shows them\n",
      counted(calls, "model call"), input, output);
}

std::string member_line(std::string_view name, const json::value& value) {
  return fmt::format("{:<15} {}\n", name, plain(value));
}

/// Returns the members of the line that are numbers or short texts, one per line.
std::string members_text(const json::object& line) {
  auto out = std::string{};
  for (const auto& [name, value] : line)
    if (name != "output" && name != "messages" && name != "error" && name != "response" &&
        !value.is_null())
      out += name == "cost" && value.is_double()
                 ? member_line(name, json::string{detail::usd_text(value.get_double())})
                 : member_line(name, value);
  return out;
}

std::string error_text(const json::value& failed) {
  if (!failed.is_object())
    return plain(failed);
  auto out = std::string{};
  for (const auto& [name, value] : failed.get_object())
    if (name != "message")
      out += fmt::format("{} {}, ", std::string{name}, plain(value));
  if (out.ends_with(", "))
    out.resize(out.size() - 2);
  return out + '\n' + indented(text_at(failed.get_object(), "message"), "  ");
}

/// Keeps the ids that are most similar to a word.
class nearest_ids {
public:
  explicit nearest_ids(std::string_view word) : word_{ascii_lower(word)} {}

  void add(std::string id) {
    const auto rank = rank_of(ascii_lower(id));
    if (rank > rank_max())
      return;
    const auto at = std::ranges::upper_bound(ids_, rank, {}, &ranked_id::rank);
    ids_.insert(at, {rank, std::move(id)});
    if (ids_.size() > ids_max)
      ids_.pop_back();
  }
  [[nodiscard]] std::vector<std::string> take() && {
    auto out = std::vector<std::string>{};
    for (auto& one : ids_)
      out.push_back(std::move(one.id));
    return out;
  }

private:
  struct ranked_id {
    std::size_t rank; ///< 0: equal except for upper and lower case, or a repetition of the row
    std::string id;
  };
  static constexpr std::size_t ids_max = 3;

  /// The largest rank of a similar id: as in similar_word().
  [[nodiscard]] std::size_t rank_max() const noexcept { return word_.size() < 5 ? 1 : 2; }
  [[nodiscard]] std::size_t rank_of(const std::string& id) const {
    constexpr auto length_max = std::size_t{64}; // edit_distance() is quadratic
    if (!word_.empty() && id.starts_with(word_))
      return id == word_ || id[word_.size()] == '#' ? 0 : 1; // `id#1` is a repetition of the row
    const auto shorter = std::min(id.size(), word_.size());
    if (std::max(id.size(), word_.size()) - shorter > rank_max() || word_.size() > length_max)
      return rank_max() + 1;
    return edit_distance(word_, id);
  }

  std::string word_;
  std::vector<ranked_id> ids_; ///< the lowest ranks
};

} // namespace

result<found_row> find_row(const std::string& path, const std::string& key) {
  auto reader = result_reader::open(path);
  if (!reader)
    return reader.error();
  auto out = found_row{};
  const auto read = reader->for_each([&]() -> result<void> {
    if (detail::key_of(reader->object()) == key)
      out.line = reader->text();
    return {};
  });
  out.is_torn = reader->is_torn();
  return read ? result<found_row>{std::move(out)} : read.error();
}

result<known_ids> find_similar_ids(const std::string& path, const std::string& key) {
  auto reader = result_reader::open(path);
  if (!reader)
    return reader.error();
  auto nearest = nearest_ids{key};
  auto out = known_ids{};
  const auto read = reader->for_each([&]() -> result<void> {
    auto id = std::string{detail::key_of(reader->object())};
    if (out.first.empty())
      out.first = id;
    nearest.add(std::move(id));
    return {};
  });
  if (!read)
    return read.error();
  out.similar = std::move(nearest).take();
  return out;
}

std::string row_text(const json::object& line) {
  auto key = text_at(line, "custom_id");
  if (key.empty())
    key = text_at(line, "id");
  auto out = members_text(line);
  const auto* messages = find(line, "messages");
  if (const auto* const state = find(line, "output"); state && state->is_object()) {
    messages = find(state->get_object(), "messages");
    for (const auto& [name, value] : state->get_object())
      if (name != "messages")
        out += member_line(name, value);
  }
  if (messages != nullptr && messages->is_array())
    out += '\n' + conversation_text(messages->get_array(), key) +
           hidden_calls_text(line, messages->get_array(), key);
  if (const auto* const response = find(line, "response"))
    out += "\nresponse\n" + indented(superstep::to_text(*response), "  ");
  if (const auto* const failed = find(line, "error"))
    out += "\nerror: " + error_text(*failed);
  while (out.ends_with('\n'))
    out.pop_back();
  return visible_text(out);
}

} // namespace superstep::results
