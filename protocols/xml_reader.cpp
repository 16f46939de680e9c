// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_reader.hpp"

#include "protocols/xml_scanner.hpp"
#include "protocols/xml_sections.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <vector>

namespace superstep {
namespace {

constexpr std::size_t elements_max = 100'000; // each costs far more memory than its text

error malformed() {
  return error{errc::parse_failed,
               "the tags of the arguments do not match; close each element where it was opened"};
}

json::value number_or_text(std::string text) {
  auto whole = std::int64_t{};
  const auto* end = text.data() + text.size();
  if (auto r = std::from_chars(text.data(), end, whole); r.ec == std::errc{} && r.ptr == end)
    return whole;
  auto real = double{};
  if (auto r = std::from_chars(text.data(), end, real, std::chars_format::fixed);
      r.ec == std::errc{} && r.ptr == end && text.find_first_of("in") == std::string::npos)
    return real;
  return json::string{text};
}

void add_member(json::object& into, std::string_view name, json::value value, bool again) {
  auto* present = into.if_contains(name);
  if (present == nullptr)
    into.emplace(name, std::move(value));
  else if (again)
    present->get_array().push_back(std::move(value));
  else
    *present = json::array{std::move(*present), std::move(value)};
}

/// What stands between the tags of one element, as far as it is read.
struct element {
  std::string name;
  json::object members;
  std::unordered_set<std::string> repeated;
  std::string text;
};

void add(element& to, std::string_view name, json::value value) {
  const auto is_new = !to.members.contains(name);
  auto again = !is_new && to.repeated.contains(std::string{name});
  add_member(to.members, name, std::move(value), again);
  if (!is_new)
    to.repeated.emplace(name);
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
      to.members.insert_or_assign("@_" + std::string{name}, decode_entities(value));
  }
}

json::value list_of(json::value& items) {
  auto list = items.is_array() ? std::move(items.get_array()) : json::array{std::move(items)};
  for (auto& item : list)
    if (auto* text = item.if_string(); text != nullptr && !text->empty())
      item = number_or_text(std::string{*text});
  return list;
}

/// `<0>`, `<1>`, … in order are a tuple.
bool is_tuple(const json::object& members) {
  auto i = std::size_t{0};
  for (const auto& member : members)
    if (member.key() != std::to_string(i++))
      return false;
  return !members.empty();
}

json::value value_of(element& e) {
  const auto text = trim_xml(e.text);
  if (e.members.empty())
    return json::string{text};
  if (!text.empty())
    e.members.emplace("#text", text);
  if (e.members.size() == 1 && e.members.begin()->key() == "item")
    return list_of(e.members.begin()->value());
  if (!is_tuple(e.members))
    return std::move(e.members);
  auto tuple = json::array{};
  for (auto& member : e.members)
    tuple.push_back(std::move(member.value()));
  auto items = json::value(std::move(tuple));
  return list_of(items);
}

/// The close tag of an element that is taken verbatim, nested ones of its name counted.
bool find_close(std::string_view xml, xml_sections& sections, const xml_tag& open,
                xml_tag& close) {
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

/// Comments, CDATA and declarations; the place behind, npos: it does not end.
std::size_t read_special(std::string_view xml, std::size_t at, std::string& text) {
  const auto rest = xml.substr(at);
  const auto is_data = rest.starts_with("<![CDATA[");
  const auto mark = std::string_view{is_data ? "]]>" : rest.starts_with("<!--") ? "-->" : ">"};
  const auto end = xml.find(mark, at + 2);
  if (end == xml.npos)
    return end;
  if (is_data)
    text += xml.substr(at + 9, end - at - 9);
  return end + mark.size();
}

} // namespace

result<json::object> read_xml(std::string_view xml, const raw_names& raw,
                              const raw_names& names_once) {
  auto open = std::vector<element>(1);
  auto sections = xml_sections{xml};
  auto at = std::size_t{0};
  auto elements = std::size_t{0};
  auto tag = xml_tag{};
  while (at < xml.size()) {
    const auto next = std::min(xml.find('<', at), xml.size());
    open.back().text += decode_entities(xml.substr(at, next - at));
    at = next;
    if (at == xml.size())
      break;
    if (at + 1 < xml.size() && (xml[at + 1] == '!' || xml[at + 1] == '?')) {
      at = read_special(xml, at, open.back().text);
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
      auto value = value_of(open.back());
      open.pop_back();
      add(open.back(), tag.name, std::move(value));
      continue;
    }
    if (++elements > elements_max)
      return malformed();
    const auto is_raw = raw.contains(std::string{tag.name});
    if (open.size() == 1 && open.back().members.contains(tag.name) &&
        names_once.contains(std::string{tag.name}))
      return malformed();
    if (is_raw && !tag.is_empty) {
      auto close = xml_tag{};
      if (!find_close(xml, sections, tag, close))
        return malformed();
      const auto verbatim = xml.substr(tag.end, close.begin - tag.end);
      add(open.back(), tag.name, json::string{decode_entities(verbatim)});
      at = close.end;
      continue;
    }
    open.push_back({.name = std::string{tag.name}, .members = {}, .repeated = {}, .text = {}});
    if (!is_raw)
      add_attributes(open.back(), tag.attributes);
    if (open.size() > xml_depth_max)
      return malformed();
    if (tag.is_empty) {
      auto value = value_of(open.back());
      open.pop_back();
      add(open.back(), tag.name, std::move(value));
    }
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

} // namespace superstep
