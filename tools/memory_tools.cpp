// SPDX-License-Identifier: Apache-2.0
// The tools `remember` and `recall`, which write and search texts in the long-term memory.
#include "base/ascii_text.hpp"

#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool.hpp>

#include <boost/describe/class.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::memory_tools {

struct remember_args {
  std::string key;
  std::string text;
  injected_store memory;
};
BOOST_DESCRIBE_STRUCT(remember_args, (), (key, text, memory))

struct recall_args {
  std::optional<std::string> about;
  injected_store memory;
};
BOOST_DESCRIBE_STRUCT(recall_args, (), (about, memory))

namespace {

bool holds(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return ascii_lower(a) == ascii_lower(b); };
  return std::ranges::search(text, part, same).begin() != text.end() || part.empty();
}

std::string text_in(const json::object& kept) {
  const auto* text = kept.if_contains("text");
  return text != nullptr && text->is_string() ? std::string{text->get_string()} : to_text(kept);
}

std::string recall(const recall_options& options, const recall_args& given) {
  constexpr auto page = std::size_t{256};
  const auto about = given.about.value_or("");
  auto query = store_query{};
  query.prefix = options.ns;
  query.limit = page;
  auto out = std::string{};
  auto left = options.items_max;
  auto has_more = true;
  // The store also returns items of the namespaces below, and does not compare texts.
  while (has_more && left > 0) {
    const auto items = given.memory->search(query);
    for (const auto& item : items) {
      const auto text = text_in(item.value);
      if (left == 0 || item.ns != options.ns || !(holds(item.key, about) || holds(text, about)))
        continue;
      out += (out.empty() ? "" : "\n") + item.key + ": " + text;
      --left;
    }
    has_more = items.size() == page;
    query.offset += page;
  }
  return out.empty() ? "Nothing of that is remembered." : out;
}

} // namespace
} // namespace superstep::memory_tools

namespace superstep {

tool_ptr make_remember(remember_options options) {
  return make_tool<memory_tools::remember_args>(
      "remember",
      "Keeps a text for this and all later conversations, in the place of what the key had.",
      [options = std::move(options)](const memory_tools::remember_args& given) {
        auto kept = json::object{};
        kept["text"] = given.text;
        given.memory->put(options.ns, given.key, std::move(kept));
        return std::string{"Kept."};
      });
}

tool_ptr make_recall(recall_options options) {
  return make_tool<memory_tools::recall_args>(
      "recall",
      "What was kept in this and all earlier conversations; with `about`, only what holds that.",
      [options = std::move(options)](const memory_tools::recall_args& given) {
        return memory_tools::recall(options, given);
      });
}

} // namespace superstep
