#include "report/mixing_section.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "report/heat_map.h"
#include "report/markup.h"

namespace feroma::detail {
namespace {

using Json = nlohmann::ordered_json;

/// One heat map: the script draws into it what `data` holds under the same number.
std::string mixing_figure(const Json& mixing, std::size_t number) {
  const std::size_t shown = mixing["rounds"].size();
  const std::size_t of = mixing["of"].get<std::size_t>();
  const std::string label = escape_html(mixing["label"].get<std::string>());
  const std::string note = shown < of ? fmt::format(" ({} of {} rounds)", shown, of) : "";
  return fmt::format(
      "<figure data-mixing=\"{0}\"><h3>{1}{2}</h3><div class=\"heat\"><canvas role=\"img\" aria-label=\"Mixing "
      "weights\">"
      "</canvas><div class=\"axes\"><span>rows: receiving clients</span><span>columns: source "
      "clients</span></div></div>"
      "<div class=\"controls\"><button type=\"button\">▶ Play</button><input type=\"range\" min=\"0\" max=\"{3}\" "
      "value=\"{3}\" aria-label=\"Round of {1}\"><output></output></div><dl class=\"facts\"><div><dt>contraction</dt>"
      "<dd></dd></div><div><dt>column sums</dt><dd></dd></div></dl></figure>",
      number, label, note, shown - 1);
}

std::string undrawn_line(const Json& mixing) {
  return fmt::format(
      "<li>mixing of {} is not drawn: a single round has too many weights for a page; the files of mixing/ hold "
      "them</li>",
      escape_html(mixing["label"].get<std::string>()));
}

std::string maps_html(const std::string& figures) {
  return fmt::format(
      "<p class=\"lead\">Each row is a client's new model, each column a client "
      "whose model went into it, and the stronger the colour of a cell the larger its weight, up to the largest one; "
      "clients with the same "
      "kind "
      "of data form blocks.</p>"
      "<div class=\"options\"><label><input type=\"checkbox\" id=\"sort\" checked>sort by distribution</label>"
      "<div class=\"scale\"><span>weight</span><i></i><span class=\"ticks\"></span></div></div>"
      "<div class=\"figures\">{}<p class=\"note\">The strips along rows and columns show the true distribution of "
      "the receiver's data and of the data the source was trained on. Contraction is how much disagreement between "
      "models survives the mixing: 0 means that everyone gets the same model, 1 that groups stay apart. A column sum "
      "far above 1 means that one client's model spreads widely.</p></div>",
      figures);
}

}  // namespace

std::string mixing_section(const Json& all) {
  if (all.empty()) {
    return "";
  }
  std::string figures;
  std::string undrawn;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]["rounds"].empty()) {
      undrawn += undrawn_line(all[i]);
    } else {
      figures += mixing_figure(all[i], i);
    }
  }
  return "<section><h2>Who learns from whom</h2>" + (figures.empty() ? std::string() : maps_html(figures)) +
         (undrawn.empty() ? std::string() : "<ul class=\"notes\">" + undrawn + "</ul>") + "</section>\n";
}

Json mixing_json(std::span<const RunData> runs) {
  std::vector<std::pair<std::string, const AlgorithmRun*>> mixing;
  for (const RunData& run : runs) {
    for (const AlgorithmRun& algorithm : run.algorithms) {
      if (!algorithm.mixing.empty()) {
        const std::string label = runs.size() > 1 ? run.name + ": " + algorithm.label : algorithm.label;
        mixing.emplace_back(label, &algorithm);
      }
    }
  }
  Json all = Json::array();
  for (const auto& [label, algorithm] : mixing) {
    all.push_back(heat_map_json(*algorithm, kCellBudget / mixing.size()));
    all.back()["label"] = label;
  }
  return all;
}

}  // namespace feroma::detail
