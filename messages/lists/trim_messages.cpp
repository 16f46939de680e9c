// SPDX-License-Identifier: Apache-2.0
// Trims a conversation to a token budget. Messages are kept whole from one end; the first one that
// does not fit may be kept in part.
#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/history.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace superstep {

namespace {

bool is_one_of(const message& m, const std::vector<message_type>& types) {
  return std::find(types.begin(), types.end(), m.type) != types.end();
}

/// Splits a text into lines, with their line breaks.
std::vector<std::string> lines_of(const std::string& text) {
  auto lines = std::vector<std::string>{};
  for (auto begin = std::size_t{0};;) {
    const auto end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end == text.npos ? text.npos : end + 1 - begin));
    if (end == text.npos)
      return lines;
    begin = end + 1;
  }
}

/// Returns the content, or the text of the first text block. It is split into lines if not even one
/// block fits the budget.
std::string first_text(const message& m) {
  if (!m.blocks)
    return m.content;
  for (const auto& block : *m.blocks) {
    if (const auto* text = block.if_string())
      return std::string{*text};
    const auto* type = block.as_object().if_contains("type");
    const auto* text = block.get_object().if_contains("text");
    if (type && *type == "text" && text && text->is_string())
      return std::string{text->get_string()};
  }
  return {};
}

/// Keeps messages from the front. For `last`, the caller passes the messages in reverse and
/// reverses the result; blocks and lines of a partial message are then taken from their end.
class trimmer {
public:
  explicit trimmer(const trim_options& options)
      : options_{options}, mirrored_{options.strategy == trim_strategy::last} {}

  /// Returns the longest prefix of `given` within the budget, without the messages after the last
  /// one of a type in `end_on`.
  std::vector<message_ptr> beginning(std::vector<message_ptr> given, std::int64_t budget,
                                     const std::vector<message_type>& end_on) const {
    auto kept = std::vector<message_ptr>{};
    for (auto& m : given) {
      const auto tokens = options_.count(*m);
      if (tokens > budget) {
        if (auto part = options_.allow_partial ? part_of(*m, budget) : std::nullopt)
          kept.push_back(std::make_shared<const message>(*std::move(part)));
        break;
      }
      budget -= tokens;
      kept.push_back(std::move(m));
    }
    while (!end_on.empty() && !kept.empty() && !is_one_of(*kept.back(), end_on))
      kept.pop_back();
    return kept;
  }

private:
  /// Returns the message with the most items that fits, by binary search. `make(n)` builds it from
  /// the first n items (the last n if mirrored). More items must never take fewer tokens.
  template <class Make>
  std::optional<message> most_of(std::size_t all, const Make& make, std::int64_t budget) const {
    auto fitting = std::size_t{0};
    for (auto end = all; fitting < end;) {
      const auto n = (fitting + end + 1) / 2;
      if (options_.count(make(n)) <= budget)
        fitting = n;
      else
        end = n - 1;
    }
    return fitting == 0 ? std::nullopt : std::optional{make(fitting)};
  }

  /// Shortens a message: first to fewer blocks, then to fewer lines of its first text. At least one
  /// block or line is removed.
  std::optional<message> part_of(message m, std::int64_t budget) const {
    if (m.blocks && !m.blocks->empty()) {
      const auto blocks = *std::move(m.blocks);
      const auto with_blocks = [&](std::size_t n) {
        const auto first =
            mirrored_ ? blocks.end() - static_cast<std::ptrdiff_t>(n) : blocks.begin();
        m.blocks = json::array(first, first + static_cast<std::ptrdiff_t>(n));
        return m;
      };
      if (auto part = most_of(blocks.size() - 1, with_blocks, budget))
        return part;
      m = with_blocks(1);
    }
    const auto lines = lines_of(first_text(m));
    m.blocks.reset();
    const auto with_lines = [&](std::size_t n) {
      const auto first = mirrored_ ? lines.size() - n : std::size_t{0};
      m.content.clear();
      for (auto i = first; i < first + n; ++i)
        m.content += lines[i];
      return m;
    };
    return most_of(lines.size() - 1, with_lines, budget);
  }

  const trim_options& options_;
  bool mirrored_;
};

/// Returns the error for an option that the strategy does not support. langchain-core rejects the
/// same combinations.
error refused(std::string_view what) {
  return {errc::invalid_argument,
          "trim_messages: " + std::string{what} + " requires strategy `last`"};
}

} // namespace

result<message_list> trim_messages(const message_list& messages, const trim_options& options) {
  SUPERSTEP_ASSERT(options.count);
  const auto from_end = options.strategy == trim_strategy::last;
  if (!from_end && options.include_system)
    return refused("include_system");
  if (!from_end && !options.start_on.empty())
    return refused("start_on");
  auto given = std::vector<message_ptr>{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i)
    given.push_back(messages.at_ptr(i));
  auto out = message_list{};
  auto budget = options.tokens_max;
  if (from_end) {
    while (!options.end_on.empty() && !given.empty() && !is_one_of(*given.back(), options.end_on))
      given.pop_back();
    if (options.include_system && !given.empty() && given.front()->type == message_type::system) {
      budget = std::max(budget - options.count(*given.front()), std::int64_t{0});
      out.push_back(given.front());
      given.erase(given.begin());
    }
    std::reverse(given.begin(), given.end());
  }
  auto kept = trimmer{options}.beginning(std::move(given), budget,
                                         from_end ? options.start_on : options.end_on);
  if (from_end)
    std::reverse(kept.begin(), kept.end());
  for (auto& m : kept)
    out.push_back(std::move(m));
  return out;
}

} // namespace superstep
