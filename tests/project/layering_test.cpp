// SPDX-License-Identifier: Apache-2.0
// Rules for includes: which component may include which, and where CAF and Asio may be used. Add a
// new dependency to the table `arrows` before using it.
#include "project/source_tree.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using project::source_file;

// Direct dependencies; indirect ones may be included as well.
const auto arrows = std::map<std::string, std::set<std::string>>{
    {"base", {}},
    {"net", {"base"}},
    {"postgres", {"base"}},
    {"messages", {"base"}},
    {"channels", {"base"}},
    {"checkpoint", {"channels", "postgres"}},
    {"runtime", {"checkpoint"}},
    {"threads", {"runtime"}},
    {"actors", {"threads"}},
    {"tools", {"runtime", "messages", "net"}},
    {"interop", {"actors", "tools"}},
    {"models", {"messages", "net"}},
    {"protocols", {"models"}},
    {"agents", {"tools", "protocols", "threads", "postgres"}},
    {"batch", {"runtime", "messages"}},
    {"ledger", {"batch", "postgres"}},
    {"results", {"batch"}},
    {"cli", {"agents", "actors", "ledger", "results"}},
};

std::set<std::string> reachable(const std::string& from) {
  auto out = std::set<std::string>{from};
  for (const auto& next : arrows.at(from))
    out.merge(reachable(next));
  return out;
}

bool starts_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
  for (auto prefix : prefixes)
    if (text.starts_with(prefix))
      return true;
  return false;
}

// Returns the component that an include names: <superstep/base/…>, or "base/…" for private headers.
std::string target_component(const std::string& include) {
  if (include.starts_with("superstep/"))
    return project::component_of("include/" + include);
  const auto folder = project::component_of(include);
  return arrows.contains(folder) ? folder : "";
}

using rule = std::function<bool(const source_file&, const std::string& include)>;

// Returns every include in the library that breaks the rule, as `file:line: include`.
std::vector<std::string> breaking(const rule& is_allowed) {
  auto out = std::vector<std::string>{};
  auto folders = std::vector<std::string>{"include"};
  for (const auto& [component, unused] : arrows)
    folders.push_back(component);
  for (const auto& folder : folders)
    for (const auto& file : project::read_folder(folder))
      for (const auto& include : project::includes_of(file))
        if (!is_allowed(file, include.target))
          out.push_back(file.path + ":" + std::to_string(include.line) + ": " + include.target);
  return out;
}

void check_none(const std::vector<std::string>& found) {
  for (const auto& line : found)
    BOOST_ERROR(line);
  BOOST_TEST(found.empty());
}

const auto caf = std::vector<std::string_view>{"caf/"};
const auto asio =
    std::vector<std::string_view>{"boost/asio", "boost/beast", "boost/process", "asio"};

// Headers that cost every user's file a noticeable part of its compile time.
const auto slow_to_compile = std::vector<std::string_view>{
    "boost/container/", "boost/unordered/", "fstream", "iostream", "ranges", "regex", "sstream"};

} // namespace

BOOST_AUTO_TEST_CASE(source_tree_contains_headers_and_sources) {
  BOOST_TEST(project::read_folder("include").size() > 10U);
  BOOST_TEST(!project::read_folder("base").empty());
}

BOOST_AUTO_TEST_CASE(models_and_tools_are_independent_components) {
  BOOST_TEST(reachable("batch").contains("base"));
  BOOST_TEST(!reachable("models").contains("tools"));
  BOOST_TEST(!reachable("tools").contains("models"));
}

BOOST_AUTO_TEST_CASE(components_include_only_declared_dependencies) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    if (file.path == "include/superstep/superstep.hpp") // includes all public headers
      return true;
    const auto from = project::component_of(file.path);
    const auto to = target_component(include);
    BOOST_TEST_REQUIRE(arrows.contains(from),
                       file.path << " is in a folder without declared dependencies");
    return to.empty() || reachable(from).contains(to);
  }));
}

BOOST_AUTO_TEST_CASE(every_listed_dependency_is_used) {
  auto used = std::map<std::string, std::set<std::string>>{};
  static_cast<void>(breaking([&](const source_file& file, const std::string& include) {
    used[project::component_of(file.path)].insert(target_component(include));
    return true;
  }));
  for (const auto& [from, targets] : arrows)
    for (const auto& to : targets)
      BOOST_TEST(used[from].contains(to),
                 from << " -> " << to << " is allowed, but no file uses it");
}

BOOST_AUTO_TEST_CASE(only_actors_and_interop_include_caf) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !starts_with_any(include, caf) || file.path.starts_with("actors/") ||
           file.path == "include/superstep/actors/caf.hpp" || file.path.starts_with("interop/") ||
           file.path.starts_with("include/superstep/interop/");
  }));
}

BOOST_AUTO_TEST_CASE(only_net_and_actors_include_asio) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !starts_with_any(include, asio) || file.path.starts_with("net/") ||
           file.path.starts_with("actors/");
  }));
}

BOOST_AUTO_TEST_CASE(only_postgres_includes_libpq) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !include.starts_with("libpq") || file.path.starts_with("postgres/");
  }));
}

BOOST_AUTO_TEST_CASE(public_headers_do_not_include_simdjson) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !include.starts_with("simdjson") || !file.path.starts_with("include/");
  }));
}

BOOST_AUTO_TEST_CASE(installed_headers_include_no_slow_to_compile_headers) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !file.path.starts_with("include/") || !starts_with_any(include, slow_to_compile);
  }));
}

BOOST_AUTO_TEST_CASE(public_headers_include_no_private_headers) {
  check_none(breaking([](const source_file& file, const std::string& include) {
    return !file.path.starts_with("include/") || include.starts_with("superstep/") ||
           !arrows.contains(project::component_of(include));
  }));
}

BOOST_AUTO_TEST_CASE(installed_headers_have_no_subfolders_except_detail) {
  auto user_headers = std::size_t{0};
  for (const auto& file : project::read_folder("include")) {
    const auto component_end = file.path.find('/', std::string{"include/superstep/"}.size());
    const auto inner = file.path.substr(component_end + 1);
    const auto is_detail = inner.starts_with("detail/");
    user_headers += is_detail ? 0U : 1U;
    BOOST_TEST(file.path.ends_with(".hpp"), file.path << " is not a header");
    const auto is_nested = inner.find('/', is_detail ? 7U : 0U) != std::string::npos;
    BOOST_TEST((!is_nested || inner == file.path),
               file.path << " is in a folder that is not detail/");
  }
  BOOST_TEST(user_headers < 73U, "merge headers, or install fewer of them");
}

// A header belongs in detail/ only if an installed header includes it. Other private headers belong
// next to their sources.
BOOST_AUTO_TEST_CASE(detail_headers_are_included_by_installed_ones) {
  auto included = std::set<std::string>{};
  auto installed = project::read_folder("include");
  for (const auto& file : installed)
    for (const auto& include : project::includes_of(file))
      included.insert("include/" + include.target);
  for (const auto& file : installed)
    if (file.path.find("/detail/") != std::string::npos)
      BOOST_TEST(included.contains(file.path), file.path << " is needed by no installed header");
}

BOOST_AUTO_TEST_CASE(examples_include_no_detail_headers) {
  for (const auto& file : project::read_folder("examples"))
    for (const auto& include : project::includes_of(file))
      BOOST_TEST(include.target.find("/detail/") == std::string::npos,
                 file.path << ":" << include.line << ": " << include.target);
}
