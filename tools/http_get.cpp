// SPDX-License-Identifier: Apache-2.0
// The tool `http_get`. It follows redirects itself, because each target must be checked against the
// allowed hosts.
#include "base/deadline.hpp"
#include "failed_call.hpp"
#include "host_list.hpp"

#include <superstep/base/await.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <array>
#include <chrono>
#include <utility>

namespace superstep {

namespace {

struct http_get_arguments {
  std::string url;

  static constexpr auto descriptions = std::array{std::pair{"url", "An http or https address"}};
};
BOOST_DESCRIBE_STRUCT(http_get_arguments, (), (url))

tool_output failed(const std::string& text) {
  return error_output("Error: " + text);
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

tool_output output_of(http_response response) {
  constexpr auto excerpt_max = std::size_t{500};
  if (response.status < 200 || response.status > 299)
    return failed("the server answered with status " + std::to_string(response.status) + ": " +
                  response.body.substr(0, excerpt_max));
  auto out = tool_output{};
  out.content = std::move(response.body);
  return out;
}

/// The function of the tool. The tool owns it, so its coroutines may use the members.
struct http_getter {
  std::shared_ptr<const http_client> client;
  detail::host_list hosts;
  http_get_options options;

  task<tool_output> operator()(http_get_arguments args) const {
    auto& at = co_await this_context{};
    const auto deadline = detail::deadline_after(at.where->now(), options.timeout);
    auto address = std::move(args.url);
    for (auto hop = std::uint32_t{0}; hop <= options.redirects_max; ++hop) {
      const auto target = parse_url(address);
      if (!target)
        co_return failed("'" + address + "': " + target.error().text);
      if (!hosts.allows(*target))
        co_return failed("'" + target->authority() +
                         "' is not among the hosts that this tool may contact");
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - at.where->now());
      if (left.count() <= 0)
        co_return failed("no answer within " + std::to_string(options.timeout.count()) + " ms");
      auto request = http_request{};
      request.url = address;
      request.total_timeout = left;
      request.response_bytes_max = options.max_bytes;
      auto sending = client->send(std::move(request));
      auto response = co_await sending;
      // A shortage is not reported to the model. The run fails, and its row can run again later.
      if (!response && is_shortage(response.error().code))
        throw tool_unavailable{{response.error().code, "http_get: " + response.error().text}};
      if (!response)
        co_return failed("'" + address + "': " + response.error().text);
      const auto* location = find_header(response->headers, "Location");
      if (!is_redirect(response->status) || !location)
        co_return output_of(*std::move(response));
      address = detail::redirect_target(*target, *location);
    }
    co_return failed("more than " + std::to_string(options.redirects_max) + " redirects");
  }
};

} // namespace

result<tool_ptr> make_http_get(std::shared_ptr<const http_client> client,
                               http_get_options options) {
  SUPERSTEP_ASSERT(client != nullptr);
  auto hosts = detail::host_list::make(options.allow_hosts);
  if (!hosts)
    return error{errc::invalid_argument, "http_get: " + hosts.error().text};
  if (options.max_bytes == 0 || options.timeout.count() <= 0)
    return error{errc::invalid_argument, "http_get: max_bytes and timeout must be greater than 0"};
  return make_tool<http_get_arguments>(
      "http_get", "Fetches a web address with GET and answers with the body.",
      http_getter{std::move(client), *std::move(hosts), std::move(options)});
}

} // namespace superstep
