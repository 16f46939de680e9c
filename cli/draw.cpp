// SPDX-License-Identifier: Apache-2.0
// superstep graph AGENT: draws the agent's graph, as Mermaid or dot text or as a picture.
#include "base/ascii_text.hpp"
#include "base/error_words.hpp"
#include "cli/agent_files.hpp"
#include "cli/agent_picture.hpp"
#include "cli/commands.hpp"
#include "cli/file_start.hpp"
#include "cli/inspect.hpp"
#include "cli/standard_output.hpp"
#include "cli/usage.hpp"
#include "cli/written_file.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/runtime/drawing.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace superstep::cli {

namespace {

/// The nesting depth that --expand draws. In practice, graphs are not nested that deeply.
constexpr auto all_levels = std::size_t{32};

struct graph_arguments {
  inspect_arguments agent;
  std::string format; // empty: see format_of()
  std::string output; // empty: standard output
  bool expand = false;
};

/// Returns the format for an output file: that of its extension, or mermaid if it has none. Empty
/// if no format has the extension.
std::string format_of(const std::string& path) {
  const auto extension = ascii_lower(std::filesystem::path{path}.extension().string());
  if (extension == ".svg" || extension == ".png")
    return extension.substr(1);
  if (extension == ".dot" || extension == ".gv")
    return "dot";
  constexpr auto mermaid = std::array{"", ".mmd", ".mermaid", ".md", ".txt"};
  return std::ranges::find(mermaid, extension) != mermaid.end() ? "mermaid" : "";
}

int refuse(const std::string& text) {
  std::cerr << "superstep graph: " << text << '\n';
  return 1;
}

/// Fails if --output is an existing file that is neither empty nor a picture in the same format, so
/// that a mistyped path does not overwrite a file of the user.
result<void> check_picture(const std::string& path, const std::string& format) {
  auto failed = std::error_code{};
  if (path.empty() || !std::filesystem::is_regular_file(path, failed))
    return {};
  const auto start = file_start(path, 1'024);
  const auto starts = [&](std::string_view text) { return start->starts_with(text); };
  if (start &&
      (start->empty() ||
       (format == "mermaid" && (starts("graph TD;") || starts("---\nconfig:\n  flowchart:"))) ||
       (format == "dot" && starts("digraph")) ||
       (format == "svg" && (starts("<?xml") || starts("<svg")) &&
        start->find("<svg") != std::string::npos) ||
       (format == "png" && starts("\x89PNG"))))
    return {};
  return error{errc::invalid_argument, "'" + path + "' exists and is not a picture in the format " +
                                           format + "; it is not overwritten. Use another file"};
}

/// Converts dot text to a picture with Graphviz's program `dot`.
result<std::string> laid_out(io_runtime& io, std::string dot, const std::string& format) {
  auto request = process_request{};
  request.argv = {"dot", "-T" + format};
  request.stdin_text = std::move(dot);
  request.output_bytes_max = 64 * 1024 * 1024;
  auto ended = sync_wait(run_process(io, std::move(request)));
  if (!ended && ended.error().code == make_error_code(errc::not_found))
    return error{errc::not_found,
                 "the format " + format +
                     " needs Graphviz's program 'dot', which "
                     "was not found; install it (Debian: apt-get install graphviz), "
                     "or use --format dot"};
  if (!ended)
    return ended.error();
  if (!ended->ok())
    return error{errc::io_failed, "Graphviz's program 'dot' failed: " + ended->stderr_text};
  return std::move(ended->stdout_text);
}

int graph(const graph_arguments& given) {
  if (given.format.empty())
    return refuse("--output: no format has the extension of '" + given.output +
                  "'; use .mmd, .dot, .gv, .svg or .png, or name the format with --format");
  const auto io = std::make_shared<io_runtime>();
  const auto built = build_to_show(given.agent, io);
  if (!built.agent)
    return failure_code(built);
  auto files = files_of(*built.agent);
  files.push_back({"--output", given.output, used_file::use::written});
  if (const auto checked = check_distinct_files(files); !checked)
    return refuse(checked.error().text);
  if (const auto checked = check_folder_of("--output", given.output); !checked)
    return refuse(checked.error().text);
  if (const auto own = check_picture(given.output, given.format); !own)
    return refuse(own.error().text);
  const auto kept = picture_of(*built.agent, given.expand);
  const auto& table = *kept;
  auto options = draw_options{};
  options.expand = given.expand ? all_levels : 0;
  auto picture = result<std::string>{given.format == "mermaid" ? to_mermaid(table, options)
                                                               : to_dot(table, options)};
  if (given.format == "svg" || given.format == "png")
    picture = laid_out(*io, std::move(*picture), given.format);
  if (!picture)
    return refuse(picture.error().text);
  warn(table.warnings());
  if (given.output.empty()) {
    std::cout << *picture << std::flush;
    return std::cout || has_reader_ended()
               ? 0
               : refuse("cannot write to standard output; check where it is redirected");
  }
  const auto written = write_file(given.output, *picture);
  return written ? 0 : refuse(written.error().text);
}

constexpr auto draw_examples = R"(Examples:
  superstep graph agent.yaml > agent.mmd
  superstep graph agent.yaml --output agent.svg

SVG and PNG need Graphviz's program 'dot'. Exit code: 0 success, 4 the machine lacks file
descriptors or memory, 1 any other error.)";

} // namespace

void add_graph(CLI::App& program, action& chosen) {
  auto given = std::make_shared<graph_arguments>();
  auto& verb = *program.add_subcommand("graph", "Draw the agent's graph");
  add_agent_options(verb, given->agent);
  verb.add_option("--format", given->format,
                  "Format of the output; default: that of the output file's extension (.mmd, .svg, "
                  ".png, .dot, .gv); without an extension mermaid")
      ->check(one_of({"mermaid", "dot", "svg", "png"}));
  verb.add_option("-o,--output", given->output, "Output file; default and -: standard output")
      ->check(not_empty());
  verb.add_flag("--expand", given->expand, "Also draw the nodes inside subgraphs and sub-agents");
  verb.footer(draw_examples);
  verb.callback([given, &chosen] {
    if (given->output == "-")
      given->output.clear();
    if (given->format.empty())
      given->format = format_of(given->output);
    chosen = [given] { return graph(*given); };
  });
}

} // namespace superstep::cli
