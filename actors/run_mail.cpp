// SPDX-License-Identifier: Apache-2.0
// Messages of other actors to runs: cancel and drain, writes to channels, which the lane applies at
// the next barrier, and bodies that wait for such writes. A message takes this way: mailbox of the
// coordinator (pooled_actor.cpp), inbox of the lane, run_mail, barrier (step_policy.cpp).
#include "run_mail.hpp"

#include "lane.hpp"
#include "runtime/json_layout.hpp"
#include "user_code.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>

#include <caf/actor_cast.hpp>
#include <caf/sec.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// Sends the message that `make` returns as the answer to a request. Without memory for it, the
/// sender gets no answer.
template <class Make>
void answer(const caf::mailbox_element& message, Make make) noexcept {
  if (!message.mid.is_request() || !message.sender)
    return;
  try {
    message.sender->enqueue(nullptr, message.mid.response_id(), make(), nullptr);
  } catch (const std::bad_alloc&) {
  }
}

void answer_done(const caf::mailbox_element& message) noexcept {
  answer(message, [] { return caf::make_message(); });
}

void answer_error(const caf::mailbox_element& message, const error& why) noexcept {
  answer(message, [&] {
    auto as_run_error = run_error{};
    as_run_error.code = why.code;
    as_run_error.text = why.text;
    return caf::make_message(caf_error_of(as_run_error));
  });
}

void answer_ended(const caf::mailbox_element& message) noexcept {
  answer(message,
         [] { return caf::make_message(caf::make_error(caf::sec::request_receiver_down)); });
}

[[nodiscard]] bool is_json_write(const caf::type_erased_tuple& content) {
  return content.match_elements<caf::atom_value, std::string, std::string>() &&
         content.get_as<caf::atom_value>(0) == write_atom::value;
}

[[nodiscard]] bool is_cancel(const caf::type_erased_tuple& content) {
  return content.match_elements<cancel_atom>();
}

[[nodiscard]] bool is_drain(const caf::type_erased_tuple& content) {
  return content.match_elements<drain_atom>() || content.match_elements<drain_atom, std::string>();
}

/// Handles a message at the lane of its run.
void handle(lane& l, run& r, caf::mailbox_element_ptr message) noexcept {
  const auto& content = message->content();
  if (is_cancel(content)) {
    l.runs().cancel(r.root->number);
  } else if (is_drain(content)) {
    try {
      l.runs().drain(r.root->number,
                     content.size() > 1 ? content.get_as<std::string>(1) : "requested");
    } catch (...) { // no memory for the reason
      l.runs().drain(r.root->number, {});
    }
  } else {
    l.host().mail().add(r, std::move(message));
    return;
  }
  answer_done(*message);
}

/// A message on its way from a coordinator to the lane of its run.
class message_for_run final : public lane_message {
public:
  message_for_run(const actor_assignment& to, caf::mailbox_element_ptr message)
      : to_{to}, message_{std::move(message)} {}
  void arrive(lane& l) override {
    if (to_.run->is_live() && to_.run->generation == to_.run_generation)
      handle(l, *to_.run, std::move(message_));
    else
      answer_ended(*message_);
    delete this;
  }
  void refuse(lane&) noexcept override {
    answer_ended(*message_);
    delete this;
  }

private:
  actor_assignment to_;
  caf::mailbox_element_ptr message_;
};

