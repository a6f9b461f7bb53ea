#include "report/profile_map.h"

#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "report/axis.h"

namespace feroma::detail {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Columns less their means; what is not finite becomes 0, the mean.
Matrix centred(const std::vector<double>& rows, std::size_t length) {
  const auto columns = static_cast<Eigen::Index>(length);
  Matrix x = Eigen::Map<const Matrix>(rows.data(), static_cast<Eigen::Index>(rows.size() / length), columns);
  for (Eigen::Index c = 0; c < columns; ++c) {
    double sum = 0;
    double count = 0;
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      if (std::isfinite(x(r, c))) {
        sum += x(r, c);
        count += 1;
      }
    }
    const double mean = count > 0 ? sum / count : 0;
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      x(r, c) = std::isfinite(x(r, c)) ? x(r, c) - mean : 0;
    }
  }
  return x;
}

/// The clients behind the rows of a round's profiles: those that the round names, or that mixed; in a round of an
/// earlier version that had neither, all that took part.
std::vector<std::uint32_t> clients_of(const AlgorithmRun& algorithm, const RoundRecord& record, std::size_t rows) {
  const auto named = algorithm.profile_rows.find(record.round);
  if (named != algorithm.profile_rows.end()) {
    return named->second.size() == rows ? named->second : std::vector<std::uint32_t>{};
  }
  for (const MixingFile& mixing : algorithm.mixing) {
    if (mixing.round == record.round && mixing.receivers.size() == rows) {
      return mixing.receivers;
    }
  }
  std::vector<std::uint32_t> clients;
  for (const ClientRecord& client : record.clients) {
    clients.push_back(client.client);
  }
  return clients.size() == rows ? clients : std::vector<std::uint32_t>{};
}

/// Sums of the places of a distribution's dots.
struct Middle {
  double x = 0;
  double y = 0;
  double count = 0;
};

int distribution_of(const RoundRecord& record, std::uint32_t client) {
  for (const ClientRecord& one : record.clients) {
    if (one.client == client) {
      return one.distribution;
    }
  }
  return 0;
}

}  // namespace

ProfileMap principal_map(const std::vector<double>& rows, std::size_t length) {
  require(length > 0 && rows.size() % length == 0, ErrorCode::internal, "[report] {} values are no rows of {}",
          rows.size(), length);
  const Matrix x = centred(rows, length);
  // Rows are few and long: the Gram matrix of the rows has the same directions as their covariance.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(x * x.transpose());
  const Eigen::VectorXd& values = solver.eigenvalues();
  const Eigen::Index last = values.size() - 1;
  ProfileMap map;
  map.points.resize(static_cast<std::size_t>(x.rows()));
  double kept = 0;
  for (int d = 0; d < 2 && d <= last; ++d) {
    const double value = std::max(0.0, values(last - d));
    Eigen::VectorXd scores = solver.eigenvectors().col(last - d) * std::sqrt(value);
    const Eigen::VectorXd direction = x.transpose() * scores;
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    scores *= direction(largest) < 0 ? -1 : 1;
    for (Eigen::Index r = 0; r < x.rows(); ++r) {
      (d == 0 ? map.points[static_cast<std::size_t>(r)].x : map.points[static_cast<std::size_t>(r)].y) = scores(r);
    }
    kept += value;
  }
  const double all = values.cwiseMax(0.0).sum();
  map.explained = all > 0 ? kept / all : 0;
  return map;
}

