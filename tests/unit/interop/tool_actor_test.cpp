// SPDX-License-Identifier: Apache-2.0
// Tools whose calls are requests to CAF actors.
#include "peers.hpp"

#include <superstep/interop/actor_client.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tool_actor)

namespace {

using weather_actor = caf::typed_actor<caf::replies_to<city_args>::with<std::string>>;

weather_actor::behavior_type weather() {
  return {[](const city_args& args) { return "sunny in " + args.city; }};
}

ss::tool_output call_with(const ss::tool_ptr& tool, ss::json::object args) {
  auto call = ss::tool_call{};
  call.id = "1";
  call.name = tool->definition().name;
  call.args = std::move(args);
  return ss::sync_wait(tool->run(call, {}));
}

} // namespace

BOOST_AUTO_TEST_CASE(typed_actor_gets_arguments_as_struct) {
  auto system = peer_system{};
  const auto tool = ss::tool_actor<city_args>("weather", "Weather.", system.spawn(weather));
  BOOST_TEST(tool->definition().name == "weather");
  BOOST_TEST(call_with(tool, {{"city", "Rome"}}).content == "sunny in Rome");
  BOOST_CHECK_THROW(call_with(tool, {{"town", "Rome"}}), ss::tool_invocation_error);
}

BOOST_AUTO_TEST_CASE(dynamic_actor_answers_with_declared_type) {
  auto system = peer_system{};
  const auto handle = system.spawn([]() -> caf::behavior {
    return {[](const city_args& args) { return static_cast<int>(args.city.size()); }};
  });
  const auto tool = ss::tool_actor<city_args, int>("length", "Length.", handle);
  BOOST_TEST(call_with(tool, {{"city", "Rome"}}).content == "4");
}

BOOST_AUTO_TEST_CASE(text_actor_gets_arguments_as_json) {
  auto system = peer_system{};
  const auto handle = system.spawn(
      []() -> caf::behavior { return {[](const std::string& json) { return "got " + json; }}; });
  const auto tool = ss::tool_actor({"echo", "Echo.", {}}, handle);
  BOOST_TEST(call_with(tool, {{"n", 1}}).content == R"(got {"n":1})");
}

BOOST_AUTO_TEST_CASE(ended_actor_makes_tool_unavailable) {
  auto system = peer_system{};
  const auto handle = system.spawn<hoarder>();
  caf::anon_send_exit(handle, caf::exit_reason::kill);
  for (const auto& tool :
       {ss::tool_actor<city_args>("a", "A.", handle), ss::tool_actor({"b", "B.", {}}, handle)}) {
    BOOST_CHECK_EXCEPTION(
        call_with(tool, {{"city", "Rome"}}), ss::tool_unavailable,
        [](const ss::tool_unavailable& e) { return e.code() == ss::actor_errc::down; });
  }
}

BOOST_AUTO_TEST_CASE(slow_actor_is_an_error_of_its_call) {
  auto system = peer_system{};
  const auto handle = system.spawn([](caf::event_based_actor* self) -> caf::behavior {
    return {[self](const city_args&) -> caf::result<std::string> {
      return self->make_response_promise<std::string>();
    }};
  });
  const auto tool = ss::tool_actor<city_args>("slow", "Slow.", handle, {.timeout = 10ms});
  BOOST_CHECK_EXCEPTION(
      call_with(tool, {{"city", "Rome"}}), ss::actor_error,
      [](const ss::actor_error& e) { return e.code() == ss::actor_errc::timed_out; });
  caf::anon_send_exit(handle, caf::exit_reason::kill);
}

BOOST_AUTO_TEST_SUITE_END()
