// SPDX-License-Identifier: Apache-2.0
// UI components in graph state: their JSON form and their reducer.
#include <superstep/messages/ui_message.hpp>

#include <cstddef>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace superstep {

namespace {

/// Whether the metadata requests that properties are merged with those of the old component.
bool is_merged(const ui_message& part) {
  const auto* merge = part.metadata.if_contains("merge");
  return merge != nullptr && merge->is_bool() && merge->get_bool();
}

/// Returns the component that replaces `before`, with its properties merged in if requested.
ui_message replacement_of(const ui_message& before, ui_message part) {
  if (!is_merged(part))
    return part;
  auto props = before.props;
  for (auto& [name, v] : part.props)
    props[name] = std::move(v);
  part.props = std::move(props);
  return part;
}

} // namespace

ui_message remove_ui_message(std::string id) {
  auto out = ui_message{};
  out.id = std::move(id);
  out.is_removal = true;
  return out;
}

json::object to_json(const ui_message& part) {
  if (part.is_removal)
    return {{"type", "remove-ui"}, {"id", part.id}};
  return {{"type", "ui"},
          {"id", part.id},
          {"name", part.name},
          {"props", part.props},
          {"metadata", part.metadata}};
}

void add_ui_messages::operator()(std::vector<ui_message>& into,
                                 std::vector<ui_message>&& more) const {
  // Works on a copy, so that `into` is unchanged if a removal fails.
  auto out = into;
  auto places = std::unordered_map<std::string, std::size_t>{};
  for (auto i = std::size_t{0}; i < out.size(); ++i)
    places[out[i].id] = i;
  auto removed = std::unordered_set<std::string>{};
  for (auto& part : more) {
    const auto found = places.find(part.id);
    if (found == places.end() && part.is_removal)
      throw std::invalid_argument{
          "Attempting to delete an UI message with an ID that doesn't exist ('" + part.id + "')"};
    if (part.is_removal) {
      removed.insert(part.id);
    } else if (found == places.end()) {
      places[part.id] = out.size();
      out.push_back(std::move(part));
    } else {
      removed.erase(part.id);
      out[found->second] = replacement_of(out[found->second], std::move(part));
    }
  }
  std::erase_if(out, [&](const auto& part) { return removed.contains(part.id); });
  into = std::move(out);
}

} // namespace superstep
