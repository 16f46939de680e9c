// SPDX-License-Identifier: Apache-2.0
// Parses the outermost elements of a text that is still growing. Used for streamed calls of
// morph_xml, and by find_line_call() for calls without an open tag.
#include "protocols/elements/xml_elements.hpp"

#include "protocols/elements/xml_scanner.hpp"

#include <algorithm>

namespace superstep {

namespace {

// Maximum length of a tag; a longer one is text. An incomplete tag is parsed again whenever text
// arrives, and the limit bounds this work.
constexpr auto tag_max = std::size_t{512};

// Maximum number of tracked elements inside a string. Each close tag is compared with all of them.
constexpr auto inner_max = std::size_t{64};

/// Whether the `<` at `at` may begin a tag that has not arrived completely.
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
  inner_.clear();
  stray_ = npos;
  return tag.is_empty ? event::close : event::open;
}

void xml_elements::note_tag(const xml_tag& tag) {
  if (stray_ != npos || tag.is_empty)
    return;
  if (!tag.is_close) {
    if (inner_.size() < inner_max)
      inner_.emplace_back(tag.name);
    return;
  }
  const auto match = std::ranges::find(inner_.rbegin(), inner_.rend(), tag.name);
  if (match == inner_.rend())
    stray_ = tag.begin;
  else
    inner_.erase(match.base() - 1, inner_.end());
}

bool xml_elements::may_be_own_tag(std::string_view text, std::size_t at) const {
  auto i = at + 1;
  if (i < text.size() && text[i] == '/')
    ++i;
  while (i < text.size() && is_xml_space(text[i]) && i - at < tag_max)
    ++i;
  return std::string_view{name_}.starts_with(text.substr(i, name_.size()));
}

bool xml_elements::pass_section(std::string_view text) {
  if (section_ == section::none) {
    const auto rest = text.substr(at_, data_open.size());
    section_ = rest == data_open                ? section::data
               : rest.starts_with(comment_open) ? section::comment
                                                : section::none;
    section_scan_ = at_ + (section_ == section::data ? data_open : comment_open).size();
  }
  if (section_ == section::none)
    return true;
  const auto mark = section_ == section::data ? data_close : comment_close;
  const auto end = text.find(mark, section_scan_);
  if (end == text.npos) {
    section_scan_ = std::max(section_scan_, text.size() - std::min(text.size(), mark.size() - 1));
    return false;
  }
  section_ = section::none;
  at_ = end + mark.size();
  return true;
}

void xml_elements::pass_section_text(std::string_view text) {
  // If the section never ends, it is ordinary text, and a close tag in it may end the element. Text
  // before such a tag is certain in both cases.
  while (at_ < text.size() && (text[at_] != '<' || !may_be_own_tag(text, at_)))
    at_ = std::min(text.find('<', at_ + 1), text.size());
}

xml_elements::event xml_elements::inside(std::string_view text) {
  if (section_ != section::none && !pass_section(text)) {
    pass_section_text(text);
    return event::none;
  }
  for (at_ = text.find('<', at_); at_ != text.npos; at_ = text.find('<', at_)) {
    const auto begin = at_;
    if (!pass_section(text)) {
      pass_section_text(text);
      return event::none;
    }
    if (at_ > begin)
      continue;
    const auto may_be_section = data_open.starts_with(text.substr(at_, data_open.size())) ||
                                comment_open.starts_with(text.substr(at_, comment_open.size()));
    const auto is_close = at_ + 1 < text.size() && text[at_ + 1] == '/';
    auto tag = xml_tag{};
    if (!read_tag(text, at_, tag)) {
      // An incomplete tag at the end of the text: wait for the rest if it could end the element,
      // begin a section, or be a close tag.
      const auto may_matter = may_be_section || is_close || may_be_own_tag(text, at_);
      if (may_matter && may_grow(text, at_))
        return event::none;
      ++at_;
      continue;
    }
    if (tag.name != name_ || tag.is_empty) {
      if (is_raw_)
        note_tag(tag);
      ++at_;
      continue;
    }
    depth_ += tag.is_close ? std::size_t(-1) : 1;
    if (depth_ == 0) {
      content_end_ = tag.begin;
      at_ = begin_ = tag.end;
      return event::close;
    }
    ++at_;
  }
  at_ = text.size();
  return event::none;
}

} // namespace superstep
