// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/argument_progress.hpp"

#include "models/protocols/coerce_text.hpp"
#include "models/protocols/string_progress.hpp"

#include <superstep/models/protocols/coerce.hpp>

#include <utility>

namespace superstep {

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
  // What has been shown cannot be changed any more, except at its end.
  if (key != last_key_ && has_stood(key, p))
    settle();
  if (!output_.progress().may_show())
    settle();
  return !is_settled_;
}

bool argument_progress::open_string(std::string_view key, const parameter* p) {
  if (key != held_key_)
    release();
  if (has_stood(key, p) || !held_key_.empty() || !is_plain_string(p) || !is_next(key, p))
    return false;
  open_ = p;
  last_key_ = key;
  note(key, p);
  return output_.progress().begin_string(key);
}

void argument_progress::end_string(std::string_view text) {
  check_text(open_, text);
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

void argument_progress::close(std::string_view key, const parameter* p, json::value value) {
  if (key != held_key_)
    release();
  if (!is_next(key, p))
    return;
  const auto is_plain = is_plain_string(p);
  if (const auto* text = value.if_string(); text != nullptr && is_plain)
    check_text(p, text::view(*text));
  else if (tool_ != nullptr && p == nullptr)
    is_exact_ = false; // the whole may rename it
  auto one = json::object{};
  one.emplace(key, std::move(value));
  auto bent = tool_ != nullptr && !(is_plain && one.begin()->value().is_string())
                  ? coerce(json::value(std::move(one)), tool_->schema)
                  : json::value(std::move(one));
  auto* members = bent.if_object();
  if (members == nullptr || members->size() != 1 || !members->contains(key))
    return settle();
  const auto is_final = (tool_ == nullptr || lists_are_lists(bent, tool_->schema)) &&
                        (members->begin()->value().is_array() || is_plain);
  hold(key, p, std::move(members->begin()->value()), is_final);
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

} // namespace superstep
