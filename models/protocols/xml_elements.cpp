// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/xml_elements.hpp"

#include "models/protocols/xml_scanner.hpp"

#include <algorithm>

namespace superstep {

namespace {

// A tag that is longer is none, so that little is read again when the text grows.
constexpr auto tag_max = std::size_t{512};

/// Whether a tag that is not complete yet may begin at `at`.
bool may_grow(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at + 1);
  return rest.size() < tag_max && rest.find_first_of("<>") == rest.npos;
}

} // namespace

xml_elements::event xml_elements::next(std::string_view text) {
  return depth_ == 0 ? outside(text) : inside(text);
}

std::optional<std::string_view> xml_elements::text_in(std::string_view text) const {
  const auto content = text.substr(content_, content_end_ - content_);
  if (!is_raw_ && (has_attributes_ || content.find('<') != content.npos))
    return {};
  return content;
}

xml_elements::event xml_elements::outside(std::string_view text) {
  const auto open = std::min(text.find('<', at_), text.size());
  has_text_ = has_text_ || !trim_xml(text.substr(at_, open - at_)).empty();
  at_ = open;
  if (open == text.size())
    return event::none;
  auto tag = xml_tag{};
  if (!read_tag(text, open, tag))
    return may_grow(text, open) ? event::none : event::broken;
  if (tag.is_close)
    return event::broken;
  name_ = tag.name;
  element_ = tag.begin;
  at_ = begin_ = content_ = content_end_ = tag.end;
  has_attributes_ = !tag.attributes.empty();
  is_raw_ = raw_->contains(name_);
  depth_ = tag.is_empty ? 0 : 1;
  return tag.is_empty ? event::close : event::open;
}

xml_elements::event xml_elements::inside(std::string_view text) {
  for (at_ = text.find('<', at_); at_ != text.npos; at_ = text.find('<', at_ + 1)) {
    // Only tags of its own name matter: those that may still become one are waited for.
    auto i = at_ + 1;
    if (i < text.size() && text[i] == '/')
      ++i;
    while (i < text.size() && is_xml_space(text[i]) && i - at_ < tag_max)
      ++i;
    const auto there = text.substr(i, name_.size());
    if (!std::string_view{name_}.starts_with(there))
      continue;
    auto tag = xml_tag{};
    if (!read_tag(text, at_, tag)) {
      if (may_grow(text, at_))
        return event::none;
      continue;
    }
    if (tag.name != name_ || tag.is_empty)
      continue;
    depth_ += tag.is_close ? std::size_t(-1) : 1;
    if (depth_ == 0) {
      content_end_ = tag.begin;
      at_ = begin_ = tag.end;
      return event::close;
    }
  }
  at_ = text.size();
  return event::none;
}

} // namespace superstep