/// The request of a body for the next write to a channel, on its way to the lane.
class wait_for_write final : public lane_message {
public:
  wait_for_write(call& c, std::string channel, completer<result<value>> done)
      : call_{c}, generation_{c.generation}, channel_{std::move(channel)}, done_{std::move(done)} {}
  void arrive(lane& l) override {
    if (call_.generation == generation_ && call_.owner != nullptr)
      l.host().mail().await(*call_.owner, channel_, done_);
    delete this; // otherwise the lane has destroyed the body
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  call& call_;
  std::uint32_t generation_;
  std::string channel_;
  completer<result<value>> done_;
};

template <class T>
[[nodiscard]] result<T> refused(std::error_code code, std::string text) {
  return result<T>{boost::system::in_place_error, code, std::move(text)};
}
template <class T>
[[nodiscard]] result<T> refused(error why) {
  return result<T>{boost::system::in_place_error, std::move(why)};
}

/// Passes a copy of a written value to a body. If copying it throws, the body gets the error.
void pass(const value& written, const completer<result<value>>& done) {
  try {
    done(result<value>{boost::system::in_place_value, written});
  } catch (...) {
    done(refused<value>(error_of_exception("copying a value that was written to a run")));
  }
}

[[nodiscard]] result<std::uint32_t> find_channel(const run& r, std::string_view name) {
  const auto& all = r.table().channels();
  const auto found =
      std::find_if(all.begin(), all.end(), [name](const auto& c) { return c->name() == name; });
  if (found == all.end())
    return refused<std::uint32_t>(graph_errc::invalid_update,
                                  "write to a run: graph '" + r.table().name() +
                                      "' has no channel '" + std::string{name} + '\'');
  return static_cast<std::uint32_t>(found - all.begin());
}

/// Reads a write to a channel from JSON text: in the form of an update of a JSON graph, or in that
/// in which checkpoints store the value.
[[nodiscard]] result<write> write_of_text(const run& r, std::uint32_t number,
                                          const std::string& text) {
  const auto& c = *r.table().channels()[number];
  const auto where = "write to channel '" + c.name() + '\'';
  const auto* form = c.written_form();
  if (form == nullptr)
    return refused<write>(graph_errc::invalid_update,
                          where + ": its values have no JSON form; send a run_write");
  auto parsed = parse_json(text);
  if (!parsed)
    return refused<write>(graph_errc::invalid_update, where + ": " + parsed.error().text);
  if (r.table().json())
    return r.table().json()->write_of(number, std::move(*parsed));
  auto read = form->read(*parsed, where);
  if (!read)
    return refused<write>(std::move(read.error()));
  return write{number, false, std::move(*read)};
}

[[nodiscard]] result<write> write_of_message(const run& r, const caf::type_erased_tuple& content) {
  const auto is_text = is_json_write(content);
  const auto* given = is_text ? nullptr : &content.get_as<run_write>(0);
  const auto number = find_channel(r, is_text ? content.get_as<std::string>(1) : given->channel);
  if (!number)
    return refused<write>(number.error());
  if (const auto& json = r.table().json(); json && json->is_read_only(*number))
    return refused<write>(graph_errc::invalid_update, "write to a run: channel '" +
                                                          r.table().channels()[*number]->name() +
                                                          "' is read-only");
  if (is_text)
    return write_of_text(r, *number, content.get_as<std::string>(2));
  return write{*number, given->overwrite, given->content};
}

/// Returns the call that runs a body. Throws std::logic_error outside an engine.
[[nodiscard]] lane_call& call_of(const runtime& rt) {
  auto* const services = dynamic_cast<lane_call*>(detail::runtime_access::services(rt));
  if (services == nullptr)
    throw std::logic_error{
        "self(), coordinator() and next_write() need a body that an engine runs"};
  return *services;
}

[[nodiscard]] caf::actor handle_of(pooled_actor_ptr actor) {
  if (!actor)
    throw std::logic_error{"the call was cancelled, so it has no actor any more"};
  return caf::actor_cast<caf::actor>(std::move(actor));
}

} // namespace

bool pass_to_run(const actor_assignment& to, caf::mailbox_element_ptr& message) {
  if (to.kind != actor_kind::coordinator || to.lane == nullptr)
    return false;
  const auto& content = message->content();
  if (!content.match_elements<run_write>() && !is_json_write(content) && !is_cancel(content) &&
      !is_drain(content))
    return false;
  to.lane->post(new message_for_run{to, std::move(message)});
  return true;
}

