// SPDX-License-Identifier: Apache-2.0
// Values of untracked channels do not appear in anything that is saved.
#include "checkpoint/sqlite_fixtures.hpp"
#include "graph_api/threads.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(untracked_channels)

namespace {

constexpr auto secret = std::string_view{"a-secret-of-27-characters-0"};

/// Node a writes the secret to u and a number to n; q, its sibling, interrupts.
ss::compiled_json_graph secretive(ss::compile_options options) {
  auto g = logging({});
  g.channel("u", "untracked").channel("n", "add");
  auto cached = ss::json_node_options{};
  cached.cache.emplace();
  g.add(
      "a",
      [](const json::value&) {
        return json::object{{"n", 1}, {"u", secret}};
      },
      cached);
  g.add("q", asks("name?"));
  g.edge("__start__", "a").edge("__start__", "q");
  return g.compile(std::move(options));
}

void use(ss::engine& e, const ss::compiled_json_graph& graph, ss::durability when) {
  auto config = on("t");
  config.thread.emplace().durability = when;
  const auto input = json::object{{"u", secret}, {"log", json::array{"i"}}};
  BOOST_TEST((run(e, graph, input, config).raw.status == ss::run_status::interrupted));
  auto said = ss::json_command{.update = json::object{{"u", secret}, {"n", 10}},
                               .resume = ss::resume("Ann")};
  const auto ended = run(e, graph, std::move(said), config);
  BOOST_TEST(ended.state.at("n").as_int64() == 11);
  BOOST_TEST(log_of(ended) == "i Ann");
  (void)e.update_state(graph, on("t"), {{"u", secret}, {"n", 1}}, "a");
}

/// Whether anything in the history contains the secret.
bool shows_secret(ss::engine& e, const ss::compiled_json_graph& graph) {
  for (const auto& s : e.get_state_history(graph, on("t"))) {
    if (ss::to_text(ss::detail::adapter_of(graph).state(*s.state)).find(secret) !=
        std::string::npos)
      return true;
    for (const auto& t : s.tasks)
      if (t.result && ss::to_text(ss::detail::adapter_of(graph).update(*t.result)).find(secret) !=
                          std::string::npos)
        return true;
  }
  return false;
}

// The durabilities async, sync and exit.
const auto durabilities = boost::unit_test::data::make({0, 1, 2});

} // namespace

BOOST_DATA_TEST_CASE(untracked_values_are_not_stored_in_files, durabilities, when) {
  const auto folder = temporary_folder{};
  {
    auto e = ss::engine{{.workers = 1}};
    auto options = ss::compile_options{};
    options.checkpointer = ss::sqlite_checkpointer(folder.file());
    options.cache = std::make_shared<ss::sqlite_cache>(folder.file("cache.db"));
    const auto graph = secretive(options);
    use(e, graph, static_cast<ss::durability>(when));
    BOOST_TEST(!shows_secret(e, graph));
    BOOST_TEST(options.checkpointer->export_thread("t").find(secret) == std::string::npos);
    wait_until_saved(*options.checkpointer);
    for (const auto& file :
         std::filesystem::directory_iterator{std::filesystem::path{folder.file()}.parent_path()})
      BOOST_TEST(bytes_of(file.path()).find(secret) == std::string::npos, file.path());
  }
  for (const auto& file :
       std::filesystem::directory_iterator{std::filesystem::path{folder.file()}.parent_path()})
    BOOST_TEST(bytes_of(file.path()).find(secret) == std::string::npos, file.path());
}

BOOST_DATA_TEST_CASE(memory_checkpointer_does_not_store_untracked_values, durabilities, when) {
  auto e = ss::engine{{.workers = 1}};
  const auto options = kept();
  const auto graph = secretive(options);
  use(e, graph, static_cast<ss::durability>(when));
  BOOST_TEST(!shows_secret(e, graph));
  BOOST_TEST(options.checkpointer->export_thread("t").find(secret) == std::string::npos);
  for (const auto& s : e.get_state_history(graph, on("t")))
    BOOST_TEST(
        ss::to_text(ss::detail::adapter_of(graph).state(*s.checkpoint->state)).find(secret) ==
        std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
