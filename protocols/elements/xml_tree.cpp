// SPDX-License-Identifier: Apache-2.0
// Parses XML elements without a schema, repairs unbalanced tags, and finds elements by name. Used
// by tool_xml.cpp. Follows RXML of @ai-sdk-tool/parser 4.1.26.
#include "protocols/elements/xml_tree.hpp"

#include "base/ascii_text.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace superstep {
namespace {

// Maximum number of elements in one call. An element needs far more memory than its text.
constexpr std::size_t elements_max = 100'000;

error malformed() {
  return error{errc::parse_failed,
               "the arguments are not valid XML: a tag has no partner or is invalid, an element is "
               "repeated, or there are too many or too deeply nested elements"};
}

/// The content of an open element that has been parsed so far.
struct element {
  std::string name;
  json::object members;                     // inner elements by name
  json::object attributes;                  // attributes by their member name `@_x`
  std::unordered_set<std::string> repeated; // names of members that have become lists
  std::string text;                         // text outside the inner elements
  std::size_t texts = 0;                    // number of pieces of that text
};

void add_text(element& to, std::string_view text) {
  to.text += text;
  to.texts += text.empty() ? 0 : 1;
}

/// Adds a member. A second value with the name makes a list, but it replaces an empty text.
void add(element& to, std::string_view name, json::value value) {
  auto* present = to.members.if_contains(name);
  if (present == nullptr) {
    to.members.emplace(name, std::move(value));
  } else if (to.repeated.contains(std::string{name})) {
    present->get_array().push_back(std::move(value));
  } else if (const auto* text = present->if_string(); text != nullptr && text->empty()) {
    *present = std::move(value);
  } else {
    *present = json::array{std::move(*present), std::move(value)};
    to.repeated.emplace(name);
  }
}

void add_attributes(element& to, std::string_view attributes) {
  while (!(attributes = trim_xml(attributes)).empty()) {
    const auto equals = attributes.find('=');
    const auto name = trim_xml(attributes.substr(0, equals));
    auto value = std::string_view{};
    attributes.remove_prefix(equals == attributes.npos ? attributes.size() : equals + 1);
    attributes = trim_xml(attributes);
    if (!attributes.empty() && (attributes.front() == '"' || attributes.front() == '\'')) {
      const auto end = attributes.find(attributes.front(), 1);
      value = attributes.substr(1, end == attributes.npos ? end : end - 1);
      attributes.remove_prefix(end == attributes.npos ? attributes.size() : end + 1);
    } else {
      const auto end = std::min(attributes.find(' '), attributes.size());
      value = attributes.substr(0, end);
      attributes.remove_prefix(end);
    }
    if (!name.empty())
      to.attributes.insert_or_assign("@_" + std::string{name}, value);
  }
}

json::value value_of(element& e) {
  const auto has_elements = !e.members.empty();
  const auto text = has_elements || e.texts > 1 ? text::trim(e.text) : std::string_view{e.text};
  if (!has_elements && e.attributes.empty())
    return json::string{text};
  if (!has_elements || e.texts > 0)
    e.members.emplace("#text", text);
  for (auto& attribute : e.attributes)
    e.members.insert_or_assign(attribute.key(), std::move(attribute.value()));
  return std::move(e.members);
}

/// Finds the close tag of an element whose content is not parsed. Nested elements with the same
/// name are skipped.
bool find_close(std::string_view xml, xml_sections& sections, const xml_tag& open, xml_tag& close) {
  auto depth = std::size_t{1};
  auto at = open.end;
  while ((at = xml.find('<', at)) != xml.npos) {
    if (const auto end = sections.end_of(at); end > at) {
      at = end;
      continue;
    }
    if (!read_tag(xml, at, close) || close.name != open.name) {
      ++at;
      continue;
    }
    at = close.end;
    if (close.is_close && --depth == 0)
      return true;
    if (!close.is_close && !close.is_empty)
      ++depth;
  }
  return false;
}

/// Skips a comment, CDATA section or declaration, and adds the content of a CDATA section to the
/// text of the element. Returns the position after it; npos if it has no end.
std::size_t read_special(std::string_view xml, std::size_t at, element& into) {
  const auto rest = xml.substr(at);
  const auto is_data = rest.starts_with("<![CDATA[");
  const auto mark = std::string_view{is_data ? "]]>" : rest.starts_with("<!--") ? "-->" : ">"};
  const auto end = xml.find(mark, at + 2);
  if (end == xml.npos)
    return end;
  if (is_data)
    add_text(into, xml.substr(at + 9, end - at - 9));
  return end + mark.size();
}

/// Calls `take` with each tag of the text, in order, until it returns false.
/// @return whether the text ends with a tag
template <class Take>
bool for_each_tag(std::string_view xml, Take take) {
  auto sections = xml_sections{xml};
  auto tag = xml_tag{};
  auto at = std::size_t{0};
  for (at = xml.find('<'); at != xml.npos; at = xml.find('<', at)) {
    if (const auto end = sections.end_of(at); end > at) {
      at = end;
    } else if (read_tag(xml, at, tag)) {
      if (!take(tag))
        return false;
      at = tag.end;
    } else {
      ++at;
    }
    if (at == xml.size())
      return true;
  }
  return false;
}

/// Returns the name in a tag with white space before its name, such as `< name>`; empty if there is
/// none.
/// @param text the text after the `<`
std::string_view name_in_spaced_tag(std::string_view text) {
  const auto end = text.find_first_of("<>");
  if (end == text.npos || text[end] != '>' || !is_xml_space(text.front()))
    return {};
  const auto name = trim_xml(text.substr(0, end));
  const auto is_name = std::ranges::all_of(name, [](char c) {
    return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':' || c == '-';
  });
  return is_name ? name : std::string_view{};
}

/// Counts how many elements are open around a tag, whatever their names.
class tag_depth {
public:
  /// Returns the depth of the tag's element. A close tag that closes nothing does not count.
  std::size_t next(const xml_tag& tag) noexcept {
    if (tag.is_close)
      return depth_ = depth_ == 0 ? 0 : depth_ - 1;
    return tag.is_empty ? depth_ : depth_++;
  }

private:
  std::size_t depth_ = 0;
};

} // namespace

