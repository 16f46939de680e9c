// SPDX-License-Identifier: Apache-2.0
// The actors of a lane, and how they are given back while a CAF worker runs them.
#include "actors/actor_system.hpp"
#include "actors/idle_actors.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_config.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/make_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/monitorable_actor.hpp>

#include <future>
#include <mutex>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(pooled_actors)

namespace {

/// An actor that sends requests. The first response blocks its sender until the test continues it.
class slow_client final : public caf::monitorable_actor {
public:
  explicit slow_client(caf::actor_config& config) : caf::monitorable_actor{config} {}

  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const auto number = ++responses_;
    if (number == 1) {
      inside_.set_value();
      go_on_.get_future().wait();
    }
    if (what->mid.is_response() && number == 2)
      second_.set_value();
  }
  const char* name() const override { return "slow_client"; }

  void await_first() { inside_.get_future().wait(); }
  void go_on() { go_on_.set_value(); }
  void await_second() { second_.get_future().wait(); }

private:
  std::atomic<int> responses_{0};
  std::promise<void> inside_;
  std::promise<void> go_on_;
  std::promise<void> second_;
};

void send_request(const pooled_actor_ptr& to, const caf::strong_actor_ptr& client,
                  std::uint64_t number) {
  to->enqueue(client, caf::make_message_id(number), caf::make_message(1), nullptr);
}

} // namespace

/// While a CAF worker runs an actor, only this worker may close its mailbox.
BOOST_AUTO_TEST_CASE(actor_that_worker_runs_ends_after_its_message) {
  auto config = caf::actor_system_config{};
  const auto system = make_actor_system(config);
  auto no_options = caf::actor_config{};
  const auto client = caf::make_actor<slow_client, caf::strong_actor_ptr>(
      system->next_actor_id(), system->node(), system.get(), no_options);
  auto& sender = *static_cast<slow_client*>(client->get());
  auto pool = idle_actors{*system, 8};
  auto taken = pool.take({});
  const auto watched = taken;
  auto ended = std::promise<void>{};
  watched->get()->attach_functor([&] { ended.set_value(); });
  send_request(watched, client, 1);
  sender.await_first();
  pool.give_back(std::move(taken));
  BOOST_TEST(!pooled_actor_of(watched).is_dead());
  sender.go_on();
  ended.get_future().wait();
  BOOST_TEST(pooled_actor_of(watched).is_dead());
  BOOST_TEST(pool.idle() == 0U);
  send_request(watched, client, 2);
  sender.await_second();
}

BOOST_AUTO_TEST_CASE(actor_that_others_hold_ends_when_it_is_given_back) {
  auto config = caf::actor_system_config{};
  const auto system = make_actor_system(config);
  auto pool = idle_actors{*system, 8};
  auto taken = pool.take({});
  const auto held = taken;
  pool.give_back(std::move(taken));
  BOOST_TEST(pooled_actor_of(held).is_dead());
  BOOST_TEST(pool.idle() == 0U);
  pool.give_back(pool.take({}));
  BOOST_TEST(pool.idle() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
