// SPDX-License-Identifier: Apache-2.0
#include "tools/run_tool.hpp"

#include <superstep/tools/command.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace superstep;

namespace command_test {

namespace {

/// Programs run through a tool. The shell stands in argv where a test needs one; the tool has none.
struct programs {
  std::shared_ptr<io_runtime> io = std::make_shared<io_runtime>();

  [[nodiscard]] command_options options(std::vector<std::string> argv) const {
    auto o = command_options{};
    o.name = "c";
    o.argv = std::move(argv);
    o.timeout_ms = 20'000;
    return o;
  }
  [[nodiscard]] tool_output run_with(command_options o, json::object args = {}) const {
    const auto tool = make_command(io, std::move(o));
    BOOST_REQUIRE(tool.has_value());
    auto context = tool_context{};
    context.run_key = "row 7";
    return testing::run_tool(**tool, std::move(args), context);
  }
  [[nodiscard]] tool_output run(std::vector<std::string> argv, json::object args = {}) const {
    return run_with(options(std::move(argv)), std::move(args));
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(commands, programs)

BOOST_AUTO_TEST_CASE(arguments_come_in_as_json_and_output_is_the_result) {
  BOOST_TEST(run({"cat"}, {{"a", 1.0}, {"b", "x y"}}).content == R"({"a":1.0,"b":"x y"})");
  BOOST_TEST(run({"wc", "-c"}, {}).content == "2");
}

BOOST_AUTO_TEST_CASE(no_shell_reads_the_arguments) {
  BOOST_TEST(run({"echo", "$HOME; ls *"}).content == "$HOME; ls *");
}

BOOST_AUTO_TEST_CASE(the_program_knows_its_row_and_call) {
  const auto text =
      run({"sh", "-c", "echo \"$SUPERSTEP_RUN_KEY/$SUPERSTEP_ATTEMPT/$PATH\""}).content;
  BOOST_TEST(text.starts_with("row 7/1//"));
  const auto key = run({"sh", "-c", "echo \"$SUPERSTEP_IDEMPOTENCY_KEY\""}).content;
  BOOST_TEST(key.size() == 32U);
  BOOST_TEST(key.find_first_not_of("0123456789abcdef") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failing_program_is_an_error_with_what_it_said) {
  const auto out = run({"sh", "-c", "echo out; echo why >&2; exit 3"});
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content == "Error: command 'sh': ended with status 3:\nwhy\n");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error) {
  BOOST_TEST(run({"superstep-no-such-program"}).is_error);
}

BOOST_AUTO_TEST_CASE(too_much_output_is_an_error) {
  auto o = options({"sh", "-c", "head -c 200000 /dev/zero; exec sleep 30"});
  o.max_output_bytes = 1000;
  const auto out = run_with(o);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.find("more than 1000 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_hangs_is_killed_with_its_children) {
  auto o = options({"sh", "-c", "sleep 30 & sleep 30"});
  o.timeout_ms = 100;
  const auto begin = std::chrono::steady_clock::now();
  const auto out = run_with(o);
  BOOST_TEST(out.is_error);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds{10}));
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_refused) {
  auto o = options({"cat"});
  o.name.clear();
  BOOST_TEST(make_command(io, o).error().text == "command: name: a tool needs a name");
  BOOST_TEST(make_command(io, options({})).error().text ==
             "command: argv: name the program to run");
  o = options({"cat"});
  o.timeout_ms = 0;
  BOOST_TEST(make_command(io, o).has_error());
  o = options({"cat"});
  o.args_schema = json::object{{"type", "no type"}, {"properties", 3}};
  BOOST_TEST(make_command(io, o).error().text.starts_with("command: args_schema: "));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace command_test