std::optional<ProfileMap> profile_map(const AlgorithmRun& algorithm) {
  constexpr std::size_t kMost = 1200;  // rows; the Gram matrix of more takes long
  std::vector<double> rows;
  std::vector<ProfilePoint> points;
  std::size_t length = 0;
  std::size_t all = 0;
  for (auto record = algorithm.rounds.rbegin(); record != algorithm.rounds.rend(); ++record) {
    // Files go by the label in the run, whatever the algorithm is called beside others.
    const std::filesystem::path file =
        algorithm.folder / "profiles" / fmt::format("{}-{}.npy", record->algorithm, record->round);
    if (!is_file_name(record->algorithm) || !std::filesystem::exists(file)) {
      continue;
    }
    const NpyArray array = read_npy(file);
    require(array.shape.size() == 2, ErrorCode::invalid_data, "{}: must have two dimensions, got {}", array.name,
            array.shape.size());
    const auto count = static_cast<std::size_t>(array.shape[0]);
    const auto width = static_cast<std::size_t>(array.shape[1]);
    all += count;
    const std::vector<std::uint32_t> clients = clients_of(algorithm, *record, count);
    length = length == 0 ? width : length;
    const std::size_t step = (count + kMost - 1) / kMost;  // of more clients than that, some
    if (clients.empty() || width != length || points.size() + (count + step - 1) / step > kMost) {
      continue;
    }
    const std::vector<double> values = array.to_doubles();
    require(std::none_of(values.begin(), values.end(), [](double value) { return std::isinf(value); }),
            ErrorCode::invalid_data, "{}: must hold no infinity", array.name);
    for (std::size_t r = 0; r < count; r += step) {
      const auto row = values.begin() + static_cast<std::ptrdiff_t>(r * width);
      rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(width));
      points.push_back({0, 0, clients[r], record->round, distribution_of(*record, clients[r])});
    }
  }
  if (points.size() < 3) {
    return std::nullopt;
  }
  ProfileMap map = principal_map(rows, length);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].x = map.points[i].x;
    points[i].y = map.points[i].y;
  }
  map.points = std::move(points);
  map.profiles = {map.points.size(), all};
  return map;
}

std::string profile_map_svg(const ProfileMap& map, const std::string& label) {
  constexpr double kSize = 420;
  constexpr double kEdge = 26;
  double reach = 1e-12;
  int last = 0;
  for (const ProfilePoint& point : map.points) {
    reach = std::max({reach, std::abs(point.x), std::abs(point.y)});
    last = std::max(last, point.round);
  }
  const auto place = [&](double value) { return kSize / 2 + value / reach * (kSize / 2 - kEdge); };
  std::string svg =
      open_svg(kSize, kSize + 22,
               fmt::format("Profiles of {} in two dimensions, coloured by true distribution; {} profiles, {:.0f} % of "
                           "their variance",
                           label, map.points.size(), 100 * map.explained));
  svg += fmt::format(R"(<line class="grid" x1="{0}" x2="{0}" y1="4" y2="{1}"/><line class="grid" x1="4" x2="{1}" )"
                     R"(y1="{0}" y2="{0}"/>)",
                     kSize / 2, kSize - 4);
  std::map<int, Middle> middles;
  for (const bool strong : {false, true}) {
    for (const ProfilePoint& point : map.points) {
      if ((point.round == last) == strong) {
        const double x = place(point.x);
        const double y = kSize - place(point.y);
        svg += fmt::format(
            R"(<circle class="point{}" fill="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>client {}, round {}, )"
            R"(distribution {}</title></circle>)",
            strong ? "" : " trail", distribution_colour(point.distribution), x, y, strong ? 6 : 3.5, point.client,
            point.round, point.distribution);
        if (strong) {
          Middle& middle = middles[point.distribution];
          middle.x += x;
          middle.y += y;
          middle.count += 1;
        }
      }
    }
  }
  for (const auto& [distribution, middle] : middles) {
    svg += fmt::format(R"(<text class="head" x="{:.1f}" y="{:.1f}">{}</text>)",
                       middle.x / middle.count + (distribution % 2 == 0 ? 10 : -18), middle.y / middle.count - 8,
                       distribution);
  }
  svg += fmt::format(R"(<text class="strong" x="{}" y="{}" text-anchor="end">first principal component</text>)",
                     kSize - 4, kSize + 16);
  svg += R"(<text class="strong" x="4" y="14">second principal component</text>)";
  return svg + "</svg>";
}

}  // namespace feroma::detail
