// SPDX-License-Identifier: Apache-2.0
// Requests of bodies to CAF actors. A request leaves on the thread of the body. The response
// arrives on a thread of CAF and resumes the body through its executor.
#include "base/deadline.hpp"
#include "base/error_table.hpp"
#include "base/visible_text.hpp"
#include "reply_port.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/base/detail/assert.hpp>

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/default_attachable.hpp>
#include <caf/make_actor.hpp>
#include <caf/sec.hpp>
#include <caf/system_messages.hpp>

#include <stdexcept>
#include <utility>

namespace superstep {

namespace {

constexpr detail::error_entry<actor_errc> code_table[] = {
    {actor_errc::down, "down", "the actor has ended"},
    {actor_errc::timed_out, "timed_out", "the actor did not answer in time"},
    {actor_errc::refused, "refused", "the actor answered with an error"},
    {actor_errc::unexpected_answer, "unexpected_answer", "the answer has an unexpected type"},
    {actor_errc::interrupted, "interrupted", "the run of the graph was interrupted"},
};

/// The longest part of a message that an error text shows.
constexpr auto shown_max = std::size_t{200};

} // namespace

std::error_code make_error_code(actor_errc code) noexcept {
  static const auto category =
      detail::error_table<actor_errc>{"actor", "actor_errc", "unknown actor error", code_table};
  return {static_cast<int>(code), category};
}

actor_error::actor_error(actor_errc code, std::string text, caf::error reason)
    : std::system_error{make_error_code(code)}, text_{std::move(text)}, reason_{std::move(reason)} {
}

bool actor_client::is_alive() const {
  return port_->port().is_alive();
}

namespace detail {

void refuse(const caf::mailbox_element& message) {
  if (message.mid.is_request() && message.sender)
    message.sender->enqueue(nullptr, message.mid.response_id(),
                            caf::make_message(make_error(caf::sec::unexpected_message)), nullptr);
}

reply_port::reply_port(caf::actor_config& config, caf::strong_actor_ptr target)
    : caf::monitorable_actor{config}, target_{std::move(target)} {}

void reply_port::watch() {
  auto* const observed = target_->get();
  observed->attach(caf::default_attachable::make_monitor(observed->address(), address()));
}

void reply_port::ask(std::uint64_t number, caf::message request, const completer<reply>& done) {
  {
    auto lock = std::unique_lock{requests_mutex_};
    if (is_down_) {
      lock.unlock();
      done({{}, down_reason_, actor_errc::down}); // the reason does not change any more
      return;
    }
    open_.emplace(number, done);
  }
  // without an execution unit, the message goes to the queue of CAF's scheduler, which wakes a
  // worker
  target_->enqueue(caf::strong_actor_ptr{ctrl()}, caf::make_message_id(number), std::move(request),
                   nullptr);
}

void reply_port::forget(std::uint64_t number) {
  const auto lock = std::scoped_lock{requests_mutex_};
  open_.erase(number);
}

void reply_port::answer(std::uint64_t number, reply r) {
  auto done = std::optional<completer<reply>>{};
  {
    const auto lock = std::scoped_lock{requests_mutex_};
    const auto found = open_.find(number);
    if (found == open_.end()) // forgotten, or failed already
      return;
    done.emplace(std::move(found->second));
    open_.erase(found);
  }
  (*done)(std::move(r));
}

void reply_port::fail_all(const caf::error& reason) {
  auto failed = decltype(open_){};
  {
    const auto lock = std::scoped_lock{requests_mutex_};
    if (is_down_)
      return;
    down_reason_ = reason;
    is_down_ = true;
    failed.swap(open_);
  }
  for (const auto& [number, done] : failed)
    done({{}, reason, actor_errc::down});
}

void reply_port::enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) {
  const auto id = what->mid;
  if (id.is_response()) {
    auto r = reply{};
    if (what->content().match_elements<caf::error>()) {
      r.reason = what->content().get_as<caf::error>(0);
      r.failed =
          r.reason == caf::sec::request_receiver_down ? actor_errc::down : actor_errc::refused;
    } else {
      r.content = what->move_content_to_message();
    }
    answer(id.request_id().integer_value(), std::move(r));
  } else if (what->content().match_elements<caf::down_msg>()) {
    fail_all(what->content().get_as<caf::down_msg>(0).reason);
  } else if (id.is_request()) {
    refuse(*what);
  }
}

void reply_port::end() {
  target_->get()->detach(
      caf::default_attachable::observe_token{address(), caf::default_attachable::monitor});
  fail_all(make_error(caf::exit_reason::unreachable));
  cleanup(make_error(caf::exit_reason::normal), nullptr);
}

void reply_port::on_destroy() {
  cleanup(make_error(caf::exit_reason::unreachable), nullptr);
  caf::monitorable_actor::on_destroy();
}

bool reply_port::is_alive() const {
  const auto lock = std::scoped_lock{requests_mutex_};
  return !is_down_;
}

std::string reply_port::target_in_text() const {
  const auto is_local = target_->node() == home_system().node();
  return "actor " + (is_local ? std::to_string(target_->id()) : to_string(target_));
}

std::string reply_port::text_of(const caf::error& e) const {
  if (!e)
    return "normal";
  auto text = superstep::text_of(e); // the error of a graph actor
  return text.empty() ? home_system().render(e) : text;
}

port_owner::port_owner(caf::strong_actor_ptr target) {
  if (!target)
    throw std::invalid_argument{"actor_client: the handle is empty; pass the handle of an actor"};
  auto& system = *target->home_system;
  auto config = caf::actor_config{};
  port_ = caf::make_actor<reply_port, caf::strong_actor_ptr>(system.next_actor_id(), system.node(),
                                                             &system, config, std::move(target));
  port().watch();
}

port_owner::~port_owner() {
  port().end();
}

reply_port& port_owner::port() const noexcept {
  return *static_cast<reply_port*>(port_->get());
}

namespace {

/// Ends a request when its time is over. A coroutine beside the one that waits.
task<void> time_out_at(executor::time_point when, completer<reply> done) {
  auto sleeping = sleep_until{when};
  co_await sleeping;
  done({{}, {}, actor_errc::timed_out});
}

[[noreturn]] void throw_failed(const reply_port& port, const reply& r,
                               const actor_call_options& options) {
  auto text = port.target_in_text();
  switch (*r.failed) {
  case actor_errc::down:
    text += " ended before it answered (" + port.text_of(r.reason) + "); start it again";
    break;
  case actor_errc::timed_out:
    text += " did not answer within " + std::to_string(options.timeout->count()) + " ms";
    break;
  case actor_errc::refused:
  case actor_errc::unexpected_answer:
  case actor_errc::interrupted:
    text += " answered with the error: " + port.text_of(r.reason);
    break;
  }
  throw actor_error{*r.failed, std::move(text), r.reason};
}

} // namespace

task<caf::message> ask_actor(port_ptr owner, caf::message request, actor_call_options options) {
  auto& at = co_await this_context{};
  auto waking = task<void>{};
  const auto number = owner->port().next_number();
  auto waiting = await_callback<reply>([&](completer<reply> done) {
    if (options.timeout) {
      waking = time_out_at(deadline_after(at.where->now(), *options.timeout), done);
      waking.start_in(at);
      waking.handle().resume();
      if (waking.done())
        waking.take(); // throws if the timer lacks memory
    }
    done.on_abandon([owner, number] { owner->port().forget(number); });
    // Another thread may resume and destroy the coroutine as soon as the request is sent. Therefore
    // nothing of its frame is used after that.
    const auto keep = owner;
    keep->port().ask(number, std::move(request), done);
  });
  auto got = co_await waiting;
  waking = {};
  if (got.failed == actor_errc::timed_out)
    owner->port().forget(number);
  if (got.failed)
    throw_failed(owner->port(), got, options);
  co_return std::move(got.content);
}

void throw_unexpected(const reply_port& port, const caf::message& answer) {
  throw actor_error{actor_errc::unexpected_answer,
                    port.target_in_text() + " answered " + one_line(to_string(answer), shown_max) +
                        ", which is not of the expected type; compare its interface with the "
                        "declared type of the answer"};
}

} // namespace detail
} // namespace superstep
