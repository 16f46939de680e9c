// SPDX-License-Identifier: Apache-2.0
// Measures a plain CAF message, with which the engine's costs are compared. See
// actor_nodes.cpp for actors as nodes.
#include "caf_floor.hpp"

#include "measure.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <cstdint>
#include <future>
#include <memory>

namespace superstep::bench {

namespace {

constexpr auto hops = std::int64_t{200'000};

/// An actor that first receives its partner and then numbers. It answers each number with the next
/// lower one.
caf::behavior player(caf::event_based_actor* self,
                     const std::shared_ptr<std::promise<void>>& over) {
  const auto partner = std::make_shared<caf::actor>();
  return {[partner](const caf::actor& other) { *partner = other; },
          [self, partner, over](std::int64_t left) {
            if (left > 0) {
              self->send(*partner, left - 1);
              return;
            }
            over->set_value();
            // The actors refer to each other, so they are destroyed only after both references are
            // removed.
            self->send_exit(*partner, caf::exit_reason::user_shutdown);
            *partner = {};
            self->quit();
          }};
}

void play(caf::actor_system& system) {
  const auto over = std::make_shared<std::promise<void>>();
  auto ended = over->get_future();
  const auto ping = system.spawn(player, over);
  const auto pong = system.spawn(player, over);
  caf::anon_send(ping, pong);
  caf::anon_send(pong, ping);
  caf::anon_send(ping, hops - 1);
  ended.get();
}

} // namespace

double hop_ns(std::size_t repetitions) {
  auto config = caf::actor_system_config{};
  config.set("scheduler.max-threads", std::size_t{1});
  config.set("logger.console", caf::atom("none"));
  auto system = caf::actor_system{config};
  play(system);
  const auto time = measure(repetitions, [&] {
    play(system);
    return 0;
  });
  return time.cpu_min * 1e9 / static_cast<double>(hops);
}

} // namespace superstep::bench