result<json::object> read_xml(std::string_view xml, const raw_names& raw) {
  auto open = std::vector<element>(1);
  auto sections = xml_sections{xml};
  auto at = std::size_t{0};
  auto elements = std::size_t{0};
  auto tag = xml_tag{};
  const auto close = [&] {
    auto value = value_of(open.back());
    const auto name = std::move(open.back().name);
    open.pop_back();
    add(open.back(), name, std::move(value));
  };
  while (at < xml.size()) {
    const auto next = std::min(xml.find('<', at), xml.size());
    add_text(open.back(), text::trim(xml.substr(at, next - at)));
    at = next;
    if (at == xml.size())
      break;
    if (at + 1 < xml.size() && (xml[at + 1] == '!' || xml[at + 1] == '?')) {
      at = read_special(xml, at, open.back());
      if (at == xml.npos)
        return malformed();
      continue;
    }
    if (!read_tag(xml, at, tag))
      return malformed();
    at = tag.end;
    if (tag.is_close) {
      if (open.size() == 1 || open.back().name != tag.name)
        return malformed();
      close();
      continue;
    }
    if (++elements > elements_max)
      return malformed();
    const auto is_raw = raw.contains(std::string{tag.name});
    if (is_raw && !tag.is_empty) {
      auto end = xml_tag{};
      if (!find_close(xml, sections, tag, end))
        return malformed();
      add(open.back(), tag.name, json::string{xml.substr(tag.end, end.begin - tag.end)});
      at = end.end;
      continue;
    }
    open.emplace_back().name = tag.name;
    if (!is_raw)
      add_attributes(open.back(), tag.attributes);
    if (open.size() > xml_depth_max)
      return malformed();
    if (tag.is_empty)
      close();
  }
  if (open.size() != 1)
    return malformed();
  return std::move(open.back().members);
}

