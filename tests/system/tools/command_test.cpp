// SPDX-License-Identifier: Apache-2.0
// The command tool: arguments, environment, limits, sandbox, timeouts and errors.
#include "tools/run_tool.hpp"

#include <superstep/tools/command.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace std::chrono_literals;
using namespace superstep;

namespace command_test {

namespace {

/// Programs run through the tool. Tests that need a shell have it in argv; the tool itself uses
/// none.
struct programs {
  std::shared_ptr<io_runtime> io = std::make_shared<io_runtime>();

  [[nodiscard]] command_options options(std::vector<std::string> argv) const {
    auto o = command_options{};
    o.name = "c";
    o.argv = std::move(argv);
    o.timeout = 20s;
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

BOOST_FIXTURE_TEST_SUITE(command_tools, programs)

BOOST_AUTO_TEST_CASE(program_reads_json_arguments_and_prints_result) {
  BOOST_TEST(run({"cat"}, {{"a", 1.0}, {"b", "x y"}}).content == R"({"a":1.0,"b":"x y"})");
  BOOST_TEST(run({"wc", "-c"}, {}).content == "2");
}

BOOST_AUTO_TEST_CASE(argv_is_not_parsed_by_a_shell) {
  BOOST_TEST(run({"echo", "$HOME; ls *"}).content == "$HOME; ls *");
}

BOOST_AUTO_TEST_CASE(environment_contains_row_key_and_idempotency_key) {
  const auto text =
      run({"sh", "-c", "echo \"$SUPERSTEP_RUN_KEY/$SUPERSTEP_ATTEMPT/$PATH\""}).content;
  BOOST_TEST(text.starts_with("row 7/1//"));
  const auto key = run({"sh", "-c", "echo \"$SUPERSTEP_IDEMPOTENCY_KEY\""}).content;
  BOOST_TEST(key.size() == 32U);
  BOOST_TEST(key.find_first_not_of("0123456789abcdef") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(program_starts_for_any_row_and_call_id) {
  const auto tool = make_command(
      io, options({"sh", "-c", "printf %s \"$SUPERSTEP_RUN_KEY/$SUPERSTEP_TOOL_CALL_ID\""}));
  BOOST_REQUIRE(tool.has_value());
  auto context = tool_context{};
  context.run_key = std::string{"a\0b", 3};
  context.tool_call_id = std::string{"\0", 1};
  BOOST_TEST(testing::run_tool(**tool, {}, context).content == "a\uFFFDb/\uFFFD");
  context.run_key = std::string(1'000'000, 'r');
  context.tool_call_id = std::string(1'000'000, '\0');
  const auto long_ids = testing::run_tool(**tool, {}, context);
  BOOST_TEST(!long_ids.is_error);
  BOOST_TEST(long_ids.content.starts_with(std::string(32'768, 'r') + "/\uFFFD"));
}

BOOST_AUTO_TEST_CASE(failing_program_gives_error_with_its_stderr) {
  const auto out = run({"sh", "-c", "echo out; echo why >&2; exit 3"});
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content == "Error: command 'sh': ended with status 3:\nwhy\n");
}

BOOST_AUTO_TEST_CASE(tool_throws_if_program_cannot_start) {
  const auto fails = [this](command_options o) {
    o.timeout = 300ms;
    const auto node = tool_node{{*make_command(io, o)}};
    BOOST_CHECK_THROW(sync_wait(node.run(tool_call{"1", "c", {}}, {})), tool_unavailable);
  };
  fails(options({"superstep-no-such-program"}));
  fails(options({"/etc/passwd"}));
  auto o = options({"cat"});
  o.cwd = "/no/such/folder";
  BOOST_TEST(find_command_fault(*io, o).has_value());
  fails(o);
  BOOST_TEST(!find_command_fault(*io, options({"cat"})));
}

BOOST_AUTO_TEST_CASE(tool_throws_on_shortage_of_system_resources) {
  BOOST_TEST(!run({"true"}).is_error);
  auto o = options({"true"});
  o.timeout = 100ms;
  const auto node = tool_node{{*make_command(io, o)}, {.errors = tool_errors::all()}};
  auto before = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  auto lowered = before;
  const auto first_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(first_free);
  lowered.rlim_cur = static_cast<rlim_t>(first_free + 2);
  ::setrlimit(RLIMIT_NOFILE, &lowered);
  auto code = std::error_code{};
  try {
    (void)sync_wait(node.run(tool_call{"1", "c", {}}, {}));
  } catch (const tool_unavailable& e) {
    code = e.code();
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(is_shortage(code));
}

BOOST_AUTO_TEST_CASE(program_sees_only_allowed_environment_variables) {
  ::setenv("COMMAND_TEST_KEY", "secret", 1);
  ::setenv("COMMAND_TEST_NAMED", "seen", 1);
  ::setenv("LC_TEST", "x", 1);
  auto o = options({"env"});
  o.env_names = {"COMMAND_TEST_NAMED", "COMMAND_TEST_UNSET"};
  o.env_values = {{"COMMAND_TEST_SET", "1"}, {"HOME", "/nowhere"}};
  const auto seen = '\n' + run_with(o).content + '\n';
  for (const auto* line :
       {"\nCOMMAND_TEST_NAMED=seen\n", "\nCOMMAND_TEST_SET=1\n", "\nHOME=/nowhere\n",
        "\nLC_TEST=x\n", "\nPATH=", "\nSUPERSTEP_RUN_KEY=row 7\n"})
    BOOST_TEST(seen.find(line) != std::string::npos, line);
  for (const auto* name : {"secret", "COMMAND_TEST_UNSET"})
    BOOST_TEST(seen.find(name) == std::string::npos, name);
}

BOOST_AUTO_TEST_CASE(program_runs_in_given_folder_under_given_limits) {
  auto o = options({"sh", "-c", "pwd; ulimit -n"});
  o.cwd = "/usr";
  o.limits.files = 44;
  BOOST_TEST(run_with(o).content == "/usr\n44");
}

BOOST_AUTO_TEST_CASE(sandbox_denies_writes_if_machine_supports_it) {
  auto o = options({"sh", "-c", "touch /etc/superstep_test /usr/x 2>/dev/null; echo $?; ls /tmp"});
  o.sandbox.is_on = true;
  if (const auto fault = find_command_fault(*io, o)) {
    BOOST_TEST(fault->text.starts_with("sandbox: "));
    return;
  }
  BOOST_TEST(run_with(o).content == "1");
}

BOOST_AUTO_TEST_CASE(excessive_output_is_an_error) {
  auto o = options({"sh", "-c", "head -c 200000 /dev/zero; exec sleep 30"});
  o.max_output_bytes = 1000;
  const auto out = run_with(o);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.find("more than 1000 bytes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(hanging_program_is_stopped_at_its_timeout) {
  auto o = options({"sh", "-c", "sleep 30 & sleep 30"});
  o.timeout = 100ms;
  const auto begin = std::chrono::steady_clock::now();
  const auto out = run_with(o);
  BOOST_TEST(out.is_error);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds{10}));
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  auto o = options({"cat"});
  o.name.clear();
  BOOST_TEST(make_command(io, o).error().text == "command: name: is missing; it is required");
  BOOST_TEST(make_command(io, options({})).error().text ==
             "command: argv: is empty; it must contain the program to run");
  o = options({"cat"});
  o.timeout = 0ms;
  BOOST_TEST(make_command(io, o).has_error());
  o = options({"cat"});
  o.args_schema = json::object{{"type", "no type"}, {"properties", 3}};
  BOOST_TEST(make_command(io, o).error().text.starts_with("command: args_schema: "));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace command_test
