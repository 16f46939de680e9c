// SPDX-License-Identifier: Apache-2.0
#include "json_channel.hpp"

#include "json_append.hpp"

#include <superstep/channels/kinds.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace superstep::detail {

namespace {

using single_place = slot_place<std::optional<json::value>>;
using items_place = slot_place<std::vector<json::value>>;

/// The rules of channels without a reducer. Those with one are in find_json_rule().
enum class plain_rule : std::uint8_t {
  last,
  ephemeral,
  any,
  untracked,
  untracked_any,
  topic,
  accumulating_topic,
  append,
  remaining_steps,
  is_last_step,
};

constexpr auto plain_rules = std::array<std::pair<std::string_view, plain_rule>, 10>{
    {{"last", plain_rule::last},
     {"ephemeral", plain_rule::ephemeral},
     {"any", plain_rule::any},
     {"untracked", plain_rule::untracked},
     {"untracked_any", plain_rule::untracked_any},
     {"topic", plain_rule::topic},
     {"accumulating_topic", plain_rule::accumulating_topic},
     {"append", plain_rule::append},
     {"remaining_steps", plain_rule::remaining_steps},
     {"is_last_step", plain_rule::is_last_step}}};

std::optional<plain_rule> find_plain_rule(std::string_view name) {
  const auto found =
      std::ranges::find(plain_rules, name, &std::pair<std::string_view, plain_rule>::first);
  return found == plain_rules.end() ? std::nullopt : std::optional{found->second};
}

json_kind kind_of(plain_rule rule) noexcept {
  switch (rule) {
  case plain_rule::topic:
  case plain_rule::accumulating_topic:
    return json_kind::items;
  case plain_rule::append:
    return json_kind::appended;
  case plain_rule::remaining_steps:
  case plain_rule::is_last_step:
    return json_kind::managed;
  default:
    return json_kind::single;
  }
}

/// Returns the slot of a channel, empty.
std::unique_ptr<slot_block::slot> make_slot(json_kind kind) {
  if (kind == json_kind::items)
    return std::make_unique<slot_block::slot_of<std::vector<json::value>>>(
        std::vector<json::value>{});
  if (kind == json_kind::appended)
    return std::make_unique<slot_block::slot_of<appended_json>>(appended_json{});
  return std::make_unique<slot_block::slot_of<std::optional<json::value>>>(std::nullopt);
}

/// @param number the number of the channel and of its slot
std::unique_ptr<channel> make_channel(const std::string& name, plain_rule rule,
                                      std::size_t number) {
  using topic_channel = topic<items_place, json::value, json_items>;
  using ephemeral_channel = ephemeral_value<single_place, json::value>;
  using untracked_channel = untracked_value<single_place, json::value>;
  using last_channel = last_value<single_place, json::value>;
  switch (rule) {
  case plain_rule::topic:
  case plain_rule::accumulating_topic:
    return std::make_unique<topic_channel>(name, items_place{number},
                                           rule == plain_rule::accumulating_topic);
  case plain_rule::append:
    return std::make_unique<json_append_channel>(name, number);
  case plain_rule::ephemeral:
  case plain_rule::any:
    return std::make_unique<ephemeral_channel>(name, single_place{number},
                                               rule == plain_rule::ephemeral);
  case plain_rule::untracked:
  case plain_rule::untracked_any:
    return std::make_unique<untracked_channel>(name, single_place{number},
                                               rule == plain_rule::untracked);
  default:
    return std::make_unique<last_channel>(name, single_place{number});
  }
}

} // namespace

std::string unknown_rule(const std::string& channel, std::string_view rule) {
  auto text =
      "channel '" + channel + "' has the unknown rule '" + std::string{rule} + "'; the rules are ";
  for (const auto& known : plain_rules)
    text.append(known.first).append(", ");
  return text + "add, max, concat, merge";
}

std::optional<json_channel> make_json_channel(const std::string& name, std::string_view rule,
                                              std::size_t number) {
  const auto plain = find_plain_rule(rule);
  if (!plain)
    return std::nullopt;
  const auto kind = kind_of(*plain);
  auto out = json_channel{};
  out.channel = make_channel(name, *plain, number);
  out.slot = make_slot(kind);
  out.kind = kind;
  return out;
}

} // namespace superstep::detail
