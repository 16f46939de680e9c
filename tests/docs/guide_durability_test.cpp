// SPDX-License-Identifier: Apache-2.0
// The code of docs/durability.md.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_wrappers.hpp>
//! [includes]

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace guide_durability {

//! [counter]
struct counter {
  int count = 0;
};
BOOST_DESCRIBE_STRUCT(counter, (), (count))

constexpr auto add_one = superstep::node<counter>{"add_one"};

superstep::graph<counter> counting() {
  auto g = superstep::graph<counter>{};
  g.add(add_one, [](const counter& c) {
    return superstep::update{superstep::set<&counter::count>(c.count + 1)};
  });
  g.edge(superstep::start, add_one);
  return g;
}
//! [counter]

//! [mail]
struct mail {
  std::string to;
  std::string text;
};
BOOST_DESCRIBE_STRUCT(mail, (), (to, text))
//! [mail]

/// A temporary directory, removed by the destructor.
class directory {
public:
  directory() {
    std::filesystem::create_directory(here_);
    std::filesystem::current_path(here_);
  }
  ~directory() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(here_);
  }

private:
  std::filesystem::path before_ = std::filesystem::current_path();
  std::filesystem::path here_ = before_ / "guide_durability";
};

} // namespace guide_durability

using namespace guide_durability;

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(run_with_sqlite_checkpointer_returns_new_state) {
  const auto here = directory{};
  //! [checkpointer]
  auto options = superstep::compile_options{};
  options.checkpointer = superstep::sqlite_checkpointer("threads.db");
  const auto graph = counting().compile(std::move(options));

  auto engine = superstep::engine{};
  auto config = superstep::run_config{};
  config.thread_id = "17";
  const auto done = engine.invoke(graph, counter{.count = 1}, config).state; // done.count == 2
  //! [checkpointer]
  BOOST_TEST(done.count == 2);
}

BOOST_AUTO_TEST_CASE(encryption_key_is_read_from_environment) {
  const auto here = directory{};
  ::setenv("SUPERSTEP_CHECKPOINT_KEY", std::string(64, 'a').c_str(), 1);
  //! [encryption]
  auto options = superstep::sqlite_checkpointer_options{};
  options.encryption_key = superstep::encryption_key_from_environment(); // SUPERSTEP_CHECKPOINT_KEY
  const auto checkpointer = superstep::sqlite_checkpointer("threads.db", options);
  //! [encryption]
  ::unsetenv("SUPERSTEP_CHECKPOINT_KEY");
  BOOST_TEST(options.encryption_key.size() == 32U);
}

BOOST_AUTO_TEST_CASE(journaled_sets_tool_effects_to_journaled) {
  //! [effects]
  const auto send_mail = superstep::make_tool<mail>(
      "send_mail", "Sends a mail.", [](const mail& m) { return "sent to " + m.to; });
  const auto archive_mail = superstep::make_tool<mail>(
      "archive_mail", "Stores a mail.", [](const mail& m) { return "stored for " + m.to; });
  const auto tools =
      superstep::tool_list{superstep::journaled(send_mail), superstep::idempotent(archive_mail)};
  //! [effects]
  BOOST_TEST((tools.front()->effects() == superstep::tool_effects::journaled));
}

BOOST_AUTO_TEST_CASE(convert_function_turns_stored_text_into_number) {
  //! [convert]
  auto options = superstep::compile_options{};
  options.convert = [](const superstep::outdated_value& v) -> std::optional<boost::json::value> {
    if (v.channel == "count" && v.from_type == "text")
      return std::stoll(std::string{v.held.as_string()});
    return std::nullopt;
  };
  //! [convert]
  const auto held = boost::json::value("42");
  BOOST_TEST(options.convert({"count", "text", "integer", held}).value().as_int64() == 42);
}

BOOST_AUTO_TEST_SUITE_END()
