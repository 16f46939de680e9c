// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_calls.hpp"

#include "protocols/parse_answer_tools.hpp"
#include "protocols/xml_scanner.hpp"

#include <algorithm>

namespace superstep {

namespace {

// White space that may stand inside a tag. More makes it text, so that a stream need not wait.
constexpr auto tag_space_max = std::size_t{64};

// Open tags that are looked at; those without an end make no call.
constexpr auto openings_max = 10 * answer_calls_max;

/// An open tag of a tool and the close tag that it waits for.
struct opening {
  std::size_t from;
  std::size_t body;
  std::size_t close; // of its close tag; npos: none
  std::size_t end;   // behind its close tag
  const protocol_tool* tool;
};

/// Open tags of one tool that have not been closed. Only those that the scan for a close tag sees
/// as tags count as nested; a `<` in the text before can hide one from it.
struct pending {
  std::vector<std::size_t> seen;
  std::vector<std::pair<std::size_t, std::size_t>> hidden; // opening, seen.size() at that place
};

class scanner {
public:
  scanner(std::string_view text, const tool_names& names) : text_{text}, names_{names} {}

  /// A tag reaches from the first `<` to the next `>`, whatever stands between: after each `>` the
  /// scan is in the same state wherever it began, so that one pass serves all calls.
  std::vector<opening> scan() && {
    auto from = std::size_t{0};
    auto first = text_.find('<');
    while (first != text_.npos && found_.size() < openings_max) {
      const auto end = text_.find('>', from);
      if (end == text_.npos)
        break;
      if (first < end) {
        const auto last = text_.rfind('<', end);
        add_tag(first, end + 1);
        add_opening(last, end + 1, first == last);
        first = text_.find('<', end + 1);
      }
      from = end + 1;
    }
    return std::move(found_);
  }

private:
  void add_opening(std::size_t from, std::size_t end, bool is_seen) {
    const auto* tool = static_cast<const protocol_tool*>(nullptr);
    auto behind = std::size_t{};
    const auto what = read_tool_tag(text_.substr(0, end), from, names_, tool, behind);
    if (what == tag_start::self_closing) {
      found_.push_back({from, end, end, end, tool});
    } else if (what == tag_start::open) {
      auto& waiting = open_[tool];
      if (is_seen)
        waiting.seen.push_back(found_.size());
      else
        waiting.hidden.emplace_back(found_.size(), waiting.seen.size());
      found_.push_back({from, end, text_.npos, text_.npos, tool});
    }
  }

  void add_tag(std::size_t from, std::size_t end) {
    auto inner = text_.substr(from + 1, end - from - 2);
    if (!inner.starts_with('/'))
      return;
    inner.remove_prefix(1);
    const auto* tool = names_.find(trim_xml(inner));
    if (tool == nullptr)
      return;
    auto& waiting = open_[tool];
    const auto close = [&](std::size_t i) {
      found_[i].close = from;
      found_[i].end = end;
    };
    while (!waiting.hidden.empty() && waiting.hidden.back().second == waiting.seen.size()) {
      close(waiting.hidden.back().first);
      waiting.hidden.pop_back();
    }
    if (waiting.seen.empty())
      return;
    close(waiting.seen.back());
    waiting.seen.pop_back();
  }

  std::string_view text_;
  const tool_names& names_;
  std::vector<opening> found_;
  std::unordered_map<const protocol_tool*, pending> open_;
};

} // namespace

tool_names::tool_names(const std::vector<protocol_tool>& tools) : tools_{tools} {
  for (const auto& tool : tools)
    if (!tool.name.empty())
      by_name_.emplace(tool.name, &tool);
}

const protocol_tool* tool_names::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool tool_names::may_become(std::string_view begin) const {
  return std::ranges::any_of(tools_, [&](const auto& tool) {
    return tool.name.size() >= begin.size() && std::string_view{tool.name}.starts_with(begin);
  });
}

tag_start read_tool_tag(std::string_view text, std::size_t at, const tool_names& names,
                        const protocol_tool*& tool, std::size_t& end) {
  auto i = at + 1;
  while (i < text.size() && !is_xml_space(text[i]) && text[i] != '/' && text[i] != '>' &&
         text[i] != '<')
    ++i;
  const auto name = text.substr(at + 1, i - at - 1);
  if (i == text.size())
    return names.may_become(name) ? tag_start::more : tag_start::none;
  tool = names.find(name);
  if (tool == nullptr)
    return tag_start::none;
  if (text[i] == '>') {
    end = i + 1;
    return tag_start::open;
  }
  const auto space = i;
  while (i < text.size() && is_xml_space(text[i]))
    ++i;
  if (i - space > tag_space_max)
    return tag_start::none;
  if (i < text.size() && text[i] == '/')
    ++i;
  else if (i < text.size())
    return tag_start::none;
  if (i == text.size())
    return tag_start::more;
  end = i + 1;
  return text[i] == '>' ? tag_start::self_closing : tag_start::none;
}

std::vector<xml_call> find_xml_calls(std::string_view text, const tool_names& names) {
  auto calls = std::vector<xml_call>{};
  auto from = std::size_t{0};
  for (const auto& o : scanner{text, names}.scan()) {
    if (o.from < from || o.close == text.npos)
      continue;
    if (calls.size() == answer_calls_max)
      break;
    calls.push_back({o.from, o.end, o.body, o.close, o.tool});
    from = o.end;
  }
  return calls;
}

} // namespace superstep