void run_mail::add(run& r, caf::mailbox_element_ptr message) noexcept {
  try {
    put_in_box(r, message);
  } catch (...) {
    answer_error(*message, error_of_exception("reading a value that was written to a run"));
  }
}

/// Takes the message if its write is valid. Throws what user code throws.
void run_mail::put_in_box(run& r, caf::mailbox_element_ptr& message) {
  auto got = write_of_message(r, message->content());
  if (!got) {
    answer_error(*message, got.error());
    return;
  }
  auto& mine = pending_[r.number];
  auto& channel = mine.channels[got->channel];
  mine.writes.push_back({std::move(*got), nullptr});
  const auto& content = mine.writes.back().content.content;
  auto was_passed_on = false;
  try {
    for (const auto& done : std::exchange(channel.waiters, {})) {
      if (done.abandoned())
        continue;
      pass(content, done);
      was_passed_on = true;
    }
    if (!was_passed_on)
      channel.unread.push_back(mine.writes.size() - 1);
  } catch (...) {
    mine.writes.pop_back();
    throw;
  }
  mine.writes.back().message = std::move(message);
}

void run_mail::await(run& r, std::string_view channel,
                     const completer<result<value>>& done) noexcept {
  try {
    const auto number = find_channel(r, channel);
    if (!number) {
      done(refused<value>(number.error()));
      return;
    }
    auto& mine = pending_[r.number];
    auto& mail = mine.channels[*number];
    if (!mail.unread.empty()) {
      const auto first = mail.unread.front();
      mail.unread.pop_front();
      SUPERSTEP_ASSERT(first < mine.writes.size());
      pass(mine.writes[first].content.content, done);
      return;
    }
    if (mail.waiters.size() >= mail.sweep_at) {
      std::erase_if(mail.waiters, [](const auto& each) { return each.abandoned(); });
      mail.sweep_at = 2 * mail.waiters.size() + 16;
    }
    mail.waiters.push_back(done);
  } catch (...) {
    done(refused<value>(error_of_exception("waiting for a write")));
  }
}

void run_mail::apply(run& r) noexcept {
  const auto found = pending_.find(r.number);
  if (found == pending_.end())
    return;
  const auto arrived = std::move(found->second.writes);
  pending_.erase(found); // at the barrier all bodies have ended, so none waits
  const auto is_overwrite = [](const received_write& w) { return w.content.overwrite; };
  // One update of all writes takes linear time, but its overwrites would replace later writes.
  if (arrived.size() > 1 && std::ranges::none_of(arrived, is_overwrite) &&
      apply_writes(r, arrived)) {
    for (const auto& each : arrived)
      answer_done(*each.message);
    return;
  }
  for (const auto& each : arrived) {
    if (const auto applied = apply_writes(r, {&each, 1}); !applied)
      answer_error(*each.message, applied.error());
    else
      answer_done(*each.message);
  }
}

/// Applies the writes of messages as one update. If it fails, the state is as it was before.
result<void> run_mail::apply_writes(run& r, std::span<const received_write> from) noexcept {
  try {
    auto writes = std::vector<write>{};
    writes.reserve(from.size());
    for (const auto& each : from)
      writes.push_back(each.content);
    return r.state.apply_outside(writes);
  } catch (...) {
    return error_of_exception("copying a value that was written to a run");
  }
}

void run_mail::drop(const run& r) noexcept {
  const auto found = pending_.find(r.number);
  if (found == pending_.end())
    return;
  const auto arrived = std::move(found->second.writes);
  pending_.erase(found);
  for (const auto& each : arrived)
    answer_ended(*each.message);
}

caf::actor self(const runtime& rt) {
  return handle_of(call_of(rt).actor_handle());
}

caf::actor coordinator(const runtime& rt) {
  return handle_of(call_of(rt).coordinator_handle());
}

void detail::await_write(const runtime& rt, std::string channel, completer<result<value>> done) {
  auto& c = call_of(rt);
  c.owner_lane().post(new wait_for_write{c, std::move(channel), std::move(done)});
}

} // namespace superstep
