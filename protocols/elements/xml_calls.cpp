// SPDX-License-Identifier: Apache-2.0
// Finds the calls of morph_xml and yaml_xml in complete texts: elements that are named after tools,
// and two malformed variants that models write. Streamed answers are parsed by element_stream.cpp.
#include "protocols/elements/xml_calls.hpp"

#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/elements/tool_xml.hpp"
#include "protocols/elements/xml_elements.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/text.hpp"

#include <algorithm>

namespace superstep {

namespace {

// Maximum number of white-space characters inside a tag. With more, the tag is ordinary text, so
// that a stream need not hold back an unlimited text.
constexpr auto tag_space_max = std::size_t{64};

// Maximum number of open tags that are examined. Includes tags without a close tag, which are not
// calls.
constexpr auto openings_max = 10 * answer_calls_max;

/// An open tag of a tool and its close tag.
struct opening {
  std::size_t from;          // position of the open tag
  std::size_t body;          // position after the open tag
  std::size_t close;         // position of the close tag; npos if there is none
  std::size_t end;           // position after the close tag; npos if there is none
  const protocol_tool* tool; // tool that the tag names
};

/// The open tags of one tool that have not been closed yet, as indices of scanner::found_.
///
/// An open tag may follow a stray `<`, as in `a < b <name>`. The search for close tags reads the
/// text from the stray `<` on as one tag and overlooks `<name>`. Such an open tag is "hidden": it
/// can be a call, but it does not count as nested inside another call.
struct pending {
  std::vector<std::size_t> seen; // open tags that nest
  // Hidden open tags, each with the number of tags in `seen` when it was found.
  std::vector<std::pair<std::size_t, std::size_t>> hidden;
};

/// Finds the open tags of tools in a complete text and their close tags.
class scanner {
public:
  scanner(std::string_view text, const tool_names& names) : text_{text}, names_{names} {}

  /// Finds all open tags in one pass. Each section between two `>` is examined once: its first `<`
  /// may begin a close tag, and its last `<` may begin an open tag. The result after a `>` does not
  /// depend on the text before, so the search for a close tag need not start again for every open
  /// tag.
  std::vector<opening> scan(cut_close_tag cut) && {
    auto from = std::size_t{0};
    auto first = text_.find('<');
    while (first != text_.npos && found_.size() < openings_max) {
      const auto end = text_.find('>', from);
      if (end == text_.npos) {
        if (cut == cut_close_tag::closes)
          add_tag(first, text_.size() + 1); // as if a `>` followed
        break;
      }
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
  /// Records the open tag at `from` if it names a tool. `is_seen` is false for a hidden tag.
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

  /// If there is a close tag at `from`, closes the innermost open tag of the tool, and the hidden
  /// ones found since then.
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
      found_[i].end = std::min(end, text_.size());
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
  while (i < text.size() && is_xml_space(text[i]) && i - at <= tag_space_max)
    ++i;
  const auto begin = i;
  while (i < text.size() && !is_xml_space(text[i]) && text[i] != '/' && text[i] != '>' &&
         text[i] != '<')
    ++i;
  const auto name = text.substr(begin, i - begin);
  if (i == text.size())
    return names.may_become(name) ? tag_start::more : tag_start::none;
  tool = names.find(name);
  if (tool == nullptr)
    return tag_start::none;
  if (text[i] == '>') {
    if (begin > at + 1)
      return tag_start::none; // only `< name/>` may have white space before the name
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

std::vector<xml_call> find_xml_calls(std::string_view text, const tool_names& names,
                                     cut_close_tag cut) {
  auto calls = std::vector<xml_call>{};
  auto from = std::size_t{0};
  for (const auto& o : scanner{text, names}.scan(cut)) {
    if (o.from < from || o.close == text.npos)
      continue;
    if (calls.size() == answer_calls_max)
      break;
    calls.push_back({o.from, o.end, o.body, o.close, o.tool});
    from = o.end;
  }
  return calls;
}

namespace {

/// Returns the length of the complete elements at the beginning of `text`; 0 if there is none.
std::size_t end_of_elements(std::string_view text, const protocol_tool& tool) {
  const auto names = xml_names{schema::unwrap(tool.schema)};
  auto elements = xml_elements{names.raw};
  auto end = std::size_t{0};
  while (true) {
    const auto what = elements.next(text);
    if (elements.has_text() || what == xml_elements::event::none ||
        what == xml_elements::event::broken)
      return end;
    if (what == xml_elements::event::close)
      end = elements.begin();
  }
}

} // namespace

std::optional<xml_call> find_line_call(std::string_view text, const tool_names& names) {
  // Each attempt may read the text up to its end. The number of attempts is limited, so that a text
  // with many such lines does not take quadratic time.
  auto tries = std::size_t{16};
  for (auto from = std::size_t{0}; from < text.size() && tries > 0;) {
    const auto line_end = std::min(text.find('\n', from), text.size());
    auto line = trim_xml(text.substr(from, line_end - from));
    const auto begin = from;
    from = line_end + 1;
    if (line.ends_with(':'))
      line = trim_xml(line.substr(0, line.size() - 1));
    const auto* tool = names.find(line);
    if (tool == nullptr || line_end == text.size())
      continue;
    --tries;
    const auto length = end_of_elements(text.substr(from), *tool);
    if (length > 0)
      return xml_call{begin, from + length, from, from + length, tool};
  }
  return {};
}

std::optional<xml_call> find_torn_call(std::string_view text, const tool_names& names) {
  const auto all = trim_xml(text);
  const auto line_end = all.find('\n');
  constexpr auto end = std::string_view{"/>"};
  if (!all.starts_with('<') || line_end == all.npos || !all.ends_with(end))
    return {};
  const auto* tool = names.find(trim_xml(all.substr(1, line_end - 1)));
  const auto body = all.substr(line_end, all.size() - line_end - end.size());
  if (tool == nullptr || !body.ends_with('\n'))
    return {};
  const auto begin = static_cast<std::size_t>(body.data() - text.data());
  return xml_call{0, text.size(), begin, begin + body.size(), tool};
}

std::vector<parsed_part>
split_at_calls(std::string_view text, const std::vector<xml_call>& calls, blank_text blanks,
               const std::function<result<json::value>(const xml_call&)>& read,
               const protocol_error_handler& on_error) {
  auto parts = part_list{};
  const auto add_text = [&](std::string_view piece) {
    if (blanks == blank_text::keep || !text::is_blank(piece))
      parts.add_text(piece);
  };
  auto from = std::size_t{0};
  for (const auto& call : calls) {
    add_text(text.substr(from, call.from - from));
    from = call.to;
    if (auto arguments = read(call)) {
      parts.add_call({call.tool->name, to_text(*arguments)});
      continue;
    }
    const auto span = text.substr(call.from, call.to - call.from);
    add_text(span);
    if (on_error)
      on_error({"malformed-tool-call-body", call.tool->name, std::string{span}});
  }
  add_text(text.substr(from));
  return std::move(parts).take();
}

} // namespace superstep
