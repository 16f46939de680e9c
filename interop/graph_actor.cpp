// SPDX-License-Identifier: Apache-2.0
// Graphs as CAF actors: the link between an actor and its engine, and the conversion of errors.
#include "actors/engine_access.hpp"
#include "actors/user_code.hpp"
#include "base/visible_text.hpp"

#include <superstep/interop/graph_actor.hpp>

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <stdexcept>

namespace superstep {

namespace {

run_error failed(std::error_code code, std::string text) {
  auto error = run_error{};
  error.code = code;
  error.text = std::move(text);
  return error;
}

/// The link of one graph actor. The engine knows it until the actor has ended.
class link_of_engine final : public detail::engine_link, public detail::shutdown_listener {
public:
  explicit link_of_engine(engine& e) : engine_{&e} {}

  void set_actor(const caf::actor& actor) override {
    {
      const auto lock = std::scoped_lock{mutex_};
      actor_ = caf::actor_cast<caf::actor_addr>(actor);
      if (engine_ != nullptr)
        return;
    }
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  run_handle start(const detail::program_ptr& program, detail::run_input input, run_config config,
                   std::function<void(detail::raw_result)> done, stream_mode modes,
                   std::shared_ptr<detail::event_sink> sink) override {
    // The lock keeps the engine alive: its destructor waits in on_shutdown().
    const auto lock = std::scoped_lock{mutex_};
    if (engine_ == nullptr)
      throw graph_error{failed(graph_errc::cancelled, "the engine of the graph has shut down")};
    return detail::engine_access::start(*engine_, program, std::move(input), std::move(config),
                                        std::move(done), modes, std::move(sink));
  }
  void on_shutdown() noexcept override {
    auto actor = caf::actor_addr{};
    {
      const auto lock = std::scoped_lock{mutex_};
      engine_ = nullptr;
      actor = actor_;
    }
    if (const auto alive = caf::actor_cast<caf::actor>(actor))
      caf::anon_send_exit(alive, caf::exit_reason::user_shutdown);
  }

private:
  std::mutex mutex_;
  engine* engine_;
  caf::actor_addr actor_;
};

} // namespace

std::shared_ptr<detail::engine_link> detail::link_to(engine& e, const caf::actor_system& system) {
  // A thread that spawns an actor keeps a reference to CAF's logger of that system until it ends,
  // and ~engine would wait for that.
  if (engine_access::has_system(e, system))
    throw std::invalid_argument{"spawn_graph: the actor system is that of the engine; pass an "
                                "actor system of the program"};
  auto link = std::make_shared<link_of_engine>(e);
  engine_access::at_shutdown(e, link);
  return link;
}

caf::error make_error(actor_errc code) {
  return {static_cast<std::uint8_t>(code), caf::atom("ss_actor")};
}

json::object detail::object_of_text(const std::string& text) {
  constexpr auto shown_max = std::size_t{80};
  const auto what = std::string{"the input of the graph must be the text of a JSON object: "};
  auto parsed = parse_json(text);
  if (!parsed)
    throw graph_error{failed(parsed.error().code, what + parsed.error().text)};
  if (!parsed->is_object())
    throw graph_error{
        failed(errc::parse_failed, what + ("got " + one_line(to_text(*parsed), shown_max)))};
  return std::move(parsed->get_object());
}

detail::raw_result detail::result_of_exit() {
  auto result = raw_result{};
  result.error =
      failed(graph_errc::actor_exited, "the actor of the graph received an exit message");
  return result;
}

caf::error detail::caf_error_of_exception(std::string_view whose) {
  try {
    throw;
  } catch (const graph_error& e) {
    return caf_error_of(e.details());
  } catch (...) {
    return caf_error_of(current_error(whose, 0));
  }
}

std::optional<caf::error> detail::error_of(const raw_result& result, bool with_interrupts) {
  if (result.error)
    return caf_error_of(*result.error);
  if (with_interrupts && result.interrupts)
    return caf_error_of(
        failed(actor_errc::interrupted,
               "the run was interrupted; start it with a graph_call to get the interrupts"));
  return std::nullopt;
}

} // namespace superstep
