// SPDX-License-Identifier: Apache-2.0
// Describes the calling task to a tool, and computes the key that identifies a call when it is
// repeated.
#include "call_task.hpp"

#include "base/digest.hpp"

#include <superstep/runtime/detail/runtime_access.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace superstep {

std::string tool_context::idempotency_key() const {
  auto text = std::string{};
  const auto add = [&text](std::string_view part) {
    text += part;
    text += '\0';
  };
  const auto is_saved = place && place->journal.records;
  // Without a thread, nothing is added. A super-step is a number, so the text remains unambiguous.
  if (place)
    add(place->config->thread_id);
  if (!is_saved)
    add(run_key);
  add(is_saved ? std::string_view{place->ns} : std::string_view{});
  add(std::to_string(step));
  add(is_saved ? std::string_view{place->task} : std::string_view{node});
  if (!is_saved)
    add(std::to_string(task_index));
  add(tool_call_id);
  add(std::to_string(repeat));
  constexpr auto digits = std::size_t{32};
  return digest_text(text).substr(0, digits);
}

void set_unsaved_place(tool_context& context, const std::shared_ptr<const run_config>& config) {
  auto place = std::make_shared<detail::task_place>();
  place->config = config;
  context.place = std::move(place);
}

void set_task(tool_context& context, const runtime& task) {
  context.run_key = task.config().run_id;
  context.node = std::string{task.node()};
  context.attempt = task.attempt();
  context.step = static_cast<std::uint32_t>(task.step());
  context.task_index = task.task_index();
  context.stop = task.stop();
  context.deadline = task.deadline();
  set_place(context, detail::runtime_access::place(task),
            detail::runtime_access::share_config(task));
}

std::vector<std::uint32_t> repeats_of(std::span<const tool_call> calls) {
  auto out = std::vector<std::uint32_t>(calls.size());
  if (calls.size() < 2)
    return out;
  auto seen = std::map<std::string_view, std::uint32_t>{};
  for (auto i = std::size_t{0}; i < calls.size(); ++i)
    out[i] = seen[calls[i].id]++;
  return out;
}

} // namespace superstep
