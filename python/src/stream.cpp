// SPDX-License-Identifier: Apache-2.0
// Events of runs on their way to Python.
#include "stream.hpp"

#include "convert.hpp"
#include "run_options.hpp"

#include <superstep/messages/message_json.hpp>

#include <array>
#include <utility>

namespace superstep::python {

stream_mode read_stream_modes(const std::vector<std::string>& names) {
  constexpr auto known = std::to_array<std::pair<std::string_view, stream_mode>>(
      {{"values", stream_mode::values},
       {"updates", stream_mode::updates},
       {"custom", stream_mode::custom},
       {"messages", stream_mode::messages}});
  auto out = stream_mode::none;
  for (const auto& name : names) {
    auto found = stream_mode::none;
    for (const auto& [text, mode] : known)
      if (text == name)
        found = mode;
    if (found == stream_mode::none)
      throw nb::value_error(
          ("stream_mode: '" + name + "' is not values, updates, custom or messages").c_str());
    out = out | found;
  }
  return out;
}

nb::object streamed_message(const message_event& e) {
  auto message = nb::object(nb::none());
  if (const auto* const whole = e.get_if<superstep::message>())
    message = to_python(to_json(*whole));
  else if (const auto* const piece = e.get_if<message_chunk>())
    message = to_python(to_dict(*piece).at("data"));
  auto about = nb::dict();
  about["node"] = to_python(std::string_view{e.node});
  about["step"] = e.step;
  return nb::make_tuple(message, about);
}

nb::dict interrupts_object(const std::vector<interrupt>& interrupts) {
  auto out = nb::dict();
  out["__interrupt__"] = to_python(interrupts);
  return out;
}

nb::object values_object(nb::object state,
                         const std::optional<std::vector<interrupt>>& interrupts) {
  if (interrupts)
    state["__interrupt__"] = to_python(*interrupts);
  return state;
}

nb::dict update_object(std::string_view node, nb::handle update, bool is_cached) {
  auto out = nb::dict();
  out[to_python(node)] = update;
  if (is_cached) {
    auto about = nb::dict();
    about["cached"] = true;
    out["__metadata__"] = about;
  }
  return out;
}

void queue_sink::push(detail::run_event e) {
  room_->unread.fetch_add(1);
  to_.queue->put(to_.tag, [make = make_, room = room_,
                           event = std::make_shared<detail::run_event>(std::move(e))] {
    room->one_read();
    return make(std::move(*event));
  });
}

void queue_sink::on_room(std::function<void()> go_on) {
  {
    const auto lock = std::scoped_lock{room_->mutex};
    room_->go_on = std::move(go_on);
  }
  room_->continue_run(); // there may have been room before the function was set
}

bool queue_sink::room::is_full() {
  was_full = true;
  if (unread >= unread_max)
    return true;
  was_full = false;
  return false;
}

void queue_sink::room::one_read() {
  unread.fetch_sub(1);
  continue_run();
}

/// Continues a paused run if at most half of the events that it may have unread are unread.
void queue_sink::room::continue_run() {
  if (!was_full || unread > unread_max / 2)
    return;
  auto call = std::function<void()>{};
  {
    const auto lock = std::scoped_lock{mutex};
    if (!go_on || !was_full.exchange(false))
      return;
    call = go_on;
  }
  call();
}

} // namespace superstep::python
