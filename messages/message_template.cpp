// SPDX-License-Identifier: Apache-2.0
// Parses and fills templates of conversations. The texts of a template are split into parts once,
// when it is parsed, because a batch fills the template for each of its rows.
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/message_template.hpp>

#include <algorithm>
#include <utility>

namespace superstep {
namespace {

constexpr auto opening = std::string_view{"{{"};
constexpr auto closing_braces = std::string_view{"}}"};
constexpr auto spaces = std::string_view{" \t"};

std::string_view trimmed(std::string_view text) noexcept {
  const auto begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

error fault_at(const std::string& where, const std::string& text) {
  return {errc::parse_failed, where + ": " + text};
}

/// The beginning of a text up to a placeholder.
struct text_before {
  std::string text;
  std::optional<std::string_view> name; ///< name of the placeholder; nullopt at the end of the text
};

/// Takes the text up to the next placeholder, and the placeholder, from the front of `rest`. Of
/// several braces in a row, each four give `{{`, and the last two open a placeholder.
result<text_before> take_text(std::string_view& rest, const std::string& where) {
  auto out = text_before{};
  while (!rest.empty()) {
    const auto literal = std::min(rest.find(opening), rest.size());
    out.text += rest.substr(0, literal);
    rest.remove_prefix(literal);
    auto braces = std::min(rest.find_first_not_of('{'), rest.size());
    for (; braces >= 2 * opening.size(); braces -= 2 * opening.size()) {
      out.text += opening;
      rest.remove_prefix(2 * opening.size());
    }
    out.text.append(braces % 2, '{');
    rest.remove_prefix(braces % 2);
    if (braces < opening.size())
      continue;
    const auto end = rest.find(closing_braces);
    if (end == std::string_view::npos)
      return fault_at(where, "{{ has no }}; write {{{{ if the text {{ is meant");
    const auto name = trimmed(rest.substr(opening.size(), end - opening.size()));
    if (name.empty() || name.find_first_of("{}\r\n") != std::string_view::npos)
      return fault_at(where, "{{" + std::string{name} +
                                 "}} is not the name of a column; write {{{{ if the text {{ is "
                                 "meant");
    rest.remove_prefix(end + closing_braces.size());
    out.name = name;
    return out;
  }
  return out;
}

/// Whether a message has only a role and a text, so that it can be filled without JSON values.
const json::string* text_of_simple(const json::value& said) noexcept {
  const auto* members = said.if_object();
  if (members == nullptr || members->size() != 2 || !members->contains("role"))
    return nullptr;
  const auto* content = members->if_contains("content");
  return content != nullptr ? content->if_string() : nullptr;
}

} // namespace

result<std::vector<message_template::part>> message_template::split(std::string_view text,
                                                                    const std::string& where) {
  auto out = std::vector<part>{};
  while (true) {
    auto taken = take_text(text, where);
    if (!taken)
      return taken.error();
    auto& next = out.emplace_back(part{std::move(taken->text), std::nullopt});
    if (!taken->name)
      return out;
    const auto found = std::ranges::find(names_, *taken->name);
    next.name = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end())
      names_.emplace_back(*taken->name);
    placeholders_.push_back({std::string{*taken->name}, where});
  }
}

/// Finds the placeholders of all texts in a JSON value.
result<void> message_template::check_tree(const json::value& at, const std::string& where) {
  if (const auto* text = at.if_string()) {
    auto parts = split({text->data(), text->size()}, where);
    return parts ? result<void>{} : result<void>{parts.error()};
  }
  if (const auto* list = at.if_array())
    for (auto i = std::size_t{0}; i < list->size(); ++i)
      if (auto checked = check_tree((*list)[i], where + "." + std::to_string(i)); !checked)
        return checked;
  if (const auto* members = at.if_object())
    for (const auto& [name, value] : *members)
      if (auto checked = check_tree(value, where + "." + std::string{name}); !checked)
        return checked;
  return {};
}

result<message_template> message_template::parse(const json::array& messages,
                                                 std::string_view path) {
  auto out = message_template{};
  out.text_ = to_canonical_text(messages);
  out.path_ = path;
  if (messages.empty())
    return fault_at(out.path_, "must be a list of at least one message");
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    const auto where = out.path_ + "." + std::to_string(i);
    auto said = message_from_json(messages[i], where);
    if (!said)
      return said.error();
    auto next = piece{};
    if (const auto* text = text_of_simple(messages[i])) {
      auto parts = out.split({text->data(), text->size()}, where + ".content");
      if (!parts)
        return parts.error();
      next.content = std::move(*parts);
      next.plain = std::move(*said);
    } else {
      if (auto checked = out.check_tree(messages[i], where); !checked)
        return checked.error();
      next.tree = messages[i];
    }
    out.pieces_.push_back(std::move(next));
  }
  return out;
}

void message_template::move_places(const std::function<std::string(const std::string&)>& to) {
  for (auto& one : placeholders_)
    one.where = to(one.where);
}

json::value message_template::fill_tree(const json::value& at,
                                        const std::vector<std::string>& values) const {
  if (const auto* text = at.if_string()) {
    auto rest = std::string_view{text->data(), text->size()};
    auto filled = std::string{};
    while (true) {
      const auto taken = take_text(rest, {}).value(); // parse() has checked the text
      filled += taken.text;
      if (!taken.name)
        return json::value(filled);
      filled +=
          values[static_cast<std::size_t>(std::ranges::find(names_, *taken.name) - names_.begin())];
    }
  }
  if (const auto* list = at.if_array()) {
    auto out = json::array{};
    for (const auto& item : *list)
      out.push_back(fill_tree(item, values));
    return out;
  }
  if (const auto* members = at.if_object()) {
    auto out = json::object{};
    for (const auto& [name, value] : *members)
      out[name] = fill_tree(value, values);
    return out;
  }
  return at;
}

result<message_list> message_template::fill(const lookup& value_of) const {
  auto values = std::vector<std::string>{};
  values.reserve(names_.size());
  for (const auto& name : names_) {
    auto value = value_of(name);
    if (!value) {
      const auto used = std::ranges::find(placeholders_, name, &placeholder::name);
      return error{errc::parse_failed,
                   "the row has no member \"" + name + "\", which " + used->where + " needs"};
    }
    values.push_back(std::move(*value));
  }
  auto out = message_list{};
  for (auto i = std::size_t{0}; i < pieces_.size(); ++i) {
    const auto& from = pieces_[i];
    if (!from.tree.is_null()) {
      auto said = message_from_json(fill_tree(from.tree, values), path_ + "." + std::to_string(i));
      if (!said)
        return said.error();
      out.push_back(std::move(*said));
      continue;
    }
    auto said = from.plain;
    said.content.clear();
    for (const auto& next : from.content) {
      said.content += next.text;
      if (next.name)
        said.content += values[*next.name];
    }
    out.push_back(std::move(said));
  }
  return out;
}

} // namespace superstep
