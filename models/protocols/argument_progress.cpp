// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/argument_progress.hpp"

#include "models/protocols/coerce_schema.hpp"
#include "models/protocols/string_progress.hpp"

#include <superstep/models/protocols/coerce.hpp>

#include <utility>

namespace superstep {

bool argument_progress::is_plain_string(std::string_view key) const {
  return tool_ == nullptr || superstep::is_plain_string(tool_->schema, key);
}

bool argument_progress::is_next(std::string_view key) {
  // What has been shown cannot be changed any more, except at its end.
  if (key != last_key_ && keys_.contains(key))
    settle();
  if (!output_.progress().may_show())
    settle();
  return !is_settled_;
}

bool argument_progress::open_string(std::string_view key) {
  if (key != held_key_)
    release();
  if (keys_.contains(key) || !held_key_.empty() || !is_plain_string(key) || !is_next(key))
    return false;
  last_key_ = key;
  keys_.emplace(key);
  return output_.progress().show_member(key, json::value(""));
}

void argument_progress::close(std::string_view key, json::value value) {
  if (key != held_key_)
    release();
  if (!is_next(key))
    return;
  auto one = json::object{};
  one.emplace(key, std::move(value));
  auto bent = tool_ != nullptr && !(is_plain_string(key) && one.begin()->value().is_string())
                  ? coerce(json::value(std::move(one)), tool_->schema)
                  : json::value(std::move(one));
  auto* members = bent.if_object();
  if (members == nullptr || members->size() != 1 || !members->contains(key))
    return settle();
  held_key_ = key;
  const auto is_final = (tool_ == nullptr || lists_are_lists(bent, tool_->schema)) &&
                        (members->begin()->value().is_array() || is_plain_string(key));
  held_ = std::move(members->begin()->value());
  if (is_final)
    release();
}

void argument_progress::release() {
  if (held_key_.empty() || is_settled_)
    return;
  last_key_ = std::exchange(held_key_, {});
  keys_.insert(last_key_);
  output_.progress().show_member(last_key_, held_);
}

} // namespace superstep
