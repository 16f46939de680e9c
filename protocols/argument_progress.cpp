// SPDX-License-Identifier: Apache-2.0
// Reports the arguments of a growing call as soon as they are certain. Used by the streams of
// morph_xml and qwen3_coder; the events go through stream_output.cpp.
#include "protocols/argument_progress.hpp"

#include "models/json_schema.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// Whether `begin` can be reported as the beginning of an enum string. Coercion may add or remove
/// spaces to make the string a member, so every member that matches `begin` without spaces must
/// also begin with exactly this text.
bool begins_choice(const json::array& choices, std::string_view begin) {
  const auto dense = text::without_spaces(begin);
  auto found = false;
  for (const auto& choice : choices) {
    const auto each = text::view(choice.get_string());
    if (!std::string_view{text::without_spaces(each)}.starts_with(dense))
      continue;
    found = true;
    if (!each.starts_with(begin))
      return false;
  }
  return found;
}

} // namespace

bool argument_progress::has_stood(std::string_view key, const parameter* p) const {
  if (p != nullptr && shape_->index_of(*p) < 64)
    return (known_ >> shape_->index_of(*p) & 1U) != 0;
  return keys_.contains(key);
}

void argument_progress::note(std::string_view key, const parameter* p) {
  if (p != nullptr && shape_->index_of(*p) < 64)
    known_ |= std::uint64_t{1} << shape_->index_of(*p);
  else
    keys_.emplace(key);
}

bool argument_progress::is_next(std::string_view key, const parameter* p) {
  // Only the last reported argument can still change. If an earlier key returns, reporting stops.
  if (key != last_key_ && has_stood(key, p))
    settle();
  if (!output_.progress().may_show())
    settle();
  return !is_settled_;
}

bool argument_progress::open_string(std::string_view key, const parameter* p) {
  if (key != held_key_)
    release();
  const auto is_shown = can_grow(p) || (p != nullptr && p->texts != nullptr);
  if (!is_shown || has_stood(key, p) || !held_key_.empty() || !is_next(key, p))
    return false;
  open_ = p;
  choice_.clear();
  is_choice_held_ = false;
  last_key_ = key;
  note(key, p);
  return output_.progress().begin_string(key);
}

void argument_progress::append_string(std::string_view text) {
  if (!is_choice())
    return output_.progress().append_string(text);
  is_choice_held_ = is_choice_held_ || !begins_choice(*open_->texts, choice_ + std::string{text});
  if (is_choice_held_)
    return;
  choice_ += text;
  output_.progress().append_string(text);
}

void argument_progress::end_string(std::string_view text) {
  if (is_choice()) {
    const auto read = bent(last_key_, json::value(json::string_view{text.data(), text.size()}));
    const auto* whole = read ? read->if_string() : nullptr;
    if (whole == nullptr || !whole->starts_with(choice_))
      return settle();
    output_.progress().append_string(text::view(*whole).substr(choice_.size()));
    check_text(open_, text::view(*whole));
  } else {
    check_text(open_, text);
  }
  output_.progress().end_string();
}

void argument_progress::check_text(const parameter* p, std::string_view text) {
  if (tool_ != nullptr)
    is_exact_ = is_exact_ && p != nullptr && takes_text(*p, text);
}

void argument_progress::hold(std::string_view key, const parameter* p, json::value value,
                             bool is_final) {
  held_key_ = key;
  held_parameter_ = p;
  held_ = std::move(value);
  if (is_final)
    release();
}

void argument_progress::close_text(std::string_view key, const parameter* p,
                                   std::string_view text) {
  auto bent = p != nullptr ? bend_text(text, *p) : std::nullopt;
  if (!bent || !shape_->is_memberwise())
    return close(key, p, json::value(json::string_view{text.data(), text.size()}));
  if (key != held_key_)
    release();
  if (is_next(key, p))
    hold(key, p, std::move(*bent), p->is_plain_string);
}

std::optional<json::value> argument_progress::bent(std::string_view key, json::value value) const {
  if (tool_ == nullptr)
    return value;
  auto one = json::object{};
  one.emplace(key, std::move(value));
  auto whole = coerce(json::value(std::move(one)), tool_->schema);
  auto* members = whole.if_object();
  if (members == nullptr || members->size() != 1 || !members->contains(key))
    return {};
  return std::move(members->begin()->value());
}

void argument_progress::close(std::string_view key, const parameter* p, json::value value,
                              form as) {
  if (key != held_key_)
    release();
  if (!is_next(key, p))
    return;
  if (const auto* text = value.if_string(); text != nullptr && can_grow(p)) {
    check_text(p, text::view(*text));
    return hold(key, p, std::move(value), true);
  }
  if (tool_ != nullptr && p == nullptr)
    is_exact_ = false; // coercion of the complete call may rename the unknown key
  const auto may_be_first = as == form::single && (p == nullptr || p->kind == schema::kind::array);
  auto first = may_be_first ? json::value(json::array(1, value)) : json::value{};
  auto read = bent(key, std::move(value));
  const auto* list = read ? read->if_array() : nullptr;
  // If the items must be objects, strings among them are parsed as XML when the call is complete.
  const auto is_text = [](const json::value& item) { return item.is_string(); };
  if (!read || (list != nullptr && p != nullptr && p->has_object_items &&
                std::ranges::any_of(*list, is_text)))
    return settle();
  auto is_final = is_plain_string(p);
  if (list != nullptr && !is_final)
    // Final if a list made of this argument alone has the same value: a later item then only
    // extends it.
    is_final = as == form::list || (may_be_first && bent(key, std::move(first)) == read);
  hold(key, p, std::move(*read), is_final);
}

void argument_progress::release() {
  if (held_key_.empty() || is_settled_)
    return;
  last_key_ = std::exchange(held_key_, {});
  note(last_key_, held_parameter_);
  output_.progress().show_member(last_key_, held_);
}

std::optional<std::string> argument_progress::whole() {
  if (is_settled_ || !is_exact_ || (tool_ != nullptr && !shape_->is_memberwise()))
    return {};
  release();
  return output_.progress().whole();
}

std::size_t whole_text(std::string_view raw) noexcept {
  constexpr auto entity_max = std::size_t{6}; // &quot;
  auto end = raw.size();
  const auto tail = end - std::min(end, entity_max - 1);
  if (const auto entity = raw.rfind('&');
      entity != raw.npos && entity >= tail && raw.find(';', entity) == raw.npos)
    end = entity;
  auto begin = end;
  while (begin > 0 && end - begin < 3 && (raw[begin - 1] & '\xc0') == '\x80')
    --begin;
  if (begin == 0)
    return end;
  const auto lead = static_cast<unsigned char>(raw[begin - 1]);
  const auto length = std::size_t{lead < 0xc0 ? 1U : lead < 0xe0 ? 2U : lead < 0xf0 ? 3U : 4U};
  return begin - 1 + length > end ? begin - 1 : end;
}

bool lists_are_lists(const json::value& arguments, const json::value& schema) {
  const auto* members = arguments.if_object();
  const auto* properties = schema::properties(schema::unwrap(schema));
  if (members == nullptr || properties == nullptr)
    return members != nullptr;
  return std::ranges::all_of(*members, [&](const auto& member) {
    const auto* property = properties->if_contains(member.key());
    return property == nullptr || schema::kind_of(*property) != schema::kind::array ||
           member.value().is_array();
  });
}

} // namespace superstep
