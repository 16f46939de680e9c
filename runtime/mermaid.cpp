// SPDX-License-Identifier: Apache-2.0
#include <superstep/runtime/program.hpp>

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace superstep {

namespace {

struct drawn_edge {
  std::string source;
  std::string target;
  bool conditional = false;
  std::string label; // only conditional edges have one
  auto key() const { return std::tie(source, target, conditional, label); }
};

/// Characters outside [A-Za-z0-9_-] become a backslash and their hexadecimal code.
std::string mermaid_id(std::string_view name) {
  auto id = std::string{};
  for (const auto c : name) {
    const auto plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
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

/// Text that Markdown would take for emphasis is put into a paragraph.
std::string mermaid_label(const std::string& name) {
  const auto marks = std::string_view{"*_`"};
  const auto marked = !name.empty() && marks.find(name.front()) != std::string_view::npos &&
                      marks.find(name.back()) != std::string_view::npos;
  return marked ? "<p>" + name + "</p>" : name;
}

void edges_of(const program& table, const node_entry& node, std::string_view name,
              std::vector<drawn_edge>& out) {
  const auto source = std::string{name};
  const auto before = out.size();
  for (const auto to : node.edges)
    out.push_back({source, table.node(to).name, false, {}});
  for (const auto [join, member] : node.joins)
    out.push_back({source, table.node(table.joins()[join].target).name, false, {}});
  for (const auto& branch : node.branches) {
    for (const auto& [label, to] : branch.declared)
      out.push_back({source, to, true, label == to ? std::string{} : label});
  }
  for (const auto& to : node.options.destinations)
    out.push_back({source, to, true, {}});
  if (out.size() == before)
    out.push_back({source, std::string{end_node}, false, {}});
}

std::string edge_line(const drawn_edge& e) {
  auto line = '\t' + mermaid_id(e.source);
  if (!e.label.empty())
    line += " -. &nbsp;" + e.label + "&nbsp; .-> ";
  else
    line += e.conditional ? " -.-> " : " --> ";
  return line + mermaid_id(e.target) + ";\n";
}

} // namespace

std::string program::mermaid() const {
  auto text = std::string{"---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n"
                          "\t__start__([<p>__start__</p>]):::first\n"};
  auto edges = std::vector<drawn_edge>{};
  edges_of(*this, entry_, start_node, edges);
  for (const auto i : declared_) {
    const auto& n = *nodes_[i];
    text += '\t' + mermaid_id(n.name) + '(' + mermaid_label(n.name) + ")\n";
    edges_of(*this, n, n.name, edges);
  }
  text += "\t__end__([<p>__end__</p>]):::last\n";
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.key() < b.key(); });
  const auto same = [](const auto& a, const auto& b) {
    return a.source == b.source && a.target == b.target;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  for (const auto& e : edges)
    text += edge_line(e);
  return text + "\tclassDef default fill:#f2f0ff,line-height:1.2\n\tclassDef first fill-opacity:0\n"
                "\tclassDef last fill:#bfb6fc\n";
}

} // namespace superstep
