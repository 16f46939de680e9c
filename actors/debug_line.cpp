// SPDX-License-Identifier: Apache-2.0
// Formats events of the modes `updates` and `values` as the lines of compile_options::debug.
// printing_sink.cpp prints them.
#include "actors/debug_line.hpp"

#include <set>
#include <utility>

namespace superstep {

namespace {

/// Builds the JSON text of an object, member by member.
class members {
public:
  void add(std::string_view name, std::string_view text) {
    text_ += text_.empty() ? "{" : ",";
    text_ += to_text(json::value(name)) + ':';
    text_ += text;
  }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}) + "}"; }

private:
  std::string text_;
};

/// Formats writes: null, an object, or a list of objects if a channel was written more than once.
std::string written(const write_list& writes, const detail::program& table) {
  auto all = std::vector<std::string>{};
  auto now = members{};
  auto seen = std::set<std::uint32_t>{};
  for (const auto& w : writes) {
    const auto& channel = *table.channels()[w.channel];
    const auto* form = channel.written_form();
    if (form == nullptr)
      continue;
    if (!seen.insert(w.channel).second) {
      all.push_back(now.take());
      seen = {w.channel};
    }
    auto text = std::string{};
    form->write(text, w.content);
    now.add(channel.name(), text);
  }
  if (now.empty())
    return "null";
  if (all.empty())
    return now.take();
  auto out = std::string{"["};
  for (const auto& one : all)
    out += one + ',';
  return out + now.take() + ']';
}

std::string held(const state_block& state, const detail::program& table) {
  auto out = members{};
  for (const auto& channel : table.channels()) {
    if (!channel->is_kept() || !channel->is_available(state))
      continue;
    // the change from an empty value is written as `[value]`; the brackets are removed
    auto text = std::string{};
    if (channel->write_change(text, nullptr, state) && text.size() > 2)
      out.add(channel->name(), std::string_view{text}.substr(1, text.size() - 2));
  }
  return out.empty() ? "{}" : out.take();
}

std::string line(std::string_view mode, const detail::run_event& event,
                 const std::string& content) {
  auto out = "[" + std::string{mode} + "] ";
  if (event.path && !event.path->empty()) {
    out += "[graph=";
    for (auto i = std::size_t{0}; i < event.path->size(); ++i)
      out += (i == 0 ? "" : "/") + (*event.path)[i];
    out += "] ";
  }
  return out + content + '\n';
}

} // namespace

std::string to_debug_line(const detail::run_event& event, const detail::program& outermost) {
  const auto& table = event.table ? *event.table : outermost;
  if (event.mode == stream_mode::values && event.state)
    return line("values", event, held(*event.state, table));
  if (event.mode != stream_mode::updates)
    return {};
  auto content = members{};
  if (event.interrupts) {
    auto values = json::array{};
    for (const auto& each : *event.interrupts)
      values.push_back(each.value);
    content.add("__interrupt__", to_text(json::value(std::move(values))));
  } else {
    content.add(event.node, written(event.writes, table));
  }
  return line("updates", event, content.take());
}

} // namespace superstep