std::string balance_xml(std::string_view xml) {
  auto out = std::string{};
  auto open = std::vector<std::string_view>{};
  auto sections = xml_sections{xml};
  auto tag = xml_tag{};
  for (auto at = std::size_t{0}; at < xml.size();) {
    const auto next = std::min(xml.find('<', at), xml.size());
    out += xml.substr(at, next - at);
    at = next;
    if (at == xml.size())
      break;
    if (const auto end = sections.end_of(at); end > at) {
      out += xml.substr(at, end - at);
      at = end;
      continue;
    }
    if (!read_tag(xml, at, tag)) {
      const auto c = at + 1 < xml.size() ? xml[at + 1] : ' ';
      out += c == '!' || c == '?' ? "<" : "&lt;";
      ++at;
      // A tag like `< name>` is not a tag, but its close tag is still expected.
      const auto name = name_in_spaced_tag(xml.substr(at));
      if (!name.empty() && open.size() < xml_depth_max)
        open.push_back(name);
      continue;
    }
    at = tag.end;
    if (!tag.is_close) {
      out += xml.substr(tag.begin, tag.end - tag.begin);
      if (!tag.is_empty && open.size() < xml_depth_max)
        open.push_back(tag.name);
      continue;
    }
    auto match = open.size();
    while (match > 0 && open[match - 1] != tag.name)
      --match;
    while (match > 0 && open.size() >= match) {
      out.append("</").append(open.back()).append(">");
      open.pop_back();
    }
  }
  for (; !open.empty(); open.pop_back())
    out.append("</").append(open.back()).append(">");
  return out;
}

bool repeats_element(std::string_view xml, const raw_names& names) {
  struct first_element {
    std::size_t begin = 0, end = std::string_view::npos; // its content
    std::size_t depth = 1;                               // nesting in elements with its name
  };
  auto firsts = std::map<std::string, first_element, std::less<>>{};
  auto depth = tag_depth{};
  for_each_tag(xml, [&](const xml_tag& tag) {
    const auto is_top = depth.next(tag) == 0;
    const auto first = firsts.find(tag.name);
    if (first == firsts.end()) {
      if (is_top && !tag.is_close && names.contains(std::string{tag.name}))
        firsts.emplace(tag.name,
                       first_element{.begin = tag.end, .end = tag.is_empty ? tag.end : xml.npos});
    } else if (auto& e = first->second; e.end == xml.npos) {
      if (tag.is_close && --e.depth == 0)
        e.end = tag.begin;
      else if (!tag.is_close && !tag.is_empty)
        ++e.depth;
    }
    return true;
  });
  auto seen = std::unordered_set<std::string_view>{};
  auto repeats = false;
  for_each_tag(xml, [&](const xml_tag& tag) {
    if (tag.is_close || !names.contains(std::string{tag.name}))
      return true;
    const auto is_inside = std::ranges::any_of(firsts, [&](const auto& first) {
      const auto& [name, e] = first;
      return name != tag.name && e.end != xml.npos && tag.begin >= e.begin && tag.begin < e.end;
    });
    repeats = !is_inside && !seen.insert(tag.name).second;
    return !repeats;
  });
  return repeats;
}

json::object outermost_elements(std::string_view xml, const raw_names& names) {
  struct content {
    std::size_t depth, begin, end;
  };
  auto open = std::map<std::string, std::vector<content>, std::less<>>{};
  auto best = std::map<std::string, content, std::less<>>{};
  auto depth = tag_depth{};
  const auto offer = [&](const std::string& name, content found) {
    const auto [place, is_new] = best.emplace(name, found);
    auto& old = place->second;
    if (!is_new &&
        (found.depth < old.depth || (found.depth == old.depth && found.begin < old.begin)))
      old = found;
  };
  const auto ends_with_tag = for_each_tag(xml, [&](const xml_tag& tag) {
    const auto level = depth.next(tag);
    const auto name = names.find(std::string{tag.name});
    if (name == names.end())
      return true;
    auto& waiting = open[*name];
    if (tag.is_empty) {
      offer(*name, {level, tag.end, tag.end});
    } else if (!tag.is_close) {
      waiting.push_back({level, tag.end, 0});
    } else if (!waiting.empty()) {
      waiting.back().end = tag.begin;
      offer(*name, waiting.back());
      waiting.pop_back();
    }
    return true;
  });
  auto out = json::object{};
  if (ends_with_tag)
    for (const auto& [name, found] : best)
      out.emplace(name, xml.substr(found.begin, found.end - found.begin));
  return out;
}

} // namespace superstep
