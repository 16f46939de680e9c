// SPDX-License-Identifier: Apache-2.0
// Draws graphs as Mermaid text, in the format of LangGraph's draw_mermaid()
// (langchain_core/runnables/graph_mermaid.py). drawn_graph.cpp collects the nodes and edges.
#include "drawn_graph.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace superstep {

namespace {

using namespace detail;

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Whether Mermaid's lexer would read the beginning of an id as a keyword. The lexer compares whole
/// words: `end` and `end-2` begin with a keyword, `ending` does not.
bool begins_with_keyword(std::string_view name) {
  constexpr auto keywords = std::array<std::string_view, 17>{
      "end",      "subgraph", "graph",   "flowchart", "style",      "linkStyle",
      "classDef", "class",    "click",   "href",      "call",       "default",
      "_self",    "_blank",   "_parent", "_top",      "interpolate"};
  const auto word = name.substr(
      0, static_cast<std::size_t>(std::ranges::find_if_not(name, is_word) - name.begin()));
  return std::ranges::find(keywords, word) != keywords.end();
}

/// Returns the Mermaid id of a node. Characters outside [A-Za-z0-9_-], and the first character of a
/// keyword, are written as a backslash and their hexadecimal code.
std::string mermaid_id(std::string_view name) {
  auto id = std::string{};
  const auto is_keyword = begins_with_keyword(name);
  for (const auto c : name) {
    const auto plain = (is_word(c) || c == '-') && !(is_keyword && id.empty());
    if (plain) {
      id += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    id += code;
  }
  return id;
}

/// Returns a name that Markdown does not read as emphasis: if it begins and ends with a mark such
/// as `*`, it is put into a paragraph.
std::string paragraph(const std::string& name) {
  const auto marks = std::string_view{"*_`"};
  const auto marked = !name.empty() && marks.find(name.front()) != std::string_view::npos &&
                      marks.find(name.back()) != std::string_view::npos;
  return marked ? "<p>" + name + "</p>" : name;
}

constexpr auto markup = std::string_view{"[](){}<>|"};

/// Escapes characters that Mermaid would read as markup.
std::string escaped(std::string_view text) {
  auto out = std::string{};
  for (const auto c : text) {
    if (c == '"')
      out += "#quot;";
    else if (markup.find(c) != std::string_view::npos)
      out += '#' + std::to_string(static_cast<int>(c)) + ';';
    else
      out += c;
  }
  return out;
}

std::string node_line(const drawn_node& n) {
  auto label = paragraph(escaped(n.name));
  if (!n.metadata.empty()) {
    label += "<hr/><small><em>";
    for (auto i = std::size_t{0}; i < n.metadata.size(); ++i) {
      const auto& [key, shown] = n.metadata[i];
      label += (i == 0 ? "" : "\n") + escaped(key) + " = " + escaped(shown);
    }
    label += "</em></small>";
  }
  const auto id = '\t' + mermaid_id(n.id);
  if (n.is_start || n.is_end)
    return id + "([" + label + "]):::" + (n.is_start ? "first" : "last") + '\n';
  return id + '(' + label + ")\n";
}

/// Returns a label with a line break after every ninth word.
std::string broken(const std::string& label) {
  auto words = std::vector<std::string_view>{};
  const auto text = std::string_view{label};
  for (auto begin = text.find_first_not_of(' '); begin != std::string_view::npos;) {
    const auto end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(' ', end);
  }
  constexpr auto words_max = std::size_t{9};
  if (words.size() <= words_max)
    return label;
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < words.size(); ++i) {
    if (i != 0)
      out += i % words_max == 0 ? "&nbsp<br>&nbsp" : " ";
    out += words[i];
  }
  return out;
}

std::string edge_line(const drawn_edge& e) {
  auto line = '\t' + mermaid_id(e.source);
  if (!e.label.empty())
    line += " -. &nbsp;" + broken(escaped(e.label)) + "&nbsp; .-> ";
  else
    line += e.is_conditional ? " -.-> " : " --> ";
  return line + mermaid_id(e.target) + ";\n";
}

/// Returns the innermost subgraph that contains both ends of an edge.
std::string_view common_cluster(const drawn_edge& e) {
  auto at = cluster_of(e.source);
  while (!at.empty() && e.target.compare(0, at.size() + 1, std::string{at} + ':') != 0)
    at = cluster_of(at);
  return at;
}

/// Returns the id of a subgraph and, if it differs from the name, its label.
std::string cluster_head(const std::string& name) {
  const auto id = mermaid_id(name);
  return id == name ? name : id + "[\"" + escaped(name) + "\"]";
}

/// Writes one level of a drawing and, recursively, the subgraphs in it.
class writer {
public:
  writer(const drawn_graph& g, bool styles) : graph_{g}, styles_{styles} {}

  std::string level(const std::string& cluster) {
    auto text = std::string{};
    for (const auto& n : graph_.nodes) {
      if (styles_ && cluster_of(n.id) == cluster)
        text += node_line(n);
    }
    for (const auto& e : graph_.edges) {
      if (common_cluster(e) == cluster)
        text += edge_line(e);
    }
    for (const auto& inner : clusters_in(cluster)) {
      auto name = inner.substr(cluster.empty() ? 0 : cluster.size() + 1);
      if (!names_.insert(name).second)
        throw graph_error{
            run_error{make_error_code(graph_errc::invalid_graph),
                      "Found duplicate subgraph '" + name + "': rename one of the expanded nodes",
                      name,
                      0,
                      {},
                      1,
                      {}}};
      text += "\tsubgraph " + cluster_head(name) + '\n' + level(inner) + "\tend\n";
    }
    return text;
  }

private:
  /// Returns the subgraphs directly inside a cluster, in the order of their first nodes.
  [[nodiscard]] std::vector<std::string> clusters_in(const std::string& cluster) const {
    auto out = std::vector<std::string>{};
    const auto prefix = cluster.empty() ? std::string{} : cluster + ':';
    for (const auto& n : graph_.nodes) {
      if (!n.id.starts_with(prefix))
        continue;
      const auto colon = n.id.find(':', prefix.size());
      if (colon == std::string::npos)
        continue;
      if (auto name = n.id.substr(0, colon); out.empty() || out.back() != name)
        out.push_back(std::move(name));
    }
    return out;
  }

  const drawn_graph& graph_;
  bool styles_;
  std::set<std::string> names_;
};

} // namespace

std::string to_mermaid(const detail::program& table, draw_options options) {
  const auto graph = draw(table, options.expand);
  auto body = writer{graph, options.styles}.level({});
  if (!options.styles)
    return "graph TD;\n" + body;
  return "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n" + body +
         "\tclassDef default fill:#f2f0ff,line-height:1.2\n\tclassDef first fill-opacity:0\n"
         "\tclassDef last fill:#bfb6fc\n";
}

std::string detail::program::mermaid() const {
  return to_mermaid(*this);
}

} // namespace superstep
